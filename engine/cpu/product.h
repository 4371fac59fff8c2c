// Products of small matrices: C = alpha A B, or added to C. The rows of A are broadcast, so that A may lie transposed;
// B comes in panels of kPanel columns, or as rows.
//
// kPairs: what A and B hold, and what is counted along the depth, is words of two bfloat16 numbers that lie beside one
// another in what is summed over (pairs.h); C is float32.
#pragma once

#include "engine/cpu/vector.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// Rows and vectors of C that stay in registers: all but those for a row of B and one number of A.
#if defined(__AVX512F__)
inline constexpr int kTileRows = 14;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
template <typename Real>
inline constexpr std::int64_t kPanel = kTileVectors* kLanes<Real>;

// Element (i, k) of A: a[i * row + k] by rows, a[i + k * row] transposed.
template <typename Real>
struct Left {
  const Real* a;
  std::int64_t row;
  bool transposed = false;
};

// Element (k, j) of B: b[k * row + j], and the next kPanel columns `panel` further on.
template <typename Real>
struct Right {
  const Real* b;
  std::int64_t row, panel;
};

// One tile. Accumulators are told apart by a pack of constants: GCC 12 keeps those of an array that is indexed in a loop
// in registers and on the stack alike, at a third of the speed. Rows of A are reached from every third one, which is as
// far as an address goes.
template <typename Real, bool kPairs>
LOCUS_INLINE Vector<Real> multiplied(Vector<Real> a, Vector<Real> b, Vector<Real> c) {
  if constexpr (kPairs)
    return add_pairs(a, b, c);
  else
    return fma<Real>(a, b, c);
}

template <typename Real, bool kPairs, int kRows, int kVectors, bool kTransposed, int... kAt>
void tile(std::int64_t depth, const Real* a, std::int64_t row, const Real* b, std::int64_t b_row, Real* c,
          std::int64_t c_row, Real alpha, bool add, std::integer_sequence<int, kAt...>) {
  using V = Vector<Real>;
  constexpr std::int64_t kWide = kLanes<Real>, kAhead = 8;
  V sum[] = {((void)kAt, V{})...};
  const Real* base[5] = {a, a + 3 * row, a + 6 * row, a + 9 * row, a + 12 * row};
  for (std::int64_t k = 0; k < depth; ++k) {
    V right[kVectors];
    right[0] = load<Real>(b);
    if constexpr (kVectors > 1) right[1] = load<Real>(b + kWide);
    if constexpr (sizeof(V) >= 64) {  // else what comes next is in the first cache already
      __builtin_prefetch(b + kAhead * b_row);
      if constexpr (kVectors > 1) __builtin_prefetch(b + kAhead * b_row + kWide);
    }
    if constexpr (kTransposed) {
      ((sum[kAt] = multiplied<Real, kPairs>(splat<Real>(a[kAt / kVectors]), right[kAt % kVectors], sum[kAt])), ...);
      a += row;
    } else {
      ((sum[kAt] = multiplied<Real, kPairs>(splat<Real>(base[kAt / kVectors / 3][(kAt / kVectors % 3) * row]),
                                            right[kAt % kVectors], sum[kAt])),
       ...);
      ++base[0], ++base[1], ++base[2], ++base[3], ++base[4];
    }
    b += b_row;
  }
  const V by = splat<Real>(alpha);
  const auto put = [&](Real * to, V value) __attribute__((always_inline)) {
    store<Real>(to, add ? fma<Real>(value, by, load<Real>(to)) : value * by);
  };
  (put(c + (kAt / kVectors) * c_row + (kAt % kVectors) * kWide, sum[kAt]), ...);
}

template <typename Real, bool kPairs, int kRows, int kVectors, bool kTransposed>
void tile_of(std::int64_t depth, const Real* a, std::int64_t row, const Real* b, std::int64_t b_row, Real* c,
             std::int64_t c_row, Real alpha, bool add) {
  tile<Real, kPairs, kRows, kVectors, kTransposed>(depth, a, row, b, b_row, c, c_row, alpha, add,
                                                   std::make_integer_sequence<int, kRows * kVectors>());
}

template <typename Real>
using TileFunction = void (*)(std::int64_t, const Real*, std::int64_t, const Real*, std::int64_t, Real*, std::int64_t,
                              Real, bool);

template <typename Real, bool kPairs, int kVectors, bool kTransposed, int... kLess>
TileFunction<Real> tile_for(int rows, std::integer_sequence<int, kLess...>) {
  static constexpr TileFunction<Real> kTiles[] = {&tile_of<Real, kPairs, kLess + 1, kVectors, kTransposed>...};
  return kTiles[rows - 1];
}

template <typename Real, bool kPairs>
TileFunction<Real> tile_function(int rows, bool two, bool transposed) {
  constexpr auto kRows = std::make_integer_sequence<int, kTileRows>();
  if (two)
    return transposed ? tile_for<Real, kPairs, 2, true>(rows, kRows) : tile_for<Real, kPairs, 2, false>(rows, kRows);
  return transposed ? tile_for<Real, kPairs, 1, true>(rows, kRows) : tile_for<Real, kPairs, 1, false>(rows, kRows);
}

// The same of words by the processor's matrix tiles (amx.h), where the target has them.
#if defined(__AMX_BF16__)
inline constexpr bool kTileProducts = true;
#else
inline constexpr bool kTileProducts = false;
#endif
inline void product_by_tiles(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left<float> left,
                             Right<float> right, float* c, std::int64_t c_row, float alpha, bool add);

// C [rows, columns] with rows c_row apart; `columns` is a multiple of kLanes, and `depth` what the product sums over, in
// chunks of fixed size and in order.
template <typename Real, bool kPairs = false>
void product(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left<Real> left, Right<Real> right, Real* c,
             std::int64_t c_row, Real alpha, bool add) {
  if constexpr (kPairs && kTileProducts)
    return product_by_tiles(rows, columns, depth, left, right, c, c_row, alpha, add);
  constexpr std::int64_t kDepth = 256;  // a panel of B, and rows of A, in the first cache
  const std::int64_t blocks = (rows + kTileRows - 1) / kTileRows;
  for (std::int64_t k = 0; k < depth; k += kDepth) {
    const std::int64_t deep = depth - k < kDepth ? depth - k : kDepth;
    const Real* a = left.a + (left.transposed ? k * left.row : k);
    for (std::int64_t j = 0; j < columns; j += kPanel<Real>) {
      const bool two = columns - j > kLanes<Real>;
      const Real* b = right.b + j / kPanel<Real> * right.panel + k * right.row;
      for (std::int64_t n = 0; n < blocks; ++n) {
        const std::int64_t i = rows * n / blocks, end = rows * (n + 1) / blocks;
        tile_function<Real, kPairs>(static_cast<int>(end - i), two, left.transposed)(
            deep, a + (left.transposed ? i : i * left.row), left.row, b, right.row, c + i * c_row + j, c_row, alpha,
            add || k > 0);
      }
    }
  }
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
