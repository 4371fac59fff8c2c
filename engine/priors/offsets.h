// Relative positions on a grid of rank 2, for biases that are looked up by them.
#pragma once

#include "engine/layers/layout.h"

namespace locus::engine {

// How many offsets (query minus key) the grid has: (2 Hp - 1)(2 Wp - 1).
std::int64_t offset_count(const Layout& layout);

// (dy, dx) of every offset in the order of offset_index, [R, 2].
Tensor offsets(const Layout& layout, at::TensorOptions options);

// Rows for pairs with a prefix token, counted from the row behind the last offset.
struct PrefixRows {
  std::int64_t from_prefix = 0;  // a prefix token asks a patch
  std::int64_t to_prefix = 0;    // a patch asks a prefix token
  std::int64_t within = 0;
};

// Row of every pair, [T, T] int64 on the CPU: (dy + Hp - 1)(2 Wp - 1) + dx + Wp - 1 for patches, query minus
// key (Liu et al. 2021, arXiv:2103.14030, section 3.2).
Tensor offset_index(const Layout& layout, const PrefixRows& prefix = {});

}  // namespace locus::engine
