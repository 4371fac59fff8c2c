// A stream and its norm.
#include <torch/csrc/autograd/custom_function.h>

#include "engine/fused/branch.h"
#include "engine/fused/norm_rows.h"

namespace locus::engine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class ForkNorm : public torch::autograd::Function<ForkNorm> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                               double eps) {
    const NormedRows made = normed_rows(x, {weight, bias, eps}, x.scalar_type());
    context->set_materialize_grads(false);
    context->save_for_backward({x, weight, made.mean, made.rstd});
    return {x, made.rows};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    if (!gradients[1].defined()) return {gradients[0], {}, {}, {}};
    NormGradients out = norm_gradients(gradients[1].contiguous(), saved[0], saved[2], saved[3], saved[1],
                                       gradients[0].defined() ? gradients[0].contiguous() : Tensor());
    return {out.x, out.weight, out.bias, {}};
  }
};

template <typename T, typename S>
void make_rows(const Tensor& x, const NormWeights& norm, NormedRows& out) {
  const std::int64_t width = x.size(-1), rows = x.numel() / width;
  const T *from = data<T>(x), *w = data<T>(norm.weight), *b = data<T>(norm.bias);
  T *mean = writable<T>(out.mean), *rstd = writable<T>(out.rstd);
  S* to = writable<S>(out.rows);
  in_parts(rows, parts_of_rows(rows), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    kernels<T, S>().norm(from + first * width, w, b, norm.eps, to + first * width, mean + first, rstd + first,
                         end - first, width);
  });
}

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

}  // namespace

NormedRows normed_rows(const Tensor& x, const NormWeights& norm, at::ScalarType type) {
  const std::int64_t rows = x.numel() / x.size(-1);
  NormedRows out{at::empty(x.sizes(), x.options().dtype(type)), at::empty({rows}, x.options()),
                 at::empty({rows}, x.options())};
  if (x.scalar_type() == at::kDouble) {
    make_rows<double, double>(x, norm, out);
  } else if (type == at::kFloat) {
    make_rows<float, float>(x, norm, out);
  } else {
    make_rows<float, c10::BFloat16>(x, norm, out);
  }
  return out;
}

NormGradients norm_gradients(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                             const Tensor& weight, const Tensor& more) {
  return x.scalar_type() == at::kDouble ? make_gradients<double>(dy, x, mean, rstd, weight, more)
                                        : make_gradients<float>(dy, x, mean, rstd, weight, more);
}

Forked fork_norm(const Tensor& x, const NormWeights& norm) {
  const variable_list out = ForkNorm::apply(x, norm.weight, norm.bias, norm.eps);
  return {out[0], out[1]};
}

}  // namespace locus::engine::fused
