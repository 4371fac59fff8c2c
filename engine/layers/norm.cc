// Layer norm and batch norm.
#include "engine/layers/norm.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/group_norm.h>

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace locus::engine {
namespace {

constexpr double kBatchEps = 1e-5, kBatchMomentum = 0.1, kGroupEps = 1e-5;

// A sum over all processes. The loss is the sum of theirs, so each one's gradient of it is, too, the sum of what they have.
class SumOverPeers : public torch::autograd::Function<SumOverPeers> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& own, Peers* peers) {
    context->saved_data["peers"] = reinterpret_cast<std::int64_t>(peers);
    return summed(own, *peers);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto* peers = reinterpret_cast<Peers*>(context->saved_data["peers"].toInt());
    return {summed(gradients[0], *peers), {}};
  }

 private:
  static Tensor summed(const Tensor& own, Peers& peers) {
    Tensor sum = own.detach().clone(at::MemoryFormat::Contiguous);
    peers.sum(sum);
    return sum;
  }
};

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

// The deviations are summed from the mean of the whole batch, so that nothing cancels. Of the statistics' gradients autograd
// knows, since the sums do.
Tensor BatchNorm::normalized_over_all(const Tensor& x) {
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor values = x.to(type);
  const auto along = [](const Tensor& channel) { return channel.view({1, -1, 1, 1}); };
  const std::int64_t channels = x.size(1);
  const Tensor own_count = at::full({1}, static_cast<double>(x.numel() / channels), values.options());
  const Tensor sums = SumOverPeers::apply(at::cat({values.sum({0, 2, 3}), own_count}), peers_);
  const auto all = sums[channels].item<double>();
  const Tensor mean = sums.narrow(0, 0, channels) / all;
  const Tensor centered = values - along(mean);
  const Tensor variance = SumOverPeers::apply(centered.square().sum({0, 2, 3}), peers_) / all;
  {
    const at::NoGradGuard no_grad;
    mean_.lerp_(mean.to(mean_.scalar_type()), kBatchMomentum);
    variance_.lerp_((variance * (all / (all - 1))).to(variance_.scalar_type()), kBatchMomentum);
  }
  const Tensor scaled = centered * along((variance + kBatchEps).rsqrt() * weight_);
  return (scaled + along(bias_)).to(x.scalar_type());
}

Tensor BatchNorm::forward(const Tensor& x, bool training) {
  if (training && peers_ != nullptr) return normalized_over_all(x);
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
