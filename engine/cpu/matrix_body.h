// Products of whole matrices: B as panels of kPanel columns, A copied a group of rows and a chunk of the depth at a time, both
// in words of two numbers (pairs.h) or widened, so that they are read from end to end. Rows of float32 are read where they lie
// unless they would meet on the same sets of the cache.
#pragma once

#include "engine/cpu/matrix.h"
#include "engine/cpu/pairs.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// The first numbers from `from` on, as many as exist of a vector, widened; 0 behind them. Nothing else is read.
LOCUS_INLINE Vector<float> existing(const std::uint16_t* from, std::int64_t count) {
#if defined(__AVX512F__)
  const unsigned lanes = count >= 16 ? 0xFFFFU : count <= 0 ? 0U : (1U << count) - 1U;
  const __m256i bits = _mm256_maskz_loadu_epi16(static_cast<__mmask16>(lanes), from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__AVX2__)
  __m128i bits{};
  __builtin_memcpy(&bits, from, count >= 8 ? sizeof bits : count <= 0 ? 0 : 2 * static_cast<std::size_t>(count));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#else
  Integers<float> bits{};
  for (std::int64_t i = 0; i < kLanes<float> && i < count; ++i)
    bits[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[i]) << 16);
  return reinterpret_cast<Vector<float>>(bits);
#endif
}

LOCUS_INLINE Vector<float> existing(const float* from, std::int64_t count) {
  constexpr std::int64_t kWide = kLanes<float>;
  if (count >= kWide) return load<float>(from);
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(count <= 0 ? 0U : (1U << count) - 1U), from);
#else
  Vector<float> out{};
  for (std::int64_t i = 0; i < kWide && i < count; ++i) out[i] = from[i];
  return out;
#endif
}

// A tile of C, of which `wide` columns exist, of a panel of B. `spare`: a tile of room.
template <bool kPairs>
void multiply_tile(std::int64_t rows, std::int64_t deep, const Left<float>& left, const float* panel, float* c,
                   std::int64_t c_row, std::int64_t wide, bool add, float* spare) {
  constexpr std::int64_t kWide = kLanes<float>, kColumns = kPanel<float>;
  const bool two = wide > kWide, whole = wide >= (two ? kColumns : kWide);
  const TileFunction<float> tile = tile_function<float, kPairs>(static_cast<int>(rows), two, left.transposed);
  if (whole) {
    for (std::int64_t r = 0; r < rows; ++r) {  // C is fetched while the tile is summed
      for (std::int64_t j = 0; j < (two ? kColumns : kWide); j += kWide) __builtin_prefetch(c + r * c_row + j, 1);
    }
    return tile(deep, left.a, left.row, panel, kColumns, c, c_row, 1, add);
  }
  tile(deep, left.a, left.row, panel, kColumns, spare, kColumns, 1, false);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < wide; ++j) c[r * c_row + j] = spare[r * kColumns + j] + (add ? c[r * c_row + j] : 0);
  }
}

// C [rows, columns], rows one after another: panel after panel, each by tiles of rows that are alike in size. Of a transposed A
// there is one tile.
template <bool kPairs>
void multiply_rows(std::int64_t rows, std::int64_t columns, std::int64_t deep, const Left<float>& left,
                   const Right<float>& right, float* c, bool add, float* spare) {
  constexpr std::int64_t kColumns = kPanel<float>;
  if constexpr (kPairs && kTileProducts) {
    product_by_tiles(rows, columns, deep, left, right, c, columns, 1, add);
  } else {
    const std::int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    for (std::int64_t j = 0; j < columns; j += kColumns) {
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t i = rows * t / tiles, end = rows * (t + 1) / tiles;
        multiply_tile<kPairs>(end - i, deep, {left.a + i * left.row, left.row, left.transposed},
                              right.b + j / kColumns * right.panel, c + i * columns + j, columns, columns - j, add,
                              spare);
      }
    }
  }
}

// kPairs: in words of two bfloat16 numbers (pairs.h), which is what is counted along the depth then.
template <typename Number, bool kPairs>
class Matrices {
 public:
  using Real = float;

