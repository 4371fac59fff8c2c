// Which passes the fused operations take.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// Whether passes over tokens like these, and weights like theirs, may be fused: float32 or float64 on the CPU, in rows
// one after another, and no half precision asked for but bfloat16 (Autocast). A function of type, device and layout
// alone, so that equal runs choose equally.
bool fits(const Tensor& tokens);

// The residual stream as fused passes carry it: in mixed precision on the CPU (Autocast, bfloat16) tokens of bfloat16
// become float32; all others stay.
Tensor stream_of(const Tensor& tokens);

// For tests: off, everything is left to ATen's operations. Of the process; not thread-safe.
void set_enabled(bool on);
bool is_enabled();

}  // namespace locus::engine::fused
