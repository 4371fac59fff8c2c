// Layer norm and batch norm.
#include "engine/layers/norm.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/group_norm.h>

#include <algorithm>

namespace locus::engine {
namespace {

constexpr double kBatchEps = 1e-5, kBatchMomentum = 0.1, kGroupEps = 1e-5;

}  // namespace

Norm::Norm(std::int64_t width, double eps, bool affine) : width_(width), eps_(eps) {
  if (!affine) return;
  weight = register_parameter("weight", at::empty({width}));
  bias = register_parameter("bias", at::empty({width}));
}

Tensor Norm::forward(const Tensor& x) const { return at::layer_norm(x, {width_}, weight, bias, eps_); }

void Norm::start(const Initializer&) {
  if (!weight.defined()) return;
  const at::NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
}

GroupNorm::GroupNorm(std::int64_t channels, std::int64_t groups) : groups_(std::min(groups, channels)) {
  while (channels % groups_ != 0) --groups_;
  weight_ = register_parameter("weight", at::empty({channels}));
  bias_ = register_parameter("bias", at::empty({channels}));
}

Tensor GroupNorm::forward(const Tensor& x) const { return at::group_norm(x, groups_, weight_, bias_, kGroupEps); }

void GroupNorm::start(const Initializer&) {
  const at::NoGradGuard no_grad;
  weight_.fill_(1);
  bias_.zero_();
}

BatchNorm::BatchNorm(std::int64_t channels) {
  weight_ = register_parameter("weight", at::empty({channels}));
  bias_ = register_parameter("bias", at::empty({channels}));
  mean_ = register_buffer("running_mean", at::zeros({channels}));
  variance_ = register_buffer("running_var", at::ones({channels}));
}

Tensor BatchNorm::forward(const Tensor& x, bool training) {
  // With running statistics torch 2.11 gives wrong gradients of weight and bias on the CPU where the channels lie last in
  // memory.
  return at::batch_norm(x.contiguous(), weight_, bias_, mean_, variance_, training, kBatchMomentum, kBatchEps,
                        /*cudnn_enabled=*/true);
}

void BatchNorm::start(const Initializer&) {
  const at::NoGradGuard no_grad;
  weight_.fill_(1);
  bias_.zero_();
  mean_.zero_();
  variance_.fill_(1);
}

}  // namespace locus::engine
