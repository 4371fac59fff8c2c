// One prior outside any model, for tests of what it computes.
#pragma once

#include <cmath>

#include "tests/engine/support/models.h"

namespace locus::engine::test {

// Shape of the host a prior is built for.
struct Host {
  Layout layout;
  std::int64_t heads = 4, head_width = 4, depth = 1, hidden = 32;
  std::int64_t width() const { return heads * head_width; }
};

// Built and initialized as a backbone does it, in float64.
inline std::shared_ptr<Prior> built_prior(const std::string& id, const Json& options, const Host& host) {
  const PriorItem& item = prior_item(id);
  PriorContext context{.layers = {}, .width = host.width(), .reference = host.layout};
  for (std::int64_t l = 0; l < host.depth; ++l) {
    context.layers.push_back({.layer = l,
                              .layers = host.depth,
                              .width = host.width(),
                              .heads = host.heads,
                              .hidden = host.hidden,
                              .scale = 1 / std::sqrt(static_cast<double>(host.head_width)),
                              .reference = host.layout});
  }
  const auto prior = item.make(context, Options(item.item.json(), options));
  prior->build_layers(context.layers);
  prior->initialize(Initializer(RandomStreams(0), "priors." + id + "."));
  prior->to(at::kDouble);
  return prior;
}

inline std::int64_t parameter_count(const Prior& prior) {
  std::int64_t count = 0;
  for (const Tensor& p : prior.parameters()) count += p.numel();
  return count;
}

// The hooks' arguments for one layer: content [B, H, T, d] of normal numbers, or what is given.
struct Content {
  Content(const Host& host, const Layout& on, std::int64_t batch = 1)
      : layout(on),
        x(at::randn({batch, on.tokens(), host.width()}, at::kDouble)),
        q(at::randn({batch, host.heads, on.tokens(), host.head_width}, at::kDouble)),
        k(at::randn_like(q)),
        v(at::randn_like(q)) {}
  AttentionInputs inputs() const { return {x, q, k, v, layout}; }

  Layout layout;
  Tensor x, q, k, v;
};

// The bias of one layer on a grid, dense [B|1, H, T, T].
inline Tensor dense_bias(Prior& prior, const Host& host, const Layout& layout, std::int64_t layer = 0) {
  const Content content(host, layout);
  const at::NoGradGuard no_grad;
  prior.begin_forward(layout, test_context(false));
  return prior.layers().at(static_cast<std::size_t>(layer))->bias(content.inputs(), test_context(false)).dense();
}

}  // namespace locus::engine::test
