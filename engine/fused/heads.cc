// Queries, keys and values straight from the product that makes them.
#include <torch/csrc/autograd/custom_function.h>

#include <array>

#include "engine/base/whole_rows.h"
#include "engine/fused/branch.h"
#include "engine/fused/operands.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kKinds = 3;  // query, key and value

struct HeadShape {
  std::int64_t samples, tokens, heads, width;  // width: of a head
  std::int64_t row() const { return kKinds * heads * width; }
  std::int64_t rows() const { return samples * tokens; }
};

// body(sample, token, row, count) for the rows [first, end) in runs that lie within a sample; `row` counts from `first`.
template <typename Body>
void by_sample(const HeadShape& shape, std::int64_t first, std::int64_t end, const Body& body) {
  for (std::int64_t row = first; row < end;) {
    const std::int64_t sample = row / shape.tokens, next = std::min(end, (sample + 1) * shape.tokens);
    body(sample, row - sample * shape.tokens, row - first, next - row);
    row = next;
  }
}

// x [B T, D] through the map to `out`, each [B, H, T, d].
template <typename T, typename S>
void project(const Tensor& x, const Tensor& map, const Tensor& bias, const HeadShape& shape, variable_list& out) {
  tell_of_product(x, map);
  const Map<T, S> product(map, Turn::kTurned);
  const S* const from = data<S>(x);
  const T* const b = data<T>(bias);
  std::array<S*, kKinds> to{};
  for (std::size_t kind = 0; kind < to.size(); ++kind) to[kind] = writable<S>(out[kind]);
  in_parts(shape.rows(), parts_of_rows(shape.rows()), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    Tensor room = at::empty({kGroupRows, shape.row()}, x.options().dtype(c10::CppTypeToScalarType<T>()));
    T* const made = writable<T>(room);
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      product.multiply(from + first * x.size(1), last - first, made);
      by_sample(shape, first, last, [&](std::int64_t n, std::int64_t token, std::int64_t row, std::int64_t count) {
        for (std::int64_t c = 0; c < kKinds * shape.heads; ++c) {
          const std::int64_t kind = c / shape.heads, head = c % shape.heads, at = c * shape.width;
          S* const rows =
              to[static_cast<std::size_t>(kind)] + ((n * shape.heads + head) * shape.tokens + token) * shape.width;
          kernels<T, S>().move(made + row * shape.row() + at, shape.row(), b != nullptr ? b + at : nullptr, rows,
                               shape.width, count, shape.width);
        }
      });
    });
  });
}

struct HeadGradients {
  Tensor merged;   // of what the map gives, [B T, 3 D] in the type of operands
  Tensor x, bias;  // x: [B T, D]
};

// From the gradients of the parts, each [B, H, T, d].
template <typename T, typename S>
HeadGradients merge(const std::array<Tensor, kKinds>& parts, const Tensor& map, const HeadShape& shape, bool with_x,
                    bool with_bias) {
  const at::TensorOptions numbers = map.options().dtype(c10::CppTypeToScalarType<T>());
  const std::int64_t count = parts_of_rows(shape.rows()), width = map.size(1);
  HeadGradients out{at::empty({shape.rows(), shape.row()}, map.options()),
                    with_x ? at::empty({shape.rows(), width}, numbers) : Tensor(),
                    {}};
  ColumnSum<T> of_bias(with_bias ? count : 1, with_bias ? shape.row() : 1, numbers);
  std::optional<Map<T, S>> product;
  if (with_x) {
    tell_of_product(out.merged, map);
    product.emplace(map, Turn::kNone);
  }
  S* const to = writable<S>(out.merged);
  T* const of_x = writable<T>(out.x);
  in_parts(shape.rows(), count, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    T* const sums = with_bias ? of_bias.of(part) : nullptr;
    in_groups(begin, end, [&](std::int64_t first, std::int64_t last) {
      S* const rows = to + first * shape.row();
      by_sample(shape, first, last, [&](std::int64_t n, std::int64_t token, std::int64_t row, std::int64_t some) {
        for (std::int64_t c = 0; c < kKinds * shape.heads; ++c) {
          const Tensor& kind = parts[static_cast<std::size_t>(c / shape.heads)];
          const S* const from =
              data<S>(kind) + n * kind.stride(0) + c % shape.heads * kind.stride(1) + token * kind.stride(2);
          kernels<T, S>().gather(from, kind.stride(2), rows + row * shape.row() + c * shape.width, shape.row(),
                                 sums != nullptr ? sums + c * shape.width : nullptr, some, shape.width);
        }
      });
      if (product) product->multiply(rows, last - first, of_x + first * width);
    });
  });
  if (with_bias) out.bias = of_bias.total();
  return out;
}

class ProjectHeads : public torch::autograd::Function<ProjectHeads> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                               const std::optional<Tensor>& given_bias, std::int64_t heads) {
    const Tensor bias = tensor_of(given_bias);
    const at::ScalarType type = operand_type(x);
    const HeadShape shape{x.size(0), x.size(1), heads, weight.size(0) / kKinds / heads};
    const Tensor rows = x.flatten(0, 1).to(type), map = operand(weight, type);
    variable_list out;
    for (std::int64_t kind = 0; kind < kKinds; ++kind)
      out.push_back(at::empty({shape.samples, heads, shape.tokens, shape.width}, x.options().dtype(type)));
    of_types(type, [&]<typename T, typename S>() { project<T, S>(rows, map, bias, shape, out); });
    context->set_materialize_grads(false);
    context->save_for_backward({rows, map});
    context->saved_data["sizes"] = x.sizes();
    context->saved_data["heads"] = heads;
    context->saved_data["needs"] =
        at::IntArrayRef({x.requires_grad(), weight.requires_grad(), bias.defined() && bias.requires_grad()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &map = saved[1];
    const auto sizes = context->saved_data["sizes"].toIntVector(), needs = context->saved_data["needs"].toIntVector();
    const std::int64_t heads = context->saved_data["heads"].toInt();
    const HeadShape shape{sizes[0], sizes[1], heads, map.size(0) / kKinds / heads};
    std::array<Tensor, kKinds> parts;
    for (std::size_t kind = 0; kind < parts.size(); ++kind) {
      const Tensor& given = gradients[kind];
      parts[kind] = with_whole_rows(given.defined()
                                        ? given.to(map.scalar_type())
                                        : at::zeros({shape.samples, heads, shape.tokens, shape.width}, map.options()));
    }
    const HeadGradients of = of_types(map.scalar_type(), [&]<typename T, typename S>() {
      return merge<T, S>(parts, map, shape, needs[0] != 0, needs[2] != 0);
    });
    Tensor of_x, of_weight;
    if (needs[0] != 0) of_x = of.x.view(sizes);
    if (needs[1] != 0) of_weight = outer_sum(of.merged, rows);
    return {of_x, of_weight, of.bias, {}};
  }
};

}  // namespace

std::vector<Tensor> project_heads(const Tensor& x, const LinearWeights& map, std::int64_t heads) {
  return ProjectHeads::apply(x, map.weight, maybe(map.bias), heads);
}

}  // namespace locus::engine::fused
