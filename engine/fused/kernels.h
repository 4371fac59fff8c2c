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
  // Rows of pairs of channels, (2c, 2c + 1) if `neighbors`, else (c, c + width / 2): y = x cos + partner(x) sin. Rows
  // of x are `x_step` apart, of cos and sin `turn_step`.
  void (*turn)(const S* x, std::int64_t x_step, const T* cos, const T* sin, std::int64_t turn_step, bool neighbors,
               S* y, std::int64_t rows, std::int64_t width);
  // Of the same, where sin is negative in the first channel of a pair: dx; and angle_sum += x dx' - x' dx, dashed what is the
  // second of the pair's, [rows, width / 2] (x and it optional, together).
  void (*turn_backward)(const S* dy, std::int64_t dy_step, const S* x, std::int64_t x_step, const T* cos, const T* sin,
                        std::int64_t turn_step, bool neighbors, S* dx, T* angle_sum, std::int64_t rows,
                        std::int64_t width);
  // Of one image whose pixels are rows of `width` channels, and side x side weights of a channel, [side side, width], odd:
  // y[p] = bias (optional) + sum of w[t] x[p + offset of t], 0 beyond the border.
  void (*convolve)(const T* x, const T* w, const T* bias, T* y, std::int64_t rows, std::int64_t columns,
                   std::int64_t side, std::int64_t width);
  // w_sum[t] += sum of dy[p] x[p + offset of t], b_sum += dy (optional).
  void (*convolve_backward)(const T* x, const T* dy, T* w_sum, T* b_sum, std::int64_t rows, std::int64_t columns,
                            std::int64_t side, std::int64_t width);
};

// Those for this processor, by torch's own choice (ATEN_CPU_CAPABILITY). Of <float, float>, <double, double> and
// <float, c10::BFloat16>.
template <typename T, typename S>
const Kernels<T, S>& kernels();

// The numbers of one step of AdamW, and of SGD, for parameters that are treated alike.
template <typename T>
struct AdamNumbers {
  T kept;              // 1 - rate decay
  T beta2, one_beta1;  // the first as 1 - beta1
  T one_beta2;         // 1 - beta2
  T root;              // sqrt(1 - beta2^t)
  T step;              // rate / (1 - beta1^t)
  T epsilon;
};
template <typename T>
struct SgdNumbers {
  T rate, decay, momentum;
  bool nesterov;
};

// Losses and functions of rows, and updates of numbers one after another. As above.
template <typename T>
struct Passes {
  // Of rows of logits: the sum of -t log softmax(x), where t = (1 - smoothing) target + smoothing / width, and target is a
  // row of `targets` or, where these are null, 1 at the row's label. slope = factor (softmax(x) sum(t) - t) (optional).
  double (*cross_entropy)(const T* x, const T* targets, const std::int64_t* labels, double smoothing, T factor,
                          T* slope, std::int64_t rows, std::int64_t width);
  double (*squares)(const T* x, std::int64_t count);  // their sum
  void (*scale)(T* x, T factor, std::int64_t count);
  // p, m, v by Loshchilov and Hutter 2019, algorithm 2, in the order of operations of PyTorch's fused one.
  void (*adamw)(T* p, const T* g, T* m, T* v, const AdamNumbers<T>& numbers, std::int64_t count);
  // g += decay p; b = momentum b + g; p -= rate b, or with Nesterov's momentum p -= rate (g + momentum b). b (optional).
  void (*sgd)(T* p, const T* g, T* b, const SgdNumbers<T>& numbers, std::int64_t count);
  // y = log(1 + e^x), x above 20; rows of x are `x_step` apart.
  void (*softplus)(const T* x, std::int64_t x_step, T* y, std::int64_t rows, std::int64_t width);
  // dx = dy / (1 + e^-x), dy above 20; rows of x and dx are `step` apart.
  void (*softplus_backward)(const T* x, std::int64_t step, const T* dy, T* dx, std::int64_t rows, std::int64_t width);
  // a = keep a + take x.
  void (*follow)(T* a, const T* x, T keep, T take, std::int64_t count);
  // a += share (x - a), from whichever end is nearer.
  void (*lerp)(T* a, const T* x, T share, std::int64_t count);
};
// Of float and double.
template <typename T>
const Passes<T>& passes();

}  // namespace locus::engine::fused