  static std::int64_t panels(std::int64_t columns) { return (columns + kColumns - 1) / kColumns; }
  static std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
    return panels(columns) * kColumns * counted(depth) + kColumns;
  }
  static std::int64_t room_size(std::int64_t a_row) { return copied_size(a_row) + kRows * kColumns + kColumns; }

  static void pack(const Matrix<Number>& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
                   std::int64_t last_panel, Real* packed) {
    for (std::int64_t n = first_panel; n < last_panel; ++n) {
      const std::int64_t at = n * kColumns, wide = least(columns - at, kColumns);
      Real* const panel = packed + at * counted(depth);
      if (b.turned) {
        pack_turned(b.data + at * b.row, b.row, depth, wide, panel);
      } else if constexpr (kPairs) {
        pair_across(b.data + at, b.row, depth, wide, panel, kColumns);
      } else {
        for (std::int64_t k = 0; k < depth; ++k) {
          for (std::int64_t j = 0; j < kColumns; j += kWide)
            store<Real>(panel + k * kColumns + j, existing(b.data + k * b.row + at + j, wide - j));
        }
      }
    }
  }

  static void multiply(const Number* a, std::int64_t a_row, std::int64_t rows, const Real* packed, std::int64_t depth,
                       std::int64_t columns, Real* c, Real* room) {
    const std::int64_t all = counted(depth), chunks = (all + kDepth - 1) / kDepth;
    Real* const spare = room + copied_size(a_row) + kColumns;
    for (std::int64_t i = 0; i < rows; i += kGroup) {
      const std::int64_t some = least(kGroup, rows - i);
      for (std::int64_t n = 0; n < chunks; ++n) {
        const std::int64_t k = all * n / chunks, deep = all * (n + 1) / chunks - k;
        Left<Real> left{room, kCopied};
        if constexpr (sizeof(Number) == sizeof(Real)) {
          if (lies_well(a_row)) left = {a + i * a_row + k, a_row};
        }
        if (left.a == room) copy_rows(a + i * a_row, a_row, some, depth, k, deep, room);
        const Right<Real> right{packed + k * kColumns, kColumns, all * kColumns};
        multiply_rows<kPairs>(some, columns, deep, left, right, c + i * columns, n > 0, spare);
      }
    }
  }

 private:
  static constexpr std::int64_t kWide = kLanes<Real>, kColumns = kPanel<Real>, kRows = kTileRows;
  static constexpr std::int64_t kGroup = 16 * kRows;  // rows that are copied at a time
  static constexpr std::int64_t kDepth = 256;         // of a chunk: a panel of B stays in the nearer caches
  static constexpr std::int64_t kCopied =
      kDepth + kWide;  // between copied rows: they begin on different sets of the cache

  // Of float32: rows of a tile that are apart by a multiple of this many bytes share too few sets.
  static constexpr std::int64_t kFewSets = 2048;
  static bool lies_well(std::int64_t a_row) {
    return sizeof(Number) == sizeof(Real) && a_row * static_cast<std::int64_t>(sizeof(Real)) % kFewSets != 0;
  }
  static std::int64_t copied_size(std::int64_t a_row) { return lies_well(a_row) ? 0 : kGroup * kCopied; }

  static constexpr std::int64_t counted(std::int64_t depth) { return kPairs ? words_of(depth) : depth; }
  static constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Numbers or words of a row of a turned B, from the k-th on.
  static Vector<Real> along(const Number* row, std::int64_t k, std::int64_t depth) {
    if constexpr (kPairs) {
      return reinterpret_cast<Vector<Real>>(numbers(row + 2 * k, depth - 2 * k));
    } else {
      return existing(row + k, depth - k);
    }
  }

  // Columns of a turned B are rows in memory: squares change places across their diagonal.
  static void pack_turned(const Number* from, std::int64_t row, std::int64_t depth, std::int64_t wide, Real* panel) {
    const std::int64_t all = counted(depth);
    for (std::int64_t k = 0; k < all; k += kWide) {
      for (std::int64_t j = 0; j < kColumns; j += kWide) {
        Vector<Real> square[kWide];
        for (std::int64_t r = 0; r < kWide; ++r)
          square[r] = j + r < wide ? along(from + (j + r) * row, k, depth) : Vector<Real>{};
        transpose<Real>(square);
        for (std::int64_t r = 0; r < kWide && k + r < all; ++r) store<Real>(panel + (k + r) * kColumns + j, square[r]);
      }
    }
  }

  // Part [k, k + deep) of some rows of A: by rows kCopied apart.
  static void copy_rows(const Number* a, std::int64_t a_row, std::int64_t rows, std::int64_t depth, std::int64_t k,
                        std::int64_t deep, Real* room) {
    if constexpr (kPairs) {
      pair_along(a + 2 * k, a_row, rows, least(2 * deep, depth - 2 * k), room, kCopied, round_up(deep, kWide));
    } else {
      for (std::int64_t i = 0; i < rows; ++i, room += kCopied) {
        for (std::int64_t j = 0; j < deep; j += kWide) store<Real>(room + j, existing(a + i * a_row + k + j, deep - j));
      }
    }
  }
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET
