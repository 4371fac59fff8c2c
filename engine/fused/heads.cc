// Queries, keys and values straight from the product that makes them.
#include <torch/csrc/autograd/custom_function.h>

#include <array>

#include "engine/fused/branch.h"
#include "engine/fused/operands.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kKinds = 3, kMostParts = 16;  // query, key and value

struct HeadShape {
  std::int64_t samples, tokens, heads, width;  // width: of a head
  std::int64_t row() const { return kKinds * heads * width; }
  std::int64_t parts() const { return std::min(samples, kMostParts); }
};

// projected [B T, 3 D] to `out`, each [B, H, T, d].
template <typename T, typename S>
void split(const Tensor& projected, const Tensor& bias, const HeadShape& shape, variable_list& out) {
  const T *from = data<T>(projected), *b = data<T>(bias);
  std::array<S*, kKinds> to{};
  for (std::size_t kind = 0; kind < to.size(); ++kind) to[kind] = writable<S>(out[kind]);
  in_parts(shape.samples, shape.parts(), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t n = first; n < end; ++n) {
      for (std::int64_t c = 0; c < kKinds * shape.heads; ++c) {
        const std::int64_t kind = c / shape.heads, head = c % shape.heads, at = c * shape.width;
        kernels<T, S>().move(from + n * shape.tokens * shape.row() + at, shape.row(), b != nullptr ? b + at : nullptr,
                             to[static_cast<std::size_t>(kind)] + (n * shape.heads + head) * shape.tokens * shape.width,
                             shape.width, shape.tokens, shape.width);
      }
    }
  });
}

// The gradients of the parts, side by side again, [B T, 3 D] in the type of operands, and the bias's.
template <typename T, typename S>
std::pair<Tensor, Tensor> merge(const std::array<Tensor, kKinds>& parts, const HeadShape& shape,
                                const at::TensorOptions& options, bool with_bias) {
  Tensor out = at::empty({shape.samples * shape.tokens, shape.row()}, options.dtype(c10::CppTypeToScalarType<S>()));
  ColumnSum<T> of_bias(with_bias ? shape.parts() : 1, with_bias ? shape.row() : 1, options);
  S* const to = writable<S>(out);
  in_parts(shape.samples, shape.parts(), [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    for (std::int64_t n = first; n < end; ++n) {
      for (std::int64_t c = 0; c < kKinds * shape.heads; ++c) {
        const Tensor& kind = parts[static_cast<std::size_t>(c / shape.heads)];
        const S* from = data<S>(kind) + n * kind.stride(0) + c % shape.heads * kind.stride(1);
        kernels<T, S>().gather(from, kind.stride(2), to + n * shape.tokens * shape.row() + c * shape.width, shape.row(),
                               with_bias ? of_bias.of(part) + c * shape.width : nullptr, shape.tokens, shape.width);
      }
    }
  });
  return {out, with_bias ? of_bias.total() : Tensor()};
}

class ProjectHeads : public torch::autograd::Function<ProjectHeads> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                               const std::optional<Tensor>& given_bias, std::int64_t heads) {
    const Tensor bias = tensor_of(given_bias);
    const at::ScalarType type = operand_type(x);
    const HeadShape shape{x.size(0), x.size(1), heads, weight.size(0) / kKinds / heads};
    const Tensor rows = x.flatten(0, 1).to(type), map = operand(weight, type);
    const Tensor projected = product(rows, map, Turn::kSecond);
    variable_list out;
    for (std::int64_t kind = 0; kind < kKinds; ++kind)
      out.push_back(at::empty({shape.samples, heads, shape.tokens, shape.width}, x.options().dtype(type)));
    if (x.scalar_type() == at::kDouble) {
      split<double, double>(projected, bias, shape, out);
    } else if (type == at::kFloat) {
      split<float, float>(projected, bias, shape, out);
    } else {
      split<float, c10::BFloat16>(projected, bias, shape, out);
    }
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
      Tensor part = given.defined() ? given.to(map.scalar_type())
                                    : at::zeros({shape.samples, heads, shape.tokens, shape.width}, map.options());
      parts[kind] = part.stride(3) == 1 ? part : part.contiguous();
    }
    const at::TensorOptions sums = map.options().dtype(map.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    const auto [merged, of_bias] =
        map.scalar_type() == at::kDouble  ? merge<double, double>(parts, shape, sums, needs[2] != 0)
        : map.scalar_type() == at::kFloat ? merge<float, float>(parts, shape, sums, needs[2] != 0)
                                          : merge<float, c10::BFloat16>(parts, shape, sums, needs[2] != 0);
    Tensor of_x, of_weight;
    if (needs[0] != 0) of_x = product(merged, map, Turn::kNone).view(sizes);
    if (needs[1] != 0) of_weight = product(merged, rows, Turn::kFirst);
    return {of_x, of_weight, of_bias, {}};
  }
};

}  // namespace

std::vector<Tensor> project_heads(const Tensor& x, const LinearWeights& map, std::int64_t heads) {
  return ProjectHeads::apply(x, map.weight, maybe(map.bias), heads);
}

}  // namespace locus::engine::fused
