// Sums of outer products of rows, which gradients of weights are: a chunk of rows at a time, B copied to panels of kPanel
// columns, A to tiles that lie together; both in words of two numbers of neighboring rows (pairs.h) or widened, but where there
// are few panels to read it A of float32 stays where it is.
#pragma once

#include "engine/cpu/matrix_body.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

template <typename Number, bool kPairs>
class OuterSums {
 public:
  using Real = float;

  static std::int64_t room_size(std::int64_t columns) {
    return kMost * (panels(columns) * kColumns + kGroup * kTile) + kRows * kColumns + kColumns;
  }

  static void sum(const Number* a, std::int64_t a_row, const Number* b, std::int64_t columns, std::int64_t first_row,
                  std::int64_t last_row, std::int64_t first, std::int64_t last, Real* c, Real* room) {
    const Tiles tiles{first_row, last_row - first_row, (last_row - first_row + kRows - 1) / kRows};
    Real *const panel = room, *const copied = panel + panels(columns) * kColumns * kMost,
                *const spare = copied + kGroup * kTile * kMost;
    for (std::int64_t t = first; t < last; t += kDeep) {
      const std::int64_t deep = last - t < kDeep ? last - t : kDeep, counted = kPairs ? words_of(deep) : deep;
      copy_panels(b + t * columns, columns, deep, panel);
      const Number* const rows = a + t * a_row;
      for (std::int64_t from = 0; from < tiles.count; from += kGroup) {
        const std::int64_t to = tiles.count - from < kGroup ? tiles.count : from + kGroup;
        const bool in_place = sizeof(Number) == sizeof(Real) && columns <= kFewColumns;
        if (!in_place) copy_tiles(rows, a_row, deep, tiles, from, to, copied);
        for (std::int64_t n = from; n < to; ++n) {
          const std::int64_t i = tiles.row(n), some = tiles.row(n + 1) - i;
          Left<Real> left{copied + (n - from) * counted * kTile, kTile, true};
          if constexpr (sizeof(Number) == sizeof(Real)) {
            if (in_place) left = {rows + i, a_row, true};
          }
          multiply_rows<kPairs>(some, columns, counted, left, {panel, kColumns, kColumns * counted},
                                c + (i - first_row) * columns, t > first, spare);
        }
      }
    }
  }

 private:
  static constexpr bool kByTiles = kPairs && kTileProducts;
  static constexpr std::int64_t kWide = kLanes<Real>, kColumns = kPanel<Real>, kRows = kByTiles ? 16 : kTileRows;
  // Rows of a chunk: a panel of B, or a tile of A, is in the first cache.
  static constexpr std::int64_t kDeep = kByTiles ? 512 : 256;
  static constexpr std::int64_t kMost = kPairs ? words_of(kDeep) : kDeep;     // of what is counted along the depth
  static constexpr std::int64_t kTile = (kRows + kWide - 1) / kWide * kWide;  // numbers of a row of a copied tile
  static constexpr std::int64_t kGroup = 16;                                  // tiles that are copied at a time
  static constexpr std::int64_t kFewColumns = 4 * kColumns;
  static constexpr std::int64_t kAhead = 4;  // rows of A that are fetched before they are copied

  static std::int64_t panels(std::int64_t columns) { return (columns + kColumns - 1) / kColumns; }

  static void copy_panels(const Number* b, std::int64_t columns, std::int64_t deep, Real* to) {
    if constexpr (kPairs) {
      pair_panels(b, columns, deep, columns, to);
    } else {
      for (std::int64_t t = 0; t < deep; ++t, b += columns) {
        for (std::int64_t j = 0; j < columns; j += kWide) {
          Real* const panel = to + j / kColumns * kColumns * deep + t * kColumns;
          store<Real>(panel + j % kColumns, existing(b + j, columns - j));
        }
      }
    }
  }

  struct Tiles {
    std::int64_t first, rows, count;  // columns of A that are rows of C
    std::int64_t row(std::int64_t n) const { return first + rows * n / count; }
  };

  static void copy_tiles(const Number* a, std::int64_t a_row, std::int64_t deep, const Tiles& tiles, std::int64_t from,
                         std::int64_t to, Real* room) {
    constexpr std::int64_t kStep = kPairs ? 2 : 1;
    const std::int64_t counted = kPairs ? words_of(deep) : deep;
    for (std::int64_t t = 0; t < deep; t += kStep, a += kStep * a_row) {
      for (std::int64_t n = from; n < to; ++n) {
        const std::int64_t i = tiles.row(n);
        Real* const tile = room + ((n - from) * counted + t / kStep) * kTile;
        __builtin_prefetch(a + kAhead * kStep * a_row + i);
        if constexpr (kPairs) {
          pair_of_rows(a + i, t + 1 < deep ? a_row : 0, a_row - i < kTile ? a_row - i : kTile, tile);
        } else {
          for (std::int64_t r = 0; r < kTile; r += kWide) store<Real>(tile + r, existing(a + i + r, a_row - i - r));
        }
      }
    }
  }
};

// All products of matrices of one type.
template <typename Number>
constexpr Products<Number> products_of() {
  constexpr bool kPairs = kPairProducts && sizeof(Number) == 2;
  using M = Matrices<Number, kPairs>;
  using O = OuterSums<Number, kPairs>;
  return {M::packed_size, M::panels, M::pack, M::room_size, M::multiply, O::room_size, O::sum};
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
