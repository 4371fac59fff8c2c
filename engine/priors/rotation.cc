// Turning pairs of channels.
#include "engine/priors/rotation.h"

#include <torch/csrc/autograd/custom_function.h>

namespace locus::engine {
namespace {

// The partner of each channel within its pair.
Tensor swap_pairs(const Tensor& x, bool neighbors) {
  if (neighbors) return x.unflatten(-1, {x.size(-1) / 2, 2}).flip(-1).flatten(-2);
  return x.roll(x.size(-1) / 2, -1);
}

// Turns by fixed angles; the gradient turns back.
class Rotation : public torch::autograd::Function<Rotation> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& cos,
                        const Tensor& sin, bool neighbors) {
    context->saved_data["cos"] = cos;
    context->saved_data["sin"] = sin;
    context->saved_data["neighbors"] = neighbors;
    return applied(x, cos, sin, neighbors);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const Tensor cos = context->saved_data["cos"].toTensor(), sin = context->saved_data["sin"].toTensor();
    return {applied(grads[0], cos, sin.neg(), context->saved_data["neighbors"].toBool()), Tensor(), Tensor(), Tensor()};
  }

 private:
  static Tensor applied(const Tensor& x, const Tensor& cos, const Tensor& sin, bool neighbors) {
    const Tensor wide = x.to(cos.scalar_type());
    return (wide * cos).addcmul_(swap_pairs(wide, neighbors), sin).to(x.scalar_type());
  }
};

}  // namespace

Turns channel_turns(const Tensor& angles, bool neighbors) {
  const Tensor cos = angles.cos(), sin = angles.sin();
  if (neighbors) return {at::stack({cos, cos}, -1).flatten(-2), at::stack({sin.neg(), sin}, -1).flatten(-2)};
  return {at::cat({cos, cos}, -1), at::cat({sin.neg(), sin}, -1)};
}

Tensor turned(const Tensor& x, const Turns& turns, bool neighbors) {
  if (!turns.cos.requires_grad()) return Rotation::apply(x, turns.cos, turns.sin, neighbors);
  const Tensor wide = x.to(turns.cos.scalar_type());
  return (wide * turns.cos + swap_pairs(wide, neighbors) * turns.sin).to(x.scalar_type());
}

}  // namespace locus::engine
