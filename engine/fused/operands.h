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

// The product of two matrices, either of them transposed first, of one type: float64, or float32 and bfloat16, whose
// products are summed and given back in float32: by the processor's dot products of bfloat16, or where it has none by
// those of float32, which cost no more than without rounding.
enum class Turn { kNone, kFirst, kSecond };
Tensor product(const Tensor& a, const Tensor& b, Turn turn);

// An argument that may be undefined, as nodes of the graph take it, and back.
inline std::optional<Tensor> maybe(const Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; }
inline Tensor tensor_of(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

}  // namespace locus::engine::fused
