// Loops over rows of numbers in memory, compiled for several instruction sets; one thread runs each call.
#pragma once

#include <cstdint>

namespace locus::engine::fused {

// T: in which is computed. S: what operands of matrix products are kept in, T itself or bfloat16. Rows are `width`
// numbers each, one after another. Sums over rows go to `..._sum` [width], which is added to. Any pointer marked
// optional may be null. None of them allocates, throws or synchronizes.
template <typename T, typename S>
struct Kernels {
  // y = (x - mean) rstd w + b, with the mean and 1 / sqrt(variance + eps) of each row, which are kept.
  void (*norm)(const T* x, const T* w, const T* b, double eps, S* y, T* mean, T* rstd, std::int64_t rows,
               std::int64_t width);
  // g = dy w, h = (x - mean) rstd; dx = rstd (g - mean(g) - h mean(g h)) + more (optional); dw += dy h; db += dy.
  void (*norm_backward)(const T* dy, const T* x, const T* mean, const T* rstd, const T* w, const T* more, T* dx,
                        T* w_sum, T* b_sum, std::int64_t rows, std::int64_t width);
  // u = x + bias; y = u Phi(u), the exact GELU; u is kept as `sum` (optional).
  void (*gelu)(const T* x, const T* bias, S* y, S* sum, std::int64_t rows, std::int64_t width);
  // u = x + bias (optional); dx = dy (Phi(u) + u phi(u)), also where dx is dy; b_sum += dx.
  void (*gelu_backward)(const S* x, const T* bias, const T* dy, S* dx, T* b_sum, std::int64_t rows, std::int64_t width);
  // y = x + f s (p + bias): f one number of this call, s [width] (optional).
  void (*add)(const T* x, const T* p, const T* bias, const T* s, T f, T* y, std::int64_t rows, std::int64_t width);
  // Of the same: dp = dy f s, b_sum += dp, s_sum += dy f (p + bias). dp (optional), p and s_sum (optional, together).
  void (*add_backward)(const T* dy, const T* p, const T* bias, const T* s, T f, S* dp, T* b_sum, T* s_sum,
                       std::int64_t rows, std::int64_t width);
  // y = x + bias (optional), rows of x `x_step` numbers apart, of y `y_step`.
  void (*move)(const T* x, std::int64_t x_step, const T* bias, S* y, std::int64_t y_step, std::int64_t rows,
               std::int64_t width);
  // y = x, b_sum += x (optional); steps likewise.
  void (*gather)(const S* x, std::int64_t x_step, S* y, std::int64_t y_step, T* b_sum, std::int64_t rows,
                 std::int64_t width);
};

// Those for this processor, by torch's own choice (ATEN_CPU_CAPABILITY). Of <float, float>, <double, double> and
// <float, c10::BFloat16>.
template <typename T, typename S>
const Kernels<T, S>& kernels();

}  // namespace locus::engine::fused
