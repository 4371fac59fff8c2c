// The MLPs of transformer blocks.
#include "engine/backbones/mlp.h"

#include <ATen/ops/silu.h>

namespace locus::engine {
namespace {

constexpr std::int64_t kSide = 3;  // of the convolution inside

}  // namespace

Mlp::Mlp(MlpKind kind, std::int64_t width, std::int64_t hidden, const LinearFactory& linear, const std::string& name)
    : kind_(kind) {
  if (kind == MlpKind::kSwiGlu) gate_ = register_module("gate", linear(name + ".gate", width, hidden, true));
  in_ = register_module("in", linear(name + ".in", width, hidden, true));
  if (kind == MlpKind::kConvolution)
    convolution_ = register_module("conv", std::make_shared<GridConvolution>(hidden, kSide));
  out_ = register_module("out", linear(name + ".out", hidden, width, true));
}

Tensor Mlp::in(const Tensor& x, const Layout& layout) const {
  const Tensor hidden = in_->forward(x);
  switch (kind_) {
    case MlpKind::kSwiGlu:
      return at::silu(gate_->forward(x)) * hidden;
    case MlpKind::kGeluTanh:
      return at::gelu(hidden, "tanh");
    case MlpKind::kConvolution: {
      const Tensor active = at::gelu(hidden);
      return active + convolution_->forward(active, layout);
    }
    case MlpKind::kGelu:
      break;
  }
  return at::gelu(hidden);
}

Tensor Mlp::out(const Tensor& hidden) const { return out_->forward(hidden); }

std::int64_t Mlp::flops(const Layout& layout) const {
  std::int64_t sum = 2 * layout.tokens() * (in_->weight.numel() + out_->weight.numel());
  if (gate_) sum += 2 * layout.tokens() * gate_->weight.numel();
  if (convolution_) sum += convolution_->flops(layout.patches());
  return sum;
}

}  // namespace locus::engine
