// Row by row, a sample's factor at a time.
#include "engine/fused/join.h"

namespace locus::engine::fused {
namespace {

// Calls body(first, end, factor) for the rows of [first, end) that share a sample's factor.
template <typename T, typename Body>
void by_sample(const Tensor& samples, std::int64_t tokens, std::int64_t first, std::int64_t end, const Body& body) {
  if (!samples.defined()) return body(first, end, T{1});
  const T* const factors = data<T>(samples);
  while (first < end) {
    const std::int64_t sample = first / tokens, next = std::min(end, (sample + 1) * tokens);
    body(first, next, factors[sample]);
    first = next;
  }
}

template <typename T>
void join_rows(const Tensor& x, const Tensor& product, const Tensor& bias, const BranchFactors& factors, Tensor& out) {
  const std::int64_t width = x.size(2), rows = x.size(0) * x.size(1);
  const T *stream = data<T>(x), *branch = data<T>(product), *b = data<T>(bias), *s = data<T>(factors.channels);
  T* const to = writable<T>(out);
  in_parts(rows, parts_of_rows(rows), [&](std::int64_t, std::int64_t first, std::int64_t end) {
    by_sample<T>(factors.samples, x.size(1), first, end, [&](std::int64_t from, std::int64_t until, T factor) {
      kernels<T, T>().add(stream + from * width, branch + from * width, b, s, factor, to + from * width, until - from,
                          width);
    });
  });
}

template <typename T, typename S>
JoinGradients join_gradients_of(const Tensor& dy, const Tensor& product, const Tensor& bias,
                                const BranchFactors& factors) {
  const std::int64_t width = dy.size(2), rows = dy.size(0) * dy.size(1), parts = parts_of_rows(rows);
  const bool same = std::is_same_v<T, S> && !factors.channels.defined() && !factors.samples.defined();
  JoinGradients out;
  out.product =
      same ? dy.view({rows, width}) : at::empty({rows, width}, dy.options().dtype(c10::CppTypeToScalarType<S>()));
  const T *from = data<T>(dy), *p = data<T>(product), *b = data<T>(bias), *s = data<T>(factors.channels);
  S* const to = same ? nullptr : writable<S>(out.product);
  ColumnSum<T> of_bias(parts, width, dy.options()), of_channels(s != nullptr ? parts : 1, width, dy.options());
  in_parts(rows, parts, [&](std::int64_t part, std::int64_t first, std::int64_t end) {
    by_sample<T>(factors.samples, dy.size(1), first, end, [&](std::int64_t row, std::int64_t until, T factor) {
      const std::int64_t at = row * width;
      kernels<T, S>().add_backward(from + at, s != nullptr ? p + at : nullptr, b, s, factor,
                                   to != nullptr ? to + at : nullptr, of_bias.of(part),
                                   s != nullptr ? of_channels.of(part) : nullptr, until - row, width);
    });
  });
  out.bias = of_bias.total();
  if (s != nullptr) out.channels = of_channels.total();
  return out;
}

}  // namespace

Tensor joined(const Tensor& x, Tensor& product, const Tensor& bias, const BranchFactors& factors, bool keep) {
  Tensor out = keep ? at::empty_like(x) : product.view(x.sizes());
  if (x.scalar_type() == at::kDouble) {
    join_rows<double>(x, product, bias, factors, out);
  } else {
    join_rows<float>(x, product, bias, factors, out);
  }
  return out;
}

JoinGradients join_gradients(const Tensor& dy, const Tensor& product, const Tensor& bias, const BranchFactors& factors,
                             at::ScalarType operands) {
  if (dy.scalar_type() == at::kDouble) return join_gradients_of<double, double>(dy, product, bias, factors);
  if (operands == at::kFloat) return join_gradients_of<float, float>(dy, product, bias, factors);
  return join_gradients_of<float, c10::BFloat16>(dy, product, bias, factors);
}

}  // namespace locus::engine::fused
