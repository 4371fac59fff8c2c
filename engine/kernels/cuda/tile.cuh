// Tiles of tokens in shared memory. Include a device first.
#pragma once

#include "engine/kernels/cuda/algebra.cuh"
#include "engine/kernels/cuda/plan.h"

namespace locus::gpu {

template <class M, int kWidth>
struct Tile {
  using Element = typename M::Element;
  static constexpr int kStride = kWidth + M::kPad;
  static constexpr int bytes(int rows) { return rows * kStride * static_cast<int>(sizeof(Element)); }
  LOCUS_DEVICE static Shared<Element> in(int at, int rows) { return shared<Element>(at, rows * kStride); }

  // Asks for tokens first .. first + count of a head; zeros past the last token and past the last number.
  template <int kCount>
  LOCUS_DEVICE static void ask(Shared<Element> tile, const locus_rows& from, const locus_attention& p, Place place,
                               int first) {
    constexpr int kVector = 16 / static_cast<int>(sizeof(Element)), kVectors = kWidth / kVector;
    const auto* base = static_cast<const Element*>(from.data) + place.sample * from.batch + place.head * from.head;
    LOCUS_UNROLL for (int v = 0; v < kCount * kVectors; v += kThreads) {
      const int at = v + thread();
      if (kCount * kVectors % kThreads != 0 && at >= kCount * kVectors) break;
      const int row = at / kVectors, column = at % kVectors * kVector;
      const bool valid = first + row < p.tokens && column < p.width;
      const int token = valid ? first + row : 0;
      cp_async(tile + (row * kStride + column), base + token * from.token + (valid ? column : 0), valid);
    }
  }
};

// What a thread of a warp holds of a tile: rows g and g + 8 of the warp's 16.
LOCUS_DEVICE int first_row() { return warp() * 16 + lane() / 4; }

// The pairs of own tokens from `own` on with the 16 others from `other` on.
template <bool kKeysOwn>
LOCUS_DEVICE Pairs<kKeysOwn> pairs_of(int own, int other, int tokens) {
  Pairs<kKeysOwn> pairs;
  LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
    const int row = own + first_row() + 8 * r;
    pairs.own[r] = row < tokens ? row : tokens - 1;
  }
  LOCUS_UNROLL for (int x = 0; x < 4; ++x) {
    const int column = other + x / 2 * 8 + lane() % 4 * 2 + x % 2;
    pairs.other[x] = column < tokens ? column : tokens - 1;
  }
  return pairs;
}
// Whether pair (n, e) of them is of two tokens that exist.
LOCUS_DEVICE bool exists(int own, int other, int tokens, int n, int e) {
  return own + first_row() + e / 2 * 8 < tokens && other + n * 8 + lane() % 4 * 2 + e % 2 < tokens;
}

LOCUS_DEVICE float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}
LOCUS_DEVICE float quad_most(float x) {
  x = larger(x, shuffle_xor(x, 1));
  return larger(x, shuffle_xor(x, 2));
}

LOCUS_DEVICE std::int64_t row_of(const locus_attention& p, Place place, int token) {
  return (static_cast<std::int64_t>(place.sample) * p.heads + place.head) * p.tokens + token;
}

// Rounds and writes numbers of the thread's two rows: c[n][e] times the row's factor, 16 columns from `column` on.
template <typename Element>
LOCUS_DEVICE void write(const locus_rows& to, const locus_attention& p, Place place, int own, int column,
                        const Chunk& c, float factor0, float factor1) {
  auto* base = static_cast<Element*>(to.data) + place.sample * to.batch + place.head * to.head;
  LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
    const int x = column + n * 8 + lane() % 4 * 2;
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
      const int token = own + first_row() + 8 * r;
      const float factor = r == 0 ? factor0 : factor1;
      if (token < p.tokens && x < p.width)
        store2(base + token * to.token + x, c[n][2 * r] * factor, c[n][2 * r + 1] * factor);
    }
  }
}

// Goes over the tiles of a pass, the first of which is asked for: Pass::step() for each kBlock columns that hold tokens. Where
// two stages fit the next tile is on its way meanwhile.
template <class Pass>
LOCUS_DEVICE void each_tile(const locus_attention& p, Place place, int own, typename Pass::State& state) {
  const int tiles = (p.tokens + Pass::kColumns - 1) / Pass::kColumns;
  LOCUS_NO_UNROLL for (int tile = 0; tile < tiles; ++tile) {
    if (Pass::kStages == 2 && tile + 1 < tiles) {
      Pass::ask(p, place, tile + 1);
      cp_async_wait<Pass::kStages - 1>();  // groups that are under way while one is used
    } else {
      cp_async_wait<0>();
    }
    sync_block();
    const int left = p.tokens - tile * Pass::kColumns, columns = left < Pass::kColumns ? left : Pass::kColumns;
    LOCUS_NO_UNROLL for (int column = 0; column < columns; column += Pass::kBlock)
      Pass::step(p, place, own, tile, column, state);
    sync_block();  // before the stage is written again
    if (Pass::kStages == 1 && tile + 1 < tiles) Pass::ask(p, place, tile + 1);
  }
}

}  // namespace locus::gpu
