// The document "attention", and the measures it holds.
#include <algorithm>

#include "engine/probe/trained_host.h"

namespace locus::engine {
namespace {

// Exponents of the position score end here, so that a head without overlap of its parts stays finite.
constexpr double kLargestExponent = 50;

// One layer's attention on all images; double, on the CPU.
struct Attended {
  std::vector<Tensor> with, without;  // passes, [B, H, T, T]
  Tensor position;                    // position_score, [H]; undefined without a bias
  std::int64_t prefix = 0;
};

Tensor probabilities_of(const Scores& scores) {
  const std::int64_t tokens = scores.q.size(2);
  return explicit_weights(scores)
      .probabilities.expand({scores.q.size(0), scores.q.size(1), tokens, tokens})
      .to(at::kDouble);
}

// The algebra without any prior's term, on the raw queries and keys.
Tensor bare_probabilities(const Scores& scores, const AttentionInputs& inputs) {
  const Scores bare{.q = inputs.q,
                    .k = inputs.k,
                    .v = inputs.v,
                    .scale = scores.scale,
                    .scales = {},
                    .biases = {},
                    .sum_scales = {},
                    .probabilities = {},
                    .from_probabilities = {},
                    .region = scores.region};
  return probabilities_of(bare);
}

Tensor score_of(const Scores& scores) {
  if (scores.biases.empty()) return {};
  Scores content = scores;
  content.biases.clear();
  content.probabilities = {}, content.from_probabilities = {}, content.probability_terms = {},
  content.value_tables = {};
  const Tensor semantic = explicit_weights(content).logits.to(at::kDouble);
  Tensor position = at::zeros_like(semantic);
  for (const BiasTerm* bias : scores.biases) position = position + bias->dense().to(at::kDouble);
  for (const BiasTerm* factor : scores.sum_scales) position = position * factor->dense().to(at::kDouble);
  return position_score(position, semantic);
}

// Whether a prior takes part in the attention of a layer by a hook that can be left out.
bool takes_part(const Host& host, std::int64_t layer) {
  const StageInfo& stage = host.stage(host.layer_info(layer).stage);
  const auto place = static_cast<std::size_t>(layer - stage.layers[0].layer);
  for (const auto& named : host.backbone().priors(stage.index)) {
    if (!named.prior->layers()[place]) continue;
    for (const Hook hook : {Hook::kTransformQk, Hook::kBias, Hook::kScale, Hook::kProbabilities}) {
      if (named.has(hook) && named.prior->uses(hook)) return true;
    }
  }
  return false;
}

std::vector<Attended> watch(const TrainedHost& model, const Tensor& images) {
  const std::int64_t stage = model.shown().stage.index;
  std::vector<Attended> out(static_cast<std::size_t>(model.host().backbone_layers()));
  watch_forward(model.host(), images, model.forward_context(),
                [&](std::int64_t layer, const Scores& scores, const AttentionInputs& inputs) {
                  if (model.host().layer_info(layer).stage != stage) return;
                  Attended& one = out[static_cast<std::size_t>(layer)];
                  one.with.push_back(probabilities_of(scores));
                  if (takes_part(model.host(), layer)) one.without.push_back(bare_probabilities(scores, inputs));
                  if (inputs.axis < 0) one.position = score_of(scores);
                  one.prefix = inputs.layout.prefix;
                });
  return out;
}

std::vector<double> numbers(const Tensor& values) {
  const Tensor flat = values.to(at::kCPU, at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

Json heads_of(const Tensor& values) {
  Json out = Json::array();
  for (const double value : numbers(values)) out.push_back(rounded_number(value));
  return out;
}

// One image's attention [H, T, T]: of the queries, of their mean, and of the prefix tokens, to the patches.
Json maps_of(const Tensor& p, std::int64_t prefix, const std::vector<std::int64_t>& queries) {
  const Tensor to_patches = p.slice(-1, prefix), patches = to_patches.slice(-2, prefix);
  Json out = {{"queries", rounded_values(patches, queries)},
              {"mean", rounded_values(patches.mean(-2, /*keepdim=*/true))},
              {"prefix", nullptr}};
  if (prefix > 0) out["prefix"] = rounded_values(to_patches.slice(-2, 0, prefix));
  return out;
}

Json describe(std::int64_t layer, const Attended& seen, const TrainedHost& model,
              const std::vector<std::int64_t>& queries, const Json& images) {
  const Shown shown = model.shown();
  const std::vector<std::int64_t>& extent = shown.layout.extent;
  const auto whole = [&](const std::vector<Tensor>& passes) { return whole_attention(passes, extent); };
  const auto patches = [&](const Tensor& p) { return p.slice(-2, seen.prefix).slice(-1, seen.prefix); };
  const Tensor with = whole(seen.with), without = seen.without.empty() ? Tensor() : whole(seen.without);
  Json out = {{"layer", layer},
              {"images", Json::array()},
              {"distance", {{"with", heads_of(mean_attention_distance(patches(with), extent))}, {"without", nullptr}}},
              {"position_score", nullptr}};
  if (without.defined()) out["distance"]["without"] = heads_of(mean_attention_distance(patches(without), extent));
  if (seen.position.defined()) out["position_score"] = heads_of(seen.position);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::int64_t index = static_cast<std::int64_t>(i) * shown.windows;  // its first one
    Json one = {{"image", images[i].at("image")}, {"with", maps_of(with[index], seen.prefix, queries)}};
    one["without"] = without.defined() ? maps_of(without[index], seen.prefix, queries) : Json(nullptr);
    out["images"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

Tensor mean_attention_distance(const Tensor& p, const std::vector<std::int64_t>& extent) {
  const Tensor at_patch = grid_positions({extent, 0}, at::TensorOptions(at::kDouble));
  const Tensor distance = (at_patch.unsqueeze(0) - at_patch.unsqueeze(1)).square().sum(-1).sqrt();  // [N, N]
  const Tensor rows = p.to(at::kDouble);
  const Tensor even = rows / rows.sum(-1, /*keepdim=*/true).clamp_min(1e-300);
  return (even * distance).sum(-1).mean(at::IntArrayRef{0, 2});
}

Tensor position_score(const Tensor& position, const Tensor& content, double share) {
  const Tensor from = position.expand_as(content).to(at::kDouble), rest = content.to(at::kDouble);
  const Tensor logits = from + rest, all = at::logsumexp(logits, at::IntArrayRef{-1}, /*keepdim=*/true);
  const Tensor p = at::exp(logits - all);
  // A key counts while those before it, the larger ones, have not reached the share.
  const auto [sorted, order] = p.sort(/*stable=*/true, -1, /*descending=*/true);
  const Tensor counts_sorted = (sorted.cumsum(-1) - sorted).lt(share);
  const Tensor counts = at::zeros_like(counts_sorted).scatter(-1, order, counts_sorted);
  const Tensor terms =
      at::exp((from - all).clamp_max(kLargestExponent)) - at::exp((rest - all).clamp_max(kLargestExponent));
  const Tensor kept = at::where(counts, terms, at::zeros_like(terms));
  return kept.sum(at::IntArrayRef{0, 2, 3}) / counts.sum(at::IntArrayRef{0, 2, 3}).to(at::kDouble);
}

Json trained_attention(const TrainedRequest& request, const ChosenImages& images) {
  const at::NoGradGuard no_grad;
  const TrainedHost model(request.configuration, request.weights, request.stage);
  const Shown shown = model.shown();
  if (!images.images.defined() || images.described.empty())
    throw std::invalid_argument("attention is of images; choose some");
  const std::vector<std::int64_t> layers = layers_of(shown, request.layers);
  const auto count = static_cast<std::int64_t>(images.described.size());
  const std::int64_t maps = static_cast<std::int64_t>(layers.size()) * shown.heads() * count * 2;
  std::vector<std::int64_t> queries = request.queries;
  if (queries.empty()) {
    const std::int64_t rows = shown.layout.extent[0], columns = shown.layout.extent[1];
    queries = {rows / 2 * columns + columns / 2};
  }
  queries = queries_of(shown, queries, maps);
  Json document = model.heading("attention", request.configuration);
  document["queries"] = queries;
  document["images"] = images.described;
  const Tensor said = model.host().task().predict({{"image", images.images}}, model.forward_context());
  if (said.dim() == 2) {
    const Tensor best = said.argmax(-1);
    for (std::int64_t i = 0; i < count; ++i)
      document["images"][static_cast<std::size_t>(i)]["predicted"] = best[i].item<std::int64_t>();
  }
  const std::vector<Attended> seen = watch(model, images.images);
  document["layers"] = Json::array();
  for (const std::int64_t layer : layers)
    document["layers"].push_back(
        describe(layer, seen[static_cast<std::size_t>(layer)], model, queries, images.described));
  return document;
}

}  // namespace locus::engine
