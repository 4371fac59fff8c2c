// What attention adds to the stream.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/join.h"
#include "engine/fused/operands.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// x + factors (rows map + bias); the product of all rows is kept in `branch` where it is defined.
template <typename T, typename S>
Tensor add_product(const Tensor& x, const Tensor& rows, const Tensor& map, const Tensor& bias,
                   const BranchFactors& factors, Tensor& branch) {
  tell_of_product(rows, map);
  const Map<T, S> product(map, Turn::kTurned);
  const Join<T> join(x, bias, factors);
  Tensor out = at::empty_like(x);
  const T* const stream = data<T>(x);
  const S* const from = data<S>(rows);
  T *const to = writable<T>(out), *const kept = writable<T>(branch);
  const std::int64_t count = rows.size(0), in = rows.size(1), width = join.width;
  in_parts(count, parts_of_rows(count), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      T* const made = (kept != nullptr ? kept : to) + first * width;
      product.multiply(from + first * in, last - first, made);
      join.add(stream + first * width, made, to + first * width, first, last);
    });
  });
  return out;
}

struct ProductGradients {
  Tensor product, rows, bias, channels;  // product: of what the map gives, [rows, out] in the type of operands
};

template <typename T, typename S>
ProductGradients back(const Tensor& dy, const Tensor& map, const Tensor& bias, const BranchFactors& factors,
                      const Tensor& branch, bool of_rows) {
  const Join<T> join(dy, bias, factors);
  const std::int64_t count = dy.size(0) * dy.size(1), in = map.size(1), width = join.width,
                     parts = parts_of_rows(count);
  ProductGradients out{branch_gradient<T, S>(dy, join), {}, {}, {}};
  const bool same = join.template passes_on<S>();
  ColumnSum<T> of_bias(parts, width, dy.options()),
      of_channels(factors.channels.defined() ? parts : 1, width, dy.options());
  std::optional<Map<T, S>> product;
  if (of_rows) {
    tell_of_product(out.product, map);
    product.emplace(map, Turn::kNone);
    out.rows = at::empty({count, in}, dy.options());
  }
  const T *const given = data<T>(dy), *const kept = data<T>(branch);
  S* const of_product = writable<S>(out.product);
  T* const to = writable<T>(out.rows);
  in_parts(count, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t at = first * width;
      join.back(given + at, kept != nullptr ? kept + at : nullptr, same ? nullptr : of_product + at, of_bias.of(part),
                kept != nullptr ? of_channels.of(part) : nullptr, first, last);
      if (product) product->multiply(of_product + at, last - first, to + first * in);
    });
  });
  out.bias = of_bias.total();
  if (factors.channels.defined()) out.channels = of_channels.total();
  return out;
}

class AddProjected : public torch::autograd::Function<AddProjected> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& y, const Tensor& weight,
                        const Tensor& bias, const std::optional<Tensor>& of_channels,
                        const std::optional<Tensor>& of_samples) {
    const BranchFactors factors{tensor_of(of_channels), tensor_of(of_samples)};
    const at::ScalarType type = operand_type(x);
    const Tensor rows = y.contiguous().flatten(0, 1).to(type), map = operand(weight, type);
    Tensor branch = factors.channels.defined() ? at::empty({rows.size(0), x.size(2)}, x.options()) : Tensor();
    const Tensor out = of_types(
        type, [&]<typename T, typename S>() { return add_product<T, S>(x, rows, map, bias, factors, branch); });
    context->save_for_backward({rows, map, bias, factors.channels, factors.samples, branch});
    context->saved_data["sizes"] = y.sizes();
    context->saved_data["needs"] = at::IntArrayRef({y.requires_grad(), weight.requires_grad()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &map = saved[1];
    const auto sizes = context->saved_data["sizes"].toIntVector(), needs = context->saved_data["needs"].toIntVector();
    const Tensor dy = gradients[0].contiguous();
    const ProductGradients of = of_types(map.scalar_type(), [&]<typename T, typename S>() {
      return back<T, S>(dy, map, saved[2], {saved[3], saved[4]}, saved[5], needs[0] != 0);
    });
    Tensor of_y, of_weight;
    if (needs[0] != 0) of_y = of.rows.view(sizes);
    if (needs[1] != 0) of_weight = outer_sum(of.product, rows);
    return {dy, of_y, of_weight, of.bias, of.channels, {}};
  }
};

}  // namespace

Tensor add_projected(const Tensor& x, const Tensor& y, const LinearWeights& map, const BranchFactors& factors) {
  return AddProjected::apply(x, y, map.weight, map.bias, maybe(factors.channels), maybe(factors.samples));
}

}  // namespace locus::engine::fused
