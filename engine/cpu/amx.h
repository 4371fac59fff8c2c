// Products of words by the processor's matrix tiles (AMX): 16 rows of 16 words each, multiplied with as many and summed in
// float32. What pairs.h makes lies as tiles are read: rows of A along what is summed over, panels of B across it.
//
// Tiles belong to a thread; a product sets them up, and leaves them empty. The process must have been allowed to use them
// (engine/base/processor.h).
#pragma once

#include "engine/cpu/pack.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// Tiles by number, which their instructions want as a digit: 0 and 1 sums of the left and right half of a panel of B; 2 rows of
// A along a whole step of the depth, 3 along the rest of it; 4 and 5 the halves of a panel along a whole step, 6 and 7 along the
// rest.
inline constexpr std::int64_t kTileWords = 16;  // of a row of a tile, and its rows at most

// As the processor reads it (Intel's manual, LDTILECFG).
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {};  // of a row
  std::uint8_t rows[16] = {};

  TileShapes(std::int64_t of_a, std::int64_t rest) {
    const auto shape = [this](int tile, std::int64_t count, std::int64_t words) {
      rows[tile] = static_cast<std::uint8_t>(count), bytes[tile] = static_cast<std::uint16_t>(4 * words);
    };
    const std::int64_t some = rest > 0 ? rest : 1;
    for (const int sum : {0, 1}) shape(sum, of_a, kTileWords);
    shape(2, of_a, kTileWords), shape(3, of_a, some);
    for (const int half : {4, 5}) shape(half, kTileWords, kTileWords);
    for (const int half : {6, 7}) shape(half, some, kTileWords);
  }
};

// Sums of at most 16 rows of A and 32 columns of B over the depth to `sums`, rows of 32 apart. `two`: whether there are more
// than 16 columns.
LOCUS_INLINE void sum_tiles(std::int64_t depth, const float* a, std::int64_t a_row, const float* b, std::int64_t b_row,
                            bool two, float* sums) {
  const std::int64_t a_bytes = 4 * a_row, b_bytes = 4 * b_row, whole = depth / kTileWords * kTileWords;
  _tile_zero(0);
  _tile_zero(1);
  for (std::int64_t k = 0; k < whole; k += kTileWords) {
    _tile_loadd(2, a + k, a_bytes);
    _tile_loadd(4, b + k * b_row, b_bytes);
    _tile_dpbf16ps(0, 2, 4);
    if (!two) continue;
    _tile_loadd(5, b + k * b_row + kTileWords, b_bytes);
    _tile_dpbf16ps(1, 2, 5);
  }
  if (whole < depth) {
    _tile_loadd(3, a + whole, a_bytes);
    _tile_loadd(6, b + whole * b_row, b_bytes);
    _tile_dpbf16ps(0, 3, 6);
    if (two) {
      _tile_loadd(7, b + whole * b_row + kTileWords, b_bytes);
      _tile_dpbf16ps(1, 3, 7);
    }
  }
  _tile_stored(0, sums, 4 * kPanel<float>);
  if (two) _tile_stored(1, sums + kTileWords, 4 * kPanel<float>);
}

// Words [0, depth) of 16 columns of `from`, rows `row` apart, as 16 rows `to_row` apart.
LOCUS_INLINE void turn_words(const float* from, std::int64_t row, std::int64_t depth, float* to, std::int64_t to_row) {
  for (std::int64_t k = 0; k < depth; k += kTileWords) {
    Vector<float> square[kTileWords];
    for (std::int64_t r = 0; r < kTileWords; ++r)
      square[r] = k + r < depth ? load<float>(from + (k + r) * row) : Vector<float>{};
    transpose<float>(square);
    for (std::int64_t r = 0; r < kTileWords; ++r) store<float>(to + r * to_row + k, square[r]);
  }
}

// c = alpha sums, or added to it: rows of at most 32 columns, of which `wide` exist.
LOCUS_INLINE void put_sums(const float* sums, std::int64_t rows, std::int64_t wide, float* c, std::int64_t c_row,
                           float alpha, bool add) {
  const Vector<float> by = splat<float>(alpha);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < wide; j += kTileWords) {
      const std::int64_t left = wide - j;
      const auto lanes = static_cast<__mmask16>(left >= kTileWords ? 0xFFFFU : (1U << left) - 1U);
      float* const to = c + r * c_row + j;
      const Vector<float> sum = load<float>(sums + r * kPanel<float> + j);
      const Vector<float> value = add ? fma<float>(sum, by, _mm512_maskz_loadu_ps(lanes, to)) : sum * by;
      _mm512_mask_storeu_ps(to, lanes, value);
    }
  }
}

// As product() of words; of the last panel only `columns` are written. Rows of a transposed A are read 16 at a time.
inline void product_by_tiles(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left<float> left,
                             Right<float> right, float* c, std::int64_t c_row, float alpha, bool add) {
  constexpr std::int64_t kDepth = 256;
  alignas(64) float sums[kTileWords * kPanel<float>], turned[kTileWords * (kDepth + kTileWords)];
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    const std::int64_t deep = depth - k < kDepth ? depth - k : kDepth, rest = deep % kTileWords;
    for (std::int64_t i = 0, last = 0; i < rows; i += kTileWords) {
      const std::int64_t some = rows - i < kTileWords ? rows - i : kTileWords;
      if (some != last) {
        const TileShapes shapes(some, rest);
        _tile_loadconfig(&shapes);
        last = some;
      }
      const float* a = left.a + k + i * left.row;
      std::int64_t a_row = left.row;
      if (left.transposed) {
        turn_words(left.a + k * left.row + i, left.row, deep, turned, kDepth + kTileWords);
        a = turned, a_row = kDepth + kTileWords;
      }
      __asm__ volatile("" ::: "memory");  // loads of tiles do not say that they read memory
      for (std::int64_t j = 0; j < columns; j += kPanel<float>) {
        const std::int64_t wide = columns - j < kPanel<float> ? columns - j : kPanel<float>;
        const float* const b = right.b + j / kPanel<float> * right.panel + k * right.row;
        sum_tiles(deep, a, a_row, b, right.row, wide > kTileWords, sums);
        put_sums(sums, some, wide, c + i * c_row + j, c_row, alpha, add || k > 0);
      }
    }
  }
  _tile_release();
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
