// The loops of kernels.h over tensors, in parallel: rows are divided by their number alone, so that sums over them run in
// one order however many threads there are.
#pragma once

#include <ATen/Parallel.h>

#include "engine/base/torch.h"
#include "engine/fused/kernels.h"

namespace locus::engine::fused {

// Calls body(part, first, end) for the parts of `count` units. A thread always gets the same ones, whose rows it still has
// near from the pass before: who takes the next part whenever it is through is slower.
template <typename Body>
void in_parts(std::int64_t count, std::int64_t parts, const Body& body) {
  at::parallel_for(0, parts, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t p = from; p < to; ++p) body(p, count * p / parts, count * (p + 1) / parts);
  });
}

inline std::int64_t parts_of_rows(std::int64_t rows) {
  constexpr std::int64_t kLeast = 64, kMost = 16;  // rows of a part, and parts
  return std::clamp<std::int64_t>(rows / kLeast, 1, kMost);
}

inline constexpr std::int64_t kGroupRows = 112;

// Calls body(first, end) for groups of at most kGroupRows of the rows [first, end): few enough that what one pass makes of them is still near
// when the next one reads it.
template <typename Body>
void in_groups(std::int64_t first, std::int64_t end, const Body& body) {
  for (; first < end; first += kGroupRows) body(first, std::min(first + kGroupRows, end));
}

// A sum over rows, [width], made of one for each part.
template <typename T>
class ColumnSum {
 public:
  ColumnSum(std::int64_t parts, std::int64_t width, const at::TensorOptions& options)
      : parts_(at::zeros({parts, width}, options)) {}
  T* of(std::int64_t part) { return parts_.mutable_data_ptr<T>() + part * parts_.size(1); }
  Tensor total() {
    const std::int64_t width = parts_.size(1);
    Tensor out = at::empty({width}, parts_.options());
    T* const sum = out.mutable_data_ptr<T>();
    std::copy_n(of(0), width, sum);
    for (std::int64_t p = 1; p < parts_.size(0); ++p) {
      const T* const more = of(p);
      for (std::int64_t i = 0; i < width; ++i) sum[i] += more[i];
    }
    return out;
  }

 private:
  Tensor parts_;
};

template <typename T>
const T* data(const Tensor& t) {
  return t.defined() ? t.const_data_ptr<T>() : nullptr;
}
template <typename T>
T* writable(Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

}  // namespace locus::engine::fused
