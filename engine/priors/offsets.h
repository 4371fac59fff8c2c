// Relative positions on a grid of any rank, for biases that are functions of the offset of two patches.
#pragma once

#include "engine/layers/forms.h"
#include "engine/layers/layout.h"

namespace locus::engine {

// How many offsets (query minus key) the grid has: the product of 2 extent - 1.
std::int64_t offset_count(const Layout& layout);

// The offset of every entry in the order of offset_pairs, [R, rank], axes in the order of the extents, the last
// fastest: ((2 Hp - 1)(2 Wp - 1) rows of (dy, dx)).
Tensor offsets(const Layout& layout, at::TensorOptions options);

// Entries for pairs with a prefix token, counted from the one behind the last offset.
struct PrefixRows {
  std::int64_t from_prefix = 0;  // a prefix token asks a patch
  std::int64_t to_prefix = 0;    // a patch asks a prefix token
  std::int64_t within = 0;
};

// The entry of every pair: (dy + Hp - 1)(2 Wp - 1) + dx + Wp - 1 for patches, query minus key (Liu et al. 2021,
// arXiv:2103.14030, section 3.2).
PairIndex::Rule offset_rule(const Layout& layout, at::Device device, const PrefixRows& prefix = {});
// The entry of the offset along one axis, d + extent - 1, and 2 extent - 1 for pairs with a prefix token.
PairIndex::Rule axis_rule(const Layout& layout, std::size_t axis, at::Device device);

// A grid whose first patch is where prefix tokens "at the origin" lie, and whose patches from (1, 1, ..) are those of
// `layout`. Its offsets are those of all tokens.
Layout with_origin(const Layout& layout);
// Entries of offsets(with_origin(layout)) for every pair of tokens, those of the prefix included.
PairIndex::Rule origin_rule(const Layout& layout, at::Device device);

// `values` [H, R] of the offsets as a bias that is 0 where a prefix token is involved. `index` by offset_rule().
RelativeTable offset_bias(const Tensor& values, const PairIndex& index);

// What each token looks up in a table of R vectors: side [B, H, T, d] times table [1|H, d, R], [B, H, T, R]. One
// product a sample and head, or one in all: heads need not be brought together first.
Tensor lookup_rows(const Tensor& side, const Tensor& table);

}  // namespace locus::engine
