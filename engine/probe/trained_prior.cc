// The document "trained-prior".
#include "engine/probe/trained_host.h"

namespace locus::engine {
namespace {

// What every layer's attention worked on; of no content without an image, and along axes, where no pass sees
// the grid.
std::vector<SeenSides> seen_by(const TrainedHost& model, const ChosenImages& images) {
  const Host& host = model.host();
  const Shown looked = model.shown();
  const bool content = images.images.defined();
  const Tensor shown = content ? images.images.narrow(0, 0, 1) : equal_patches(host);
  std::vector<SeenSides> seen(static_cast<std::size_t>(host.backbone_layers()));
  watch_forward(
      host, shown, model.forward_context(), [&](std::int64_t layer, const Scores&, const AttentionInputs& inputs) {
        if (host.layer_info(layer).stage != looked.stage.index) return;
        SeenSides& one = seen[static_cast<std::size_t>(layer)];
        if (inputs.axis < 0) {
          one = {inputs.x, inputs.q, inputs.k, inputs.v, inputs.layout, "for the image's tokens"};
          if (!content) one = one.without_content();
          return;
        }
        const std::int64_t tokens = looked.layout.patches(), heads = looked.heads();
        const Tensor q = at::zeros({1, heads, tokens, looked.width() / heads}, inputs.q.options());
        one =
            SeenSides{at::zeros({1, tokens, looked.width()}, q.options()), q, q, q, Layout{looked.layout.extent, 0}, ""}
                .without_content();
      });
  return seen;
}

// All there is to see of one layer, in one order whatever the weights.
struct Layer {
  std::vector<View> views;
  std::vector<std::pair<std::string, HeadNumbers>> numbers;  // and whose
  Json curves = Json::array();
};

Layer look_at(const TrainedHost& model, const std::vector<SeenSides>& seen, std::int64_t layer) {
  const Host& host = model.host();
  const Shown shown = model.shown();
  const auto index = static_cast<std::size_t>(layer), place = static_cast<std::size_t>(layer - shown.first_layer());
  Layer out;
  const auto add = [&](std::vector<View> views) {
    for (View& view : views) out.views.push_back(std::move(view));
  };
  for (const auto& named : host.backbone().priors(shown.stage.index)) {
    add(prior_views(host, named, layer, seen[index], model.forward_context()));
    if (layer == 0 && shows_stem(shown)) add(stem_views(host, named, seen[0].layout, model.forward_context()));
    for (const Json& curve : curves_of(host, named, layer, seen[index], model.forward_context()))
      out.curves.push_back(curve);
    if (auto* has = dynamic_cast<HasHeadNumbers*>(named.prior->layers()[place].get())) {
      for (HeadNumbers& numbers : has->head_numbers(seen[index].inputs()))
        out.numbers.emplace_back(named.id, std::move(numbers));
    }
  }
  add({equal_attention_view(host, layer, model.forward_context())});
  return out;
}

std::string id_of(const std::string& prior, const std::string& id) { return prior.empty() ? id : prior + "." + id; }

// One layer at initialization and with the weights, where there are any.
Json describe(std::int64_t layer, const Layer& initial, const Layer* trained,
              const std::vector<std::int64_t>& queries) {
  Json out = {{"layer", layer}, {"views", Json::array()}, {"numbers", Json::array()}, {"curves", initial.curves}};
  for (std::size_t i = 0; i < initial.views.size(); ++i) {
    const View& view = initial.views[i];
    std::vector<Tensor> states = {view.values};
    if (trained != nullptr) states.push_back(trained->views.at(i).values);
    Json one = {{"id", id_of(view.prior, view.id)},
                {"prior", view.prior},
                {"title", view.title},
                {"help", view.help},
                {"initial", rounded_values(states[0], queries)}};
    one.update(color_range(states, view.from_zero));
    if (trained != nullptr) one["trained"] = rounded_values(states[1], queries);
    out["views"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < initial.numbers.size(); ++i) {
    const auto& [prior, numbers] = initial.numbers[i];
    const auto table = [](const HeadNumbers& of) { return rounded_values(of.values.unsqueeze(0))[0]; };
    Json one = {{"id", id_of(prior, numbers.id)}, {"prior", prior},       {"title", numbers.title},
                {"help", numbers.help},           {"unit", numbers.unit}, {"rows", numbers.rows},
                {"initial", table(numbers)}};
    if (trained != nullptr) one["trained"] = table(trained->numbers.at(i).second);
    out["numbers"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

Json trained_prior(const TrainedRequest& request, const ChosenImages& images) {
  const at::NoGradGuard no_grad;
  const TrainedHost initial(request.configuration, {}, request.stage);
  const std::vector<std::int64_t> layers = layers_of(initial.shown(), request.layers);
  std::optional<TrainedHost> trained;
  if (!request.weights.empty()) trained.emplace(request.configuration, request.weights, request.stage);
  Json document = (trained ? *trained : initial).heading("trained-prior", request.configuration);
  document["input"] = images.described.empty() ? Json(nullptr) : images.described[0];
  const std::vector<SeenSides> seen = seen_by(initial, images);
  const std::vector<SeenSides> seen_trained = trained ? seen_by(*trained, images) : std::vector<SeenSides>();
  std::vector<std::pair<Layer, Layer>> looks;
  std::int64_t maps = 0;
  for (const std::int64_t layer : layers) {
    Layer before = look_at(initial, seen, layer);
    for (const View& view : before.views) maps += view.values.size(0) * (trained ? 2 : 1);
    looks.emplace_back(std::move(before), trained ? look_at(*trained, seen_trained, layer) : Layer());
  }
  const std::vector<std::int64_t> queries = queries_of(initial.shown(), request.queries, maps);
  document["queries"] = queries;
  document["layers"] = Json::array();
  for (std::size_t i = 0; i < layers.size(); ++i)
    document["layers"].push_back(describe(layers[i], looks[i].first, trained ? &looks[i].second : nullptr, queries));
  return document;
}

}  // namespace locus::engine
