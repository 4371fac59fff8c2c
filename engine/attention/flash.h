// Blocked attention over the whole algebra: forms are evaluated where they are used, forward and backward, so that nothing of
// T x T is held for any sample.
#pragma once

#include "engine/attention/path.h"
#include "engine/cpu/attention.h"

namespace locus::engine {

// Whether there is a kernel for the device and types, and all that is done to P is said by terms.
bool flash_supports(const Scores& scores);

// P V + the sums of value tables, [B, H, T, d] (the heads of a token side by side in memory), differentiable once in q, k, v
// and whatever the terms are made of. flash_supports() must hold.
Tensor run_flash(const Scores& scores);
// The same by given kernels of the CPU instead of the best that the processor runs: they agree but for rounding.
Tensor run_flash_on(const cpu::AttentionKernels& kernels, const Scores& scores);

}  // namespace locus::engine
