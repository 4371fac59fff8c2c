// Rows as kernels read them.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// `t` with the numbers of a row, its last axis, side by side: itself where they lie so, else a copy.
inline Tensor with_whole_rows(const Tensor& t) { return t.stride(-1) == 1 ? t : t.contiguous(); }

}  // namespace locus::engine
