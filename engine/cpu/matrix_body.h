// Products of whole matrices of bfloat16: B as panels of kPanel columns, A copied a group of rows and a chunk of the depth at
// a time, both in words of two numbers (pairs.h) or widened, so that they are read from end to end.
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

// kPairs: in words of two bfloat16 numbers (pairs.h), which is what is counted along the depth then.
template <bool kPairs, typename Number = std::uint16_t>
class Matrices {
 public:
  static constexpr Bfloat16Products functions() { return {packed_size, panels, pack, room_size, multiply}; }

 private:
  using Real = float;
  static constexpr std::int64_t kWide = kLanes<Real>, kColumns = kPanel<Real>, kRows = kTileRows;
  static constexpr std::int64_t kGroup = 16 * kRows;  // rows that are copied at a time
  static constexpr std::int64_t kDepth = 256;         // of a chunk: a panel of B stays in the nearer caches
  static constexpr std::int64_t kCopied =
      kDepth + kWide;  // between copied rows: they begin on different sets of the cache
  using Tile = decltype(tile_function<Real, kPairs>(1, true, true));

  static const Number* numbers_of(const Bfloat16Matrix& matrix) { return matrix.data; }
  static constexpr std::int64_t counted(std::int64_t depth) { return kPairs ? words_of(depth) : depth; }
  static constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  static std::int64_t panels(std::int64_t columns) { return (columns + kColumns - 1) / kColumns; }
  static std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
    return panels(columns) * kColumns * counted(depth) + kColumns;
  }
  static std::int64_t room_size() { return kGroup * kCopied + kRows * kColumns + kColumns; }

  static void pack(const Bfloat16Matrix& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
                   std::int64_t last_panel, Real* packed) {
    for (std::int64_t n = first_panel; n < last_panel; ++n) {
      const std::int64_t at = n * kColumns, wide = least(columns - at, kColumns);
      Real* const panel = packed + at * counted(depth);
      if (b.turned) {
        pack_turned(b.data + at * b.row, b.row, depth, wide, panel);
      } else if constexpr (kPairs) {
        pair_across(numbers_of(b) + at, b.row, depth, wide, panel, kColumns);
      } else {
        for (std::int64_t k = 0; k < depth; ++k) {
          for (std::int64_t j = 0; j < kColumns; j += kWide)
            store<Real>(panel + k * kColumns + j, existing(b.data + k * b.row + at + j, wide - j));
        }
      }
    }
  }

  // Numbers or words of a row of A or of a turned B, from the k-th on.
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

  // Part [k, k + deep) of rows [first, last) of A: by rows kCopied apart.
  static void copy_rows(const Bfloat16Matrix& a, std::int64_t depth, std::int64_t k, std::int64_t deep,
                        std::int64_t first, std::int64_t last, Real* room) {
    if constexpr (kPairs) {
      pair_along(numbers_of(a) + first * a.row + 2 * k, a.row, last - first, least(2 * deep, depth - 2 * k), room,
                 kCopied, round_up(deep, kWide));
    } else {
      for (std::int64_t i = first; i < last; ++i, room += kCopied) {
        for (std::int64_t j = 0; j < deep; j += kWide)
          store<Real>(room + j, existing(a.data + i * a.row + k + j, deep - j));
      }
    }
  }

  // The same of a tile of at most kRows rows where A lies turned: [deep, kRows]. Whole vectors are written, the next in
  // place of what is too much of one.
  static void copy_turned(const Bfloat16Matrix& a, std::int64_t depth, std::int64_t k, std::int64_t deep,
                          std::int64_t first, std::int64_t rows, Real* room) {
    for (std::int64_t w = 0; w < deep; ++w) {
      Real* const to = room + w * kRows;
      if constexpr (kPairs) {
        pair_of_rows(numbers_of(a) + 2 * (k + w) * a.row + first, 2 * (k + w) + 1 < depth ? a.row : 0, rows, to);
      } else {
        for (std::int64_t r = 0; r < kRows; r += kWide)
          store<Real>(to + r, existing(a.data + (k + w) * a.row + first + r, rows - r));
      }
    }
  }

  static void multiply(const Bfloat16Matrix& a, const Real* packed, std::int64_t depth, std::int64_t columns,
                       std::int64_t first, std::int64_t last, Real* c, Real* room) {
    const std::int64_t all = counted(depth), chunks = (all + kDepth - 1) / kDepth;
    for (std::int64_t i = first; i < last; i += kGroup) {
      const std::int64_t rows = least(kGroup, last - i);
      for (std::int64_t n = 0; n < chunks; ++n) {
        const std::int64_t k = all * n / chunks, deep = all * (n + 1) / chunks - k;
        Tiles tiles{rows, (rows + kRows - 1) / kRows, deep};
        if (a.turned) {
          for (std::int64_t t = 0; t < tiles.count; ++t)
            copy_turned(a, depth, k, deep, i + tiles.row(t), tiles.row(t + 1) - tiles.row(t), room + t * deep * kRows);
          tiles.a = room, tiles.turned = true;
        } else {
          copy_rows(a, depth, k, deep, i, i + rows, room);
          tiles.a = room, tiles.a_row = kCopied;
        }
        for (std::int64_t j = 0; j < columns; j += kColumns)
          panel(tiles, packed + j * all + k * kColumns, c + (i - first) * columns + j, columns, columns - j, n > 0,
                room + kGroup * kCopied + kColumns);
      }
    }
  }

  // Rows of A in tiles that are alike in size.
  struct Tiles {
    std::int64_t rows, count, deep;
    const Real* a = nullptr;
    std::int64_t a_row = 0;
    bool turned = false;
    std::int64_t row(std::int64_t n) const { return rows * n / count; }
  };

  // A panel of C, of which `wide` columns exist.
  static void panel(const Tiles& tiles, const Real* b, Real* c, std::int64_t c_row, std::int64_t wide, bool add,
                    Real* spare) {
    const bool two = wide > kWide, whole = wide >= (two ? kColumns : kWide);
    for (std::int64_t t = 0; t < tiles.count; ++t) {
      const std::int64_t i = tiles.row(t), some = tiles.row(t + 1) - i;
      const Tile tile = tile_function<Real, kPairs>(static_cast<int>(some), two, tiles.turned);
      const Real* const a = tiles.a + (tiles.turned ? t * tiles.deep * kRows : i * tiles.a_row);
      const std::int64_t a_row = tiles.turned ? kRows : tiles.a_row;
      if (whole) {
        tile(tiles.deep, a, a_row, b, kColumns, c + i * c_row, c_row, 1, add);
        continue;
      }
      tile(tiles.deep, a, a_row, b, kColumns, spare, kColumns, 1, false);
      for (std::int64_t r = 0; r < some; ++r) {
        Real* const to = c + (i + r) * c_row;
        for (std::int64_t j = 0; j < wide; ++j) to[j] = spare[r * kColumns + j] + (add ? to[j] : 0);
      }
    }
  }
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET
