// Products of whole matrices in words of two bfloat16 numbers: B as panels of kPanel columns, A copied a group of rows and
// a chunk of the depth at a time, so that both are read from end to end.
#pragma once

#include "engine/cpu/matrix.h"
#include "engine/cpu/pairs.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

class PairMatrices {
 public:
  static constexpr Bfloat16Products functions() { return {packed_size, panels, pack, room_size, multiply}; }

 private:
  static constexpr std::int64_t kColumns = kPanel<float>, kRows = kTileRows,
                                kGroup = 16 * kRows;  // rows copied at a time
  static constexpr std::int64_t kDepth = 256;         // words of a chunk: a panel of B stays in the first cache
  using Tile = decltype(tile_function<float, true>(1, true, true));

  static std::int64_t panels(std::int64_t columns) { return (columns + kColumns - 1) / kColumns; }
  static std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
    return panels(columns) * kColumns * words_of(depth);
  }

  static void pack(const Bfloat16Matrix& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
                   std::int64_t last_panel, float* packed) {
    for (std::int64_t n = first_panel; n < last_panel; ++n) {
      const std::int64_t at = n * kColumns, wide = columns - at < kColumns ? columns - at : kColumns;
      float* const panel = packed + at * words_of(depth);
      if (b.turned) {
        pack_turned(b.data + at * b.row, b.row, depth, wide, panel);
      } else {
        pair_across(b.data + at, b.row, depth, wide, panel, kColumns);
      }
    }
  }

  // Columns of a turned B are rows in memory: squares of words change places across their diagonal.
  static void pack_turned(const std::uint16_t* from, std::int64_t row, std::int64_t depth, std::int64_t wide,
                          float* panel) {
    const std::int64_t words = words_of(depth);
    for (std::int64_t k = 0; k < words; k += 16) {
      for (std::int64_t j = 0; j < kColumns; j += 16) {
        Vector<float> square[16];
        for (std::int64_t r = 0; r < 16; ++r) {
          square[r] = j + r < wide
                          ? reinterpret_cast<Vector<float>>(numbers(from + (j + r) * row + 2 * k, depth - 2 * k))
                          : Vector<float>{};
        }
        transpose<float>(square);
        for (std::int64_t r = 0; r < 16 && k + r < words; ++r) store<float>(panel + (k + r) * kColumns + j, square[r]);
      }
    }
  }

  // A group of rows of A, then a tile of C of whole panels where the last one is not.
  static constexpr std::int64_t kRow = kDepth + 16;  // words between rows: no column falls on one set of the cache
  static std::int64_t room_size(std::int64_t) { return kGroup * kRow + kRows * kColumns; }

  // Words [k, k + deep) of rows [first, last) of A: by rows, or where A lies turned by tiles of kRows, [deep, kRows] each.
  static void copy(const Bfloat16Matrix& a, std::int64_t depth, std::int64_t k, std::int64_t deep, std::int64_t first,
                   std::int64_t last, float* room) {
    if (!a.turned) {
      pair_along(a.data + first * a.row + 2 * k, a.row, last - first, least(2 * deep, depth - 2 * k), room, kRow,
                 round_up(deep, 16));
      return;
    }
    for (std::int64_t i = first; i < last; i += kRows, room += deep * kRows) {
      const std::int64_t wide = least(kRows, last - i);
      const auto mask = static_cast<__mmask16>((1 << wide) - 1);
      for (std::int64_t w = 0; w < deep; ++w) {
        const std::uint16_t* at = a.data + 2 * (k + w) * a.row + i;
        const __m512i odd = 2 * (k + w) + 1 < depth ? numbers(at + a.row, wide) : _mm512_setzero_si512();
        _mm512_mask_storeu_epi32(room + w * kRows, mask, interleaved(numbers(at, wide), odd).low);
      }
    }
  }

  static void multiply(const Bfloat16Matrix& a, const float* packed, std::int64_t depth, std::int64_t columns,
                       std::int64_t first, std::int64_t last, float* c, float* room) {
    const std::int64_t words = words_of(depth), chunks = (words + kDepth - 1) / kDepth;
    for (std::int64_t i = first; i < last; i += kGroup) {
      const std::int64_t end = least(i + kGroup, last);
      for (std::int64_t n = 0; n < chunks; ++n) {
        const std::int64_t k = words * n / chunks, deep = words * (n + 1) / chunks - k;
        copy(a, depth, k, deep, i, end, room);
        for (std::int64_t j = 0; j < columns; j += kColumns)
          column(a.turned, room, packed + j * words + k * kColumns, deep, end - i, c + i * columns + j, columns,
                 columns - j, n > 0, room + kGroup * kRow);
      }
    }
  }

  // A panel of C, of which `wide` columns exist.
  static void column(bool turned, const float* a, const float* b, std::int64_t deep, std::int64_t rows, float* c,
                     std::int64_t c_row, std::int64_t wide, bool add, float* spare) {
    const bool two = wide > kLanes<float>;
    const std::int64_t vectors = two ? kColumns : kLanes<float>;
    for (std::int64_t i = 0; i < rows; i += kRows) {
      const std::int64_t some = least(kRows, rows - i);
      const Tile tile = tile_function<float, true>(static_cast<int>(some), two, turned);
      const float* left = a + i * (turned ? deep : kRow);
      if (wide >= vectors) {
        tile(deep, left, turned ? kRows : kRow, b, kColumns, c + i * c_row, c_row, 1, add);
        continue;
      }
      tile(deep, left, turned ? kRows : kRow, b, kColumns, spare, kColumns, 1, false);
      for (std::int64_t r = 0; r < some; ++r) {
        float* const to = c + (i + r) * c_row;
        for (std::int64_t j = 0; j < wide; ++j) to[j] = spare[r * kColumns + j] + (add ? to[j] : 0);
      }
    }
  }

  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

}  // namespace locus::cpu::LOCUS_CPU_TARGET
