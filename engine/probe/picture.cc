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

// Tokens without content, in the shapes of the host's layers.
SeenSides no_content(const Host& host) {
  const std::int64_t tokens = host.layout().tokens(), width = host.width(), heads = host.heads();
  const Tensor x = at::zeros({1, tokens, width}, host.head().weight.options()),
               q = at::zeros({1, heads, tokens, width / heads}, x.options());
  return SeenSides{x, q, q, q, host.layout(), ""}.without_content();
}

}  // namespace

Json picture_of(const Host& host, std::int64_t layer, std::uint64_t seed) {
  host.require_one_plain_stage("a picture");
  if (host.backbone().priors(0).size() != 1 || host.layout().prefix != 0)
    throw std::invalid_argument("a picture shows one prior, without prefix tokens");
  const at::NoGradGuard no_grad;
  const auto& named = host.backbone().priors(0)[0];
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
                      (host.backbone_layers() == 1 ? " layer of " : " layers of ") + std::to_string(host.heads()) +
                      " heads, " + std::to_string(host.width() / host.heads()) + " channels each, layer " +
                      std::to_string(layer) + ", seed " + std::to_string(seed)},
      {"grid", host.layout().extent},
      {"parameters_added", added},
      {"views", Json::array()},
      {"curves", Json::array()}};
  const SeenSides seen = no_content(host);
  for (const View& view : prior_views(host, named, layer, seen, context)) document["views"].push_back(to_json(view));
  for (const View& view : stem_views(host, named, host.layout(), context)) document["views"].push_back(to_json(view));
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
