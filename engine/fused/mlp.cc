// The MLP of a block, its norm and its way into the stream: a group of rows goes through all of it at a time.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/join.h"
#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the way there leaves for the way back. Rows are [B T, ...]; those of S in the type of operands.
struct Kept {
  Tensor mean, rstd;     // of each row
  Tensor normed;         // S, [.., D]
  Tensor before, after;  // of GELU: S, [.., hidden]; `before` without the bias where S is T
  Tensor branch;         // [.., D], defined where channels have factors
};
struct Maps {
  Tensor in, out;  // in the type of operands, [hidden, D] and [D, hidden]
};

template <typename T, typename S>
Tensor add_rows(const Tensor& x, const NormWeights& norm, const Maps& maps, const Tensor& in_bias,
                const Tensor& out_bias, const BranchFactors& factors, Kept& kept) {
  constexpr bool kSame = std::is_same_v<T, S>;
  const std::int64_t width = x.size(2), count = x.size(0) * x.size(1), hidden = maps.in.size(0);
  const at::TensorOptions numbers = x.options(), operands = maps.in.options();
  kept = {
      at::empty({count}, numbers),          at::empty({count}, numbers),
      at::empty({count, width}, operands),  at::empty({count, hidden}, operands),
      at::empty({count, hidden}, operands), factors.channels.defined() ? at::empty({count, width}, numbers) : Tensor()};
  tell_of_product(kept.normed, maps.in), tell_of_product(kept.after, maps.out);
  const Map<T, S> in(maps.in, Turn::kTurned), out(maps.out, Turn::kTurned);
  const Join<T> join(x, out_bias, factors);
  Tensor result = at::empty_like(x);
  const T *const stream = data<T>(x), *const w = data<T>(norm.weight), *const b = data<T>(norm.bias),
                 *const bias = data<T>(in_bias);
  T *const mean = writable<T>(kept.mean), *const rstd = writable<T>(kept.rstd), *const to = writable<T>(result),
           *const branch = writable<T>(kept.branch);
  S *const normed = writable<S>(kept.normed), *const before = writable<S>(kept.before),
           *const after = writable<S>(kept.after);
  in_parts(count, parts_of_rows(count), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    Tensor room = kSame ? Tensor() : at::empty({kGroupRows, hidden}, numbers);
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t rows = last - first, at = first * width, at_hidden = first * hidden;
      kernels<T, S>().norm(stream + at, w, b, norm.eps, normed + at, mean + first, rstd + first, rows, width);
      T* product = writable<T>(room);
      if constexpr (kSame) product = before + at_hidden;
      in.multiply(normed + at, rows, product);
      kernels<T, S>().gelu(product, bias, after + at_hidden, kSame ? nullptr : before + at_hidden, rows, hidden);
      T* const made = (branch != nullptr ? branch : to) + at;
      out.multiply(after + at_hidden, rows, made);
      join.add(stream + at, made, to + at, first, last);
    });
  });
  return result;
}

struct MlpGradients {
  Tensor x, norm_weight, norm_bias, in_bias, out_bias, channels;
  Tensor before, product;  // of what goes into GELU and of what the MLP gives, rows of S
};

