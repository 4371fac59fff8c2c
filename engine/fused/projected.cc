// What attention adds to the stream.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/join.h"
#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AddProjected : public torch::autograd::Function<AddProjected> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& y, const Tensor& weight,
                        const Tensor& bias, const std::optional<Tensor>& of_channels,
                        const std::optional<Tensor>& of_samples) {
    const Tensor channels = tensor_of(of_channels), samples = tensor_of(of_samples);
    const at::ScalarType type = operand_type(x);
    const Tensor rows = y.contiguous().flatten(0, 1).to(type), map = operand(weight, type);
    Tensor branch = product(rows, map, Turn::kSecond);
    const Tensor out = joined(x, branch, bias, {channels, samples}, /*keep=*/channels.defined());
    context->save_for_backward({rows, map, bias, channels, samples, channels.defined() ? branch : Tensor()});
    context->saved_data["sizes"] = y.sizes();
    context->saved_data["needs"] = at::IntArrayRef({y.requires_grad(), weight.requires_grad()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &map = saved[1];
    const auto sizes = context->saved_data["sizes"].toIntVector(), needs = context->saved_data["needs"].toIntVector();
    const Tensor dy = gradients[0].contiguous();
    const JoinGradients of = join_gradients(dy, saved[5], saved[2], {saved[3], saved[4]}, map.scalar_type());
    Tensor of_y, of_weight;
    if (needs[0] != 0) of_y = product(of.product, map, Turn::kNone).view(sizes);
    if (needs[1] != 0) of_weight = product(of.product, rows, Turn::kFirst);
    return {dy, of_y, of_weight, of.bias, of.channels, {}};
  }
};

}  // namespace

Tensor add_projected(const Tensor& x, const Tensor& y, const LinearWeights& map, const BranchFactors& factors) {
  return AddProjected::apply(x, y, map.weight, map.bias, maybe(factors.channels), maybe(factors.samples));
}

}  // namespace locus::engine::fused
