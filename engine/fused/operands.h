// What matrix products take and make.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// In which type products of tokens like these take their operands: that of the tokens, or bfloat16 where float32 tokens
// are computed in mixed precision (Autocast).
at::ScalarType operand_type(const Tensor& tokens);

// A weight in that type, contiguous. A copy is kept until the weight changes, so that a step rounds every weight once
// however often it is used. Of this thread.
Tensor operand(const Tensor& weight, at::ScalarType type);

// The sum of the outer products of rows, A^T B [width of A, width of B], of one type: float64, or float32 and bfloat16, whose
// products are summed and given back in float32, with the same bits by any number of threads.
Tensor outer_sum(const Tensor& a, const Tensor& b);

// What rows are multiplied by, a few at a time: y = x W for W [in, out], or turned, given as [out, in]. Operands are of S, sums
// of T: <float, float>, <double, double> or <float, c10::BFloat16>. Any number of threads may multiply at the same time, and
// how rows are divided changes no bit but of double, whose products are the matrix library's.
enum class Turn { kNone, kTurned };
template <typename T, typename S>
class Map {
 public:
  Map(const Tensor& weight, Turn turn);  // `weight`: contiguous, of S

  // y [rows, out] = x [rows, in] W, rows one after another, in this thread.
  void multiply(const S* x, std::int64_t rows, T* y) const;

 private:
  std::int64_t in_, out_;
  bool turned_;
  Tensor weight_, packed_;  // the first of double, the second of others, as our own kernels read it
};

// Tells whoever counts or profiles operators of a product of rows [.., in] and a weight of in times out numbers, as the
// dispatcher tells of its own.
inline constexpr const char* kProductOperator = "locus::product";
void tell_of_product(const Tensor& rows, const Tensor& weight);

// made<T, S>() for operands of this type: T, in which is computed, and S, what operands are.
template <typename Make>
auto of_types(at::ScalarType operands, const Make& made) {
  if (operands == at::kDouble) return made.template operator()<double, double>();
  if (operands == at::kFloat) return made.template operator()<float, float>();
  return made.template operator()<float, c10::BFloat16>();
}

// An argument that may be undefined, as nodes of the graph take it, and back.
inline std::optional<Tensor> maybe(const Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; }
inline Tensor tensor_of(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

}  // namespace locus::engine::fused
