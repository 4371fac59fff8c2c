// The MLP of a block, its norm and its way into the stream.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/join.h"
#include "engine/fused/norm_rows.h"
#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Hidden {
  Tensor before, after;  // of GELU, [rows, hidden], in the type of operands
};

template <typename T, typename S>
Hidden activate(Tensor product, const Tensor& bias) {
  const std::int64_t rows = product.size(0), width = product.size(1);
  constexpr bool kSame = std::is_same_v<T, S>;
  const at::TensorOptions options = product.options().dtype(c10::CppTypeToScalarType<S>());
  Hidden out{kSame ? product : at::empty({rows, width}, options), at::empty({rows, width}, options)};
  T* const from = writable<T>(product);
  S *before = writable<S>(out.before), *after = writable<S>(out.after);
  in_parts(rows, parts_of_rows(rows), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    const std::int64_t at = first * width;
    kernels<T, S>().gelu(from + at, data<T>(bias), after + at, kSame ? nullptr : before + at, end - first, width);
  });
  return out;
}

// The gradient of what GELU takes, from dy [rows, hidden] of what it gives, and that of the bias.
template <typename T, typename S>
std::pair<Tensor, Tensor> deactivate(Tensor dy, const Tensor& before, const Tensor& bias) {
  const std::int64_t rows = dy.size(0), width = dy.size(1), parts = parts_of_rows(rows);
  constexpr bool kSame = std::is_same_v<T, S>;
  Tensor out = kSame ? dy : at::empty(before.sizes(), before.options());
  ColumnSum<T> of_bias(parts, width, dy.options());
  S* const to = writable<S>(out);
  in_parts(rows, parts, [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    const std::int64_t at = first * width;
    kernels<T, S>().gelu_backward(data<S>(before) + at, kSame ? data<T>(bias) : nullptr, data<T>(dy) + at, to + at,
                                  of_bias.of(part), end - first, width);
  });
  return {out, of_bias.total()};
}

Hidden activated(const Tensor& product, const Tensor& bias, at::ScalarType type) {
  if (type == at::kDouble) return activate<double, double>(product, bias);
  return type == at::kFloat ? activate<float, float>(product, bias) : activate<float, c10::BFloat16>(product, bias);
}

std::pair<Tensor, Tensor> deactivated(const Tensor& dy, const Tensor& before, const Tensor& bias) {
  if (dy.scalar_type() == at::kDouble) return deactivate<double, double>(dy, before, bias);
  return before.scalar_type() == at::kFloat ? deactivate<float, float>(dy, before, bias)
                                            : deactivate<float, c10::BFloat16>(dy, before, bias);
}

// The tensors that the backward pass works with, in the order they are saved.
enum Saved : std::size_t {
  kX,
  kMean,
  kRstd,
  kNormed,
  kBefore,
  kAfter,
  kNormWeight,
  kInMap,
  kInBias,
  kOutMap,
  kOutBias,
  kChannels,
  kSamples,
  kBranch
};

class AddMlp : public torch::autograd::Function<AddMlp> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& norm_weight, const Tensor& norm_bias,
                        double eps, const Tensor& in_weight, const Tensor& in_bias, const Tensor& out_weight,
                        const Tensor& out_bias, const std::optional<Tensor>& of_channels,
                        const std::optional<Tensor>& of_samples) {
    const Tensor channels = tensor_of(of_channels), samples = tensor_of(of_samples);
    const at::ScalarType type = operand_type(x);
    const Tensor in_map = operand(in_weight, type), out_map = operand(out_weight, type);
    const NormedRows normed = normed_rows(x, {norm_weight, norm_bias, eps}, type);
    const Tensor rows = normed.rows.flatten(0, 1);
    const Hidden hidden = activated(product(rows, in_map, Turn::kSecond), in_bias, type);
    Tensor branch = product(hidden.after, out_map, Turn::kSecond);
    const Tensor out = joined(x, branch, out_bias, {channels, samples}, /*keep=*/channels.defined());
    context->save_for_backward({x, normed.mean, normed.rstd, rows, hidden.before, hidden.after, norm_weight, in_map,
                                in_bias, out_map, out_bias, channels, samples, channels.defined() ? branch : Tensor()});
    context->saved_data["needs"] = at::IntArrayRef({in_weight.requires_grad(), out_weight.requires_grad()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto needs = context->saved_data["needs"].toIntVector();
    const Tensor dy = gradients[0].contiguous();
    const JoinGradients of = join_gradients(dy, saved[kBranch], saved[kOutBias], {saved[kChannels], saved[kSamples]},
                                            saved[kOutMap].scalar_type());
    Tensor of_in, of_out;
    if (needs[1] != 0) of_out = product(of.product, saved[kAfter], Turn::kFirst);
    const auto [of_before, of_in_bias] =
        deactivated(product(of.product, saved[kOutMap], Turn::kNone), saved[kBefore], saved[kInBias]);
    if (needs[0] != 0) of_in = product(of_before, saved[kNormed], Turn::kFirst);
    NormGradients norm = norm_gradients(product(of_before, saved[kInMap], Turn::kNone), saved[kX], saved[kMean],
                                        saved[kRstd], saved[kNormWeight], dy);
    return {norm.x, norm.weight, norm.bias, {}, of_in, of_in_bias, of_out, of.bias, of.channels, {}};
  }
};

}  // namespace

Tensor add_mlp(const Tensor& x, const NormWeights& norm, const LinearWeights& in, const LinearWeights& out,
               const BranchFactors& factors) {
  return AddMlp::apply(x, norm.weight, norm.bias, norm.eps, in.weight, in.bias, out.weight, out.bias,
                       maybe(factors.channels), maybe(factors.samples));
}

}  // namespace locus::engine::fused
