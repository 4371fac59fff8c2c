// Turning pairs of channels.
#include "engine/layers/rotation.h"

#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/rotation.h"

namespace locus::engine {
namespace {

using fused::PairTurns;
using fused::TurnGradients;

// The partner of each channel within its pair.
Tensor swap_pairs(const Tensor& x, bool neighbors) {
  if (neighbors) return x.unflatten(-1, {x.size(-1) / 2, 2}).flip(-1).flatten(-2);
  return x.roll(x.size(-1) / 2, -1);
}

// By single operations, where no pass can.
Tensor turned_by(const Tensor& x, const Tensor& cos, const Tensor& sin, bool neighbors) {
  const Tensor wide = x.to(cos.scalar_type());
  return (wide * cos).addcmul_(swap_pairs(wide, neighbors), sin).to(x.scalar_type());
}
TurnGradients turned_back(const Tensor& dy, const Tensor& x, const PairTurns& turns) {
  TurnGradients out{turned_by(dy, turns.cos, turns.sin.neg(), turns.neighbors), {}};
  if (!x.defined()) return out;
  const at::ScalarType type = turns.cos.scalar_type();
  const Tensor met = x.to(type) * swap_pairs(out.x.to(type), turns.neighbors);  // x dx' and x' dx
  if (turns.neighbors) {
    const Tensor pairs = met.unflatten(-1, {met.size(-1) / 2, 2});
    out.angles = pairs.select(-1, 0) - pairs.select(-1, 1);
  } else {
    const auto halves = met.chunk(2, -1);
    out.angles = halves[0] - halves[1];
  }
  return out;
}

class Rotation : public torch::autograd::Function<Rotation> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& cos,
                        const Tensor& sin, const std::optional<Tensor>& angles, bool neighbors) {
    const PairTurns turns{cos, sin, neighbors};
    const bool of_angles = angles && angles->requires_grad();
    context->save_for_backward({cos, sin, of_angles ? x : Tensor()});
    context->saved_data["neighbors"] = neighbors;
    if (of_angles) context->saved_data["angles"] = angles->sizes();
    return fused::turns_rows(x, turns) ? fused::turn_rows(x, turns) : turned_by(x, cos, sin, neighbors);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const PairTurns turns{saved[0], saved[1], context->saved_data["neighbors"].toBool()};
    const Tensor &dy = grads[0], &x = saved[2];
    TurnGradients of = fused::turns_rows(dy, turns) ? fused::turn_rows_back(dy, x, turns) : turned_back(dy, x, turns);
    if (x.defined()) of.angles = at::sum_to(of.angles, context->saved_data["angles"].toIntVector());
    return {of.x, Tensor(), Tensor(), of.angles, Tensor()};
  }
};

}  // namespace

Turns channel_turns(const Tensor& angles, bool neighbors) {
  const Tensor fixed = angles.detach(), cos = fixed.cos(), sin = fixed.sin();
  const Tensor of = angles.requires_grad() ? angles : Tensor();
  if (neighbors) return {at::stack({cos, cos}, -1).flatten(-2), at::stack({sin.neg(), sin}, -1).flatten(-2), of};
  return {at::cat({cos, cos}, -1), at::cat({sin.neg(), sin}, -1), of};
}

Tensor turned(const Tensor& x, const Turns& turns, bool neighbors) {
  return Rotation::apply(x, turns.cos, turns.sin, turns.angles.defined() ? std::optional(turns.angles) : std::nullopt,
                         neighbors);
}

}  // namespace locus::engine