template <typename T, typename S>
MlpGradients back(const Tensor& dy, const Tensor& x, const Tensor& norm_weight, const Maps& maps, const Tensor& in_bias,
                  const Tensor& out_bias, const BranchFactors& factors, const Kept& kept) {
  constexpr bool kSame = std::is_same_v<T, S>;
  const std::int64_t width = x.size(2), count = x.size(0) * x.size(1), hidden = maps.in.size(0),
                     parts = parts_of_rows(count);
  const Map<T, S> in(maps.in, Turn::kNone), out(maps.out, Turn::kNone);
  const Join<T> join(x, out_bias, factors);
  const bool same = join.template passes_on<S>();
  MlpGradients of;
  of.x = at::empty_like(x);
  of.before = at::empty({count, hidden}, maps.in.options());
  of.product = branch_gradient<T, S>(dy, join);
  tell_of_product(of.product, maps.out), tell_of_product(of.before, maps.in);
  ColumnSum<T> norm_weight_sum(parts, width, x.options()), norm_bias_sum(parts, width, x.options()),
      in_bias_sum(parts, hidden, x.options()), out_bias_sum(parts, width, x.options()),
      channels_sum(factors.channels.defined() ? parts : 1, width, x.options());
  const T *const given = data<T>(dy), *const stream = data<T>(x), *const w = data<T>(norm_weight),
                 *const mean = data<T>(kept.mean), *const rstd = data<T>(kept.rstd), *const bias = data<T>(in_bias),
                 *const branch = data<T>(kept.branch);
  const S* const before = data<S>(kept.before);
  T* const to = writable<T>(of.x);
  S *const of_before = writable<S>(of.before), *const of_product = writable<S>(of.product);
  in_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    Tensor room = at::empty({kGroupRows, hidden + width}, x.options());
    T *const of_after = writable<T>(room), *const of_normed = of_after + kGroupRows * hidden;
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t rows = last - first, at = first * width, at_hidden = first * hidden;
      join.back(given + at, branch != nullptr ? branch + at : nullptr, same ? nullptr : of_product + at,
                out_bias_sum.of(part), branch != nullptr ? channels_sum.of(part) : nullptr, first, last);
      out.multiply(of_product + at, rows, of_after);
      kernels<T, S>().gelu_backward(before + at_hidden, kSame ? bias : nullptr, of_after, of_before + at_hidden,
                                    in_bias_sum.of(part), rows, hidden);
      in.multiply(of_before + at_hidden, rows, of_normed);
      kernels<T, T>().norm_backward(of_normed, stream + at, mean + first, rstd + first, w, given + at, to + at,
                                    norm_weight_sum.of(part), norm_bias_sum.of(part), rows, width);
    });
  });
  of.norm_weight = norm_weight_sum.total(), of.norm_bias = norm_bias_sum.total();
  of.in_bias = in_bias_sum.total(), of.out_bias = out_bias_sum.total();
  if (factors.channels.defined()) of.channels = channels_sum.total();
  return of;
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
    const BranchFactors factors{tensor_of(of_channels), tensor_of(of_samples)};
    const at::ScalarType type = operand_type(x);
    const Maps maps{operand(in_weight, type), operand(out_weight, type)};
    Kept kept;
    const Tensor out = of_types(type, [&]<typename T, typename S>() {
      return add_rows<T, S>(x, {norm_weight, norm_bias, eps}, maps, in_bias, out_bias, factors, kept);
    });
    context->save_for_backward({x, kept.mean, kept.rstd, kept.normed, kept.before, kept.after, norm_weight, maps.in,
                                in_bias, maps.out, out_bias, factors.channels, factors.samples, kept.branch});
    context->saved_data["needs"] = at::IntArrayRef({in_weight.requires_grad(), out_weight.requires_grad()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto needs = context->saved_data["needs"].toIntVector();
    const Tensor dy = gradients[0].contiguous();
    const Kept kept{saved[kMean], saved[kRstd], saved[kNormed], saved[kBefore], saved[kAfter], saved[kBranch]};
    const MlpGradients of = of_types(saved[kInMap].scalar_type(), [&]<typename T, typename S>() {
      return back<T, S>(dy, saved[kX], saved[kNormWeight], {saved[kInMap], saved[kOutMap]}, saved[kInBias],
                        saved[kOutBias], {saved[kChannels], saved[kSamples]}, kept);
    });
    Tensor of_in, of_out;
    if (needs[0] != 0) of_in = outer_sum(of.before, kept.normed);
    if (needs[1] != 0) of_out = outer_sum(of.product, kept.after);
    return {of.x, of.norm_weight, of.norm_bias, {}, of_in, of.in_bias, of_out, of.out_bias, of.channels, {}};
  }
};

}  // namespace

Tensor add_mlp(const Tensor& x, const NormWeights& norm, const LinearWeights& in, const LinearWeights& out,
               const BranchFactors& factors) {
  return AddMlp::apply(x, norm.weight, norm.bias, norm.eps, in.weight, in.bias, out.weight, out.bias,
                       maybe(factors.channels), maybe(factors.samples));
}

}  // namespace locus::engine::fused
