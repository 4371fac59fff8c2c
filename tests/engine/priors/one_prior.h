// One prior by itself, for tests of its terms and counts.
#pragma once

#include "engine/attention/path.h"
#include "tests/engine/priors/built_prior.h"

namespace locus::engine::test {

struct OnePrior {
  std::shared_ptr<Prior> prior;
  LayerInfo info;

  // What a hook returns for normed tokens x [B, T, D] and q, k [B, H, T, d]; zeros where not given.
  BiasTerm bias(const Layout& layout, const Tensor& x = {}, const Tensor& q = {}, const Tensor& k = {}) const {
    return call(layout, x, q, k,
                [](PriorLayer& layer, const AttentionInputs& s) { return layer.bias(s, test_context(false)); });
  }
  BiasTerm scale(const Layout& layout) const {
    return call(layout, {}, {}, {},
                [](PriorLayer& layer, const AttentionInputs& s) { return layer.scale(s, test_context(false)); });
  }
  std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (const Tensor& p : prior->parameters()) sum += p.numel();
    return sum;
  }
  Tensor parameter(const std::string& name) const { return prior->named_parameters()[name]; }

 private:
  template <typename Call>
  BiasTerm call(const Layout& layout, const Tensor& x, const Tensor& q, const Tensor& k, Call what) const {
    const auto options = x.defined() ? x.options() : at::TensorOptions(at::kDouble);
    const Tensor no_x = at::zeros({1, layout.tokens(), info.width}, options),
                 none = at::zeros({1, info.heads, layout.tokens(), info.head_width()}, options);
    const Tensor &in = x.defined() ? x : no_x, &left = q.defined() ? q : none, &right = k.defined() ? k : none;
    return what(*prior->layers()[0], AttentionInputs{in, left, right, none, layout});
  }
};

// In float64, built at `layout`, initialized from seed 0; heads of head_width channels, `layers` layers.
inline OnePrior one_prior(const std::string& id, const Json& options, std::int64_t heads, std::int64_t head_width,
                          const Layout& layout, std::int64_t layers = 1) {
  const Host host{
      .layout = layout, .heads = heads, .head_width = head_width, .depth = layers, .hidden = 4 * heads * head_width};
  const LayerInfo info{.layer = 0,
                       .layers = layers,
                       .width = host.width(),
                       .heads = heads,
                       .hidden = host.hidden,
                       .scale = 1 / std::sqrt(static_cast<double>(head_width)),
                       .reference = layout};
  return {built_prior(id, options, host), info};
}

inline Scores scores_of(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const BiasTerm& bias) {
  return {.q = q,
          .k = k,
          .v = v,
          .scale = scale,
          .scales = {},
          .biases = {&bias},
          .probabilities = {},
          .from_probabilities = {}};
}

// The paths that can run the bias.
inline std::vector<std::string> paths_for(const Tensor& q, const BiasTerm& bias) {
  std::vector<std::string> names;
  const Scores scores = scores_of(q, q, q, 1, bias);
  for (const ExecutionPath& path : execution_paths()) {
    if (path.supports(scores)) names.emplace_back(path.name);
  }
  return names;
}

// softmax(c q k^T + bias) v by the path of that name.
inline Tensor attended(const std::string& path, const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                       const BiasTerm& bias) {
  const Scores scores = scores_of(q, k, v, scale, bias);
  const ExecutionPath& chosen = choose_path(path, scores);
  if (chosen.name != path) throw std::logic_error("the path " + path + " cannot run this");
  return chosen.run(scores);
}

inline Tensor draw(const std::string& name, at::IntArrayRef shape, double deviation = 1) {
  return RandomStreams(17).normal("test", name, 0, shape, 0, deviation).to(at::kDouble);
}

}  // namespace locus::engine::test
