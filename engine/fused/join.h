// What a branch adds to the stream, row by row: x + factors (product + bias).
#pragma once

#include "engine/fused/branch.h"
#include "engine/fused/rows.h"

namespace locus::engine::fused {

// Of rows [first, end) of a stream of samples of `tokens` rows each; pointers are to whole tensors, null where undefined.
template <typename T>
struct Join {
  std::int64_t tokens, width;
  const T *bias, *channels, *samples;

  Join(const Tensor& stream, const Tensor& of_bias, const BranchFactors& factors)
      : tokens(stream.size(1)),
        width(stream.size(2)),
        bias(data<T>(of_bias)),
        channels(data<T>(factors.channels)),
        samples(data<T>(factors.samples)) {}

  // out = x + factors (product + bias): `product` and `out`, which may be the same, are of row `first`.
  void add(const T* x, const T* product, T* out, std::int64_t first, std::int64_t end) const {
    by_sample(first, end, [&](std::int64_t from, std::int64_t until, T factor) {
      const std::int64_t at = (from - first) * width;
      kernels<T, T>().add(x + at, product + at, bias, channels, factor, out + at, until - from, width);
    });
  }

  // The gradients of the product, in the type of operands (optional), and of bias and channels, which are added to their
  // sums. `product` is needed for the latter alone.
  template <typename S>
  void back(const T* dy, const T* product, S* of_product, T* bias_sum, T* channels_sum, std::int64_t first,
            std::int64_t end) const {
    by_sample(first, end, [&](std::int64_t from, std::int64_t until, T factor) {
      const std::int64_t at = (from - first) * width;
      kernels<T, S>().add_backward(dy + at, channels != nullptr ? product + at : nullptr, bias, channels, factor,
                                   of_product != nullptr ? of_product + at : nullptr, bias_sum, channels_sum,
                                   until - from, width);
    });
  }

  // Whether the gradient of the product is that of the stream, number by number.
  template <typename S>
  bool passes_on() const {
    return std::is_same_v<T, S> && channels == nullptr && samples == nullptr;
  }

 private:
  // Calls body(first, end, factor) for the rows that share a sample's factor.
  template <typename Body>
  void by_sample(std::int64_t first, std::int64_t end, const Body& body) const {
    if (samples == nullptr) return body(first, end, T{1});
    while (first < end) {
      const std::int64_t sample = first / tokens, next = std::min(end, (sample + 1) * tokens);
      body(first, next, samples[sample]);
      first = next;
    }
  }
};

// The gradient of what a branch gives, for all rows [rows, width]: `dy` itself where the two are the same.
template <typename T, typename S>
Tensor branch_gradient(const Tensor& dy, const Join<T>& join) {
  const Tensor rows = dy.flatten(0, 1);
  return join.template passes_on<S>() ? rows
                                      : at::empty(rows.sizes(), dy.options().dtype(c10::CppTypeToScalarType<S>()));
}

}  // namespace locus::engine::fused
