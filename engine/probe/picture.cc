// Reads a prior's forms and draws them.
#include "engine/probe/picture.h"

#include "engine/probe/views.h"

namespace locus::engine {
namespace {

Json to_json(const View& view) {
  Json heads = Json::array();
  for (std::int64_t h = 0; h < view.values.size(0); ++h) heads.push_back("head " + std::to_string(h));
  Json out = {{"id", view.id}, {"title", view.title}, {"help", view.help}, {"heads", heads}};
  out.update(color_range({view.values}, view.from_zero));
  out["values"] = rounded_values(view.values);
  return out;
}

// Tokens without content, in the shapes of the stage's layers.
SeenSides no_content(const Host& host, const Shown& shown) {
  const std::int64_t tokens = shown.layout.tokens(), width = shown.width(), heads = shown.heads();
  const Tensor x = at::zeros({1, tokens, width}, host.options()),
               q = at::zeros({1, heads, tokens, width / heads}, x.options());
  return SeenSides{x, q, q, q, shown.layout, ""}.without_content();
}

}  // namespace

Json picture_of(const Host& host, std::int64_t layer, std::uint64_t seed) {
  if (layer < 0 || layer >= host.backbone_layers())
    throw std::invalid_argument("the model has no layer " + std::to_string(layer));
  const Shown shown = shown_stage(host, host.layer_info(layer).stage);
  const auto& priors = host.backbone().priors(shown.stage.index);
  if (priors.size() != 1 || shown.layout.prefix != 0)
    throw std::invalid_argument("a picture shows one prior, without prefix tokens");
  const at::NoGradGuard no_grad;
  const NamedPrior& named = priors[0];
  const RandomStreams random(seed);
  const ForwardContext context{.step = 0, .steps = 1, .training = false, .random = random};
  std::int64_t added = 0;
  for (const Tensor& parameter : named.prior->parameters()) added += parameter.numel();
  Json document = {
      {"version", 1},
      {"prior", named.id},
      {"revision", named.item->item.json().at("revision")},
      {"options", host.prior_options()},
      {"setting", std::to_string(host.backbone_layers()) +
                      (host.backbone_layers() == 1 ? " layer of " : " layers of ") + std::to_string(shown.heads()) +
                      " heads, " + std::to_string(shown.width() / shown.heads()) + " channels each, layer " +
                      std::to_string(layer) + ", seed " + std::to_string(seed)},
      {"grid", shown.layout.extent},
      {"parameters_added", added},
      {"views", Json::array()},
      {"curves", Json::array()}};
  document.update(shown.described());
  const SeenSides seen = no_content(host, shown);
  for (const View& view : prior_views(host, named, layer, seen, context)) document["views"].push_back(to_json(view));
  if (shows_stem(shown)) {
    for (const View& view : stem_views(host, named, shown.layout, context)) document["views"].push_back(to_json(view));
  }
  document["views"].push_back(to_json(equal_attention_view(host, layer, context)));
  document["curves"] = curves_of(host, named, layer, seen, context);
  return document;
}

Json catalog_picture(const std::string& prior) {
  const Host host({.specification = {{"model", {{"options", {{"dim", 64}, {"heads", 4}, {"patch", 2}}}}},
                                     {"priors", Json::array({{{"id", prior}, {"options", Json::object()}}})},
                                     {"channels", 1}},
                   .grid = {6, 6},
                   .prefix = 0,
                   .layers = 1,
                   .path = "auto",
                   .seed = 0});
  return picture_of(host, /*layer=*/0, /*seed=*/0);
}

}  // namespace locus::engine
