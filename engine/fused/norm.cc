// A stream and its norm.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/branch.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct NormedRows {
  Tensor rows;        // [..., D]
  Tensor mean, rstd;  // [rows]
};

template <typename T>
NormedRows make_rows(const Tensor& x, const NormWeights& norm) {
  const std::int64_t width = x.size(-1), rows = x.numel() / width;
  NormedRows out{at::empty_like(x), at::empty({rows}, x.options()), at::empty({rows}, x.options())};
  const T *from = data<T>(x), *w = data<T>(norm.weight), *b = data<T>(norm.bias);
  T *to = writable<T>(out.rows), *mean = writable<T>(out.mean), *rstd = writable<T>(out.rstd);
  in_parts(rows, parts_of_rows(rows), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    kernels<T, T>().norm(from + first * width, w, b, norm.eps, to + first * width, mean + first, rstd + first,
                         end - first, width);
  });
  return out;
}

struct NormGradients {
  Tensor x, weight, bias;
};

// For dy, the gradient of the normed rows; `more` [..., D], where it is defined, is added to that of x.
template <typename T>
NormGradients make_gradients(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                             const Tensor& weight, const Tensor& more) {
  const std::int64_t width = x.size(-1), rows = x.numel() / width, parts = parts_of_rows(rows);
  NormGradients out{at::empty_like(x), {}, {}};
  ColumnSum<T> of_weight(parts, width, x.options()), of_bias(parts, width, x.options());
  T* const dx = writable<T>(out.x);
  in_parts(rows, parts, [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    const std::int64_t at = first * width;
    kernels<T, T>().norm_backward(data<T>(dy) + at, data<T>(x) + at, data<T>(mean) + first, data<T>(rstd) + first,
                                  data<T>(weight), more.defined() ? data<T>(more) + at : nullptr, dx + at,
                                  of_weight.of(part), of_bias.of(part), end - first, width);
  });
  out.weight = of_weight.total();
  out.bias = of_bias.total();
  return out;
}

class ForkNorm : public torch::autograd::Function<ForkNorm> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                               double eps) {
    const NormWeights norm{weight, bias, eps};
    const NormedRows made = x.scalar_type() == at::kDouble ? make_rows<double>(x, norm) : make_rows<float>(x, norm);
    context->set_materialize_grads(false);
    context->save_for_backward({x, weight, made.mean, made.rstd});
    return {x, made.rows};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (!gradients[1].defined()) return {gradients[0], {}, {}, {}};
    const Tensor dy = gradients[1].contiguous(), more = gradients[0].defined() ? gradients[0].contiguous() : Tensor();
    const NormGradients out = saved[0].scalar_type() == at::kDouble
                                  ? make_gradients<double>(dy, saved[0], saved[2], saved[3], saved[1], more)
                                  : make_gradients<float>(dy, saved[0], saved[2], saved[3], saved[1], more);
    return {out.x, out.weight, out.bias, {}};
  }
};

}  // namespace

Forked fork_norm(const Tensor& x, const NormWeights& norm) {
  const variable_list out = ForkNorm::apply(x, norm.weight, norm.bias, norm.eps);
  return {out[0], out[1]};
}

}  // namespace locus::engine::fused
