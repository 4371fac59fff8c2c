// Forward: a block has 64 queries of a head and passes over its keys with a running maximum and sum (online softmax).
// Include a device first.
#pragma once

#include "engine/kernels/cuda/tile.cuh"

namespace locus::gpu {

template <class M, int kWidth, Set kSet>
struct Forward {
  using Tiles = Tile<M, kWidth>;
  using Element = typename M::Element;
  static constexpr int kColumns = sizeof(Element) == 2 ? 64 : 32, kDepth = kWidth / 16;
  // Blocks of 16 columns between two looks at the maximum; the code of all forms is there once.
  static constexpr int kStep = kSet == Set::kGeneral ? 1 : kColumns / 16, kBlock = 16 * kStep;
  // The widest operands of 32 bits do not fit beside all forms.
  static constexpr bool kHeld = M::kHeld && (sizeof(Element) == 2 || kWidth <= 64 || kSet != Set::kGeneral);
  static constexpr int kOwn = Tiles::bytes(kRows), kOther = Tiles::bytes(kColumns);
  static constexpr int kStages = kOwn + 4 * kOther <= kSharedMost ? 2 : 1;
  static constexpr int kSharedBytes = kOwn + 2 * kStages * kOther;
  static_assert(kSharedBytes <= kSharedMost);

  struct State {
    typename M::A q[kHeld ? kDepth : 1];
    Chunk o[kDepth];
    float most[2], sum[2];  // of two rows; sums are of the quad's share of the columns until the end
  };

  LOCUS_DEVICE static Shared<Element> keys(int stage) { return Tiles::in(kOwn + 2 * stage * kOther, kColumns); }
  LOCUS_DEVICE static Shared<Element> values_of(int stage) {
    return Tiles::in(kOwn + (2 * stage + 1) * kOther, kColumns);
  }

  LOCUS_DEVICE static void ask(const locus_attention& p, Place place, int tile) {
    const int stage = tile % kStages;
    Tiles::template ask<kColumns>(keys(stage), p.k, p, place, tile * kColumns);
    Tiles::template ask<kColumns>(values_of(stage), p.v, p, place, tile * kColumns);
    cp_async_commit();
  }

  // Logits in units of log 2 of 16 columns, and the weights of P where there are any.
  LOCUS_DEVICE static void logits(const locus_attention& p, Place place, int own, int other, Chunk& s, Chunk& weight) {
    const auto pairs = pairs_of<false>(own, other, p.tokens);
    if constexpr (kSet == Set::kNone) {
      each_pair(pairs, [&](int n, int e, int, int) { s[n][e] *= p.scale * kLog2E; });
    } else {
      Algebra x;
      evaluate<kSet>(p, place, pairs, s, x);
      each_pair(pairs, [&](int n, int e, int, int) {
        s[n][e] = x.logits[n][e] * kLog2E;
        if constexpr (kSet == Set::kGeneral) weight[n][e] = x.weight[n][e];
      });
    }
    if (other + 16 > p.tokens) {
      LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
        LOCUS_UNROLL for (int e = 0; e < 4; ++e) {
          if (other + n * 8 + lane() % 4 * 2 + e % 2 >= p.tokens) s[n][e] = -kInfinity;
        }
      }
    }
  }

  // Takes the maxima of the columns in: earlier sums shrink by 2^(before - now).
  LOCUS_DEVICE static void raise(State& state, const Chunk (&s)[kStep], float (&base)[2]) {
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
      float most = state.most[r];
      LOCUS_UNROLL for (int c = 0; c < kStep; ++c) {
        LOCUS_UNROLL for (int n = 0; n < 2; ++n) most = larger(most, larger(s[c][n][2 * r], s[c][n][2 * r + 1]));
      }
      most = quad_most(most);
      base[r] = most == -kInfinity ? 0 : most;  // nothing seen yet: infinity minus infinity is no number
      const float factor = exp2(state.most[r] - base[r]);
      state.most[r] = most;
      state.sum[r] *= factor;
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
        LOCUS_UNROLL for (int n = 0; n < 2; ++n) state.o[d][n][2 * r] *= factor, state.o[d][n][2 * r + 1] *= factor;
      }
    }
  }

  // The columns of a tile from `column` on, kBlock of them.
  LOCUS_DEVICE static void step(const locus_attention& p, Place place, int own, int tile, int column, State& state) {
    const Shared<Element> k = keys(tile % kStages), v = values_of(tile % kStages);
    Chunk s[kStep], weight;
    LOCUS_UNROLL for (int c = 0; c < kStep; ++c) clear(s[c]);
    if constexpr (kHeld) {
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
        LOCUS_UNROLL for (int c = 0; c < kStep; ++c)
          M::rows(s[c], state.q[d], k, Tiles::kStride, column + c * 16, d * 16);
      }
    } else {
      LOCUS_NO_UNROLL for (int d = 0; d < kDepth; ++d) {
        typename M::A q;
        M::load(q, Tiles::in(0, kRows), Tiles::kStride, warp() * 16, d * 16);
        LOCUS_UNROLL for (int c = 0; c < kStep; ++c) M::rows(s[c], q, k, Tiles::kStride, column + c * 16, d * 16);
      }
    }
    LOCUS_UNROLL for (int c = 0; c < kStep; ++c) logits(p, place, own, tile * kColumns + column + c * 16, s[c], weight);
    float base[2];
    raise(state, s, base);
    LOCUS_UNROLL for (int c = 0; c < kStep; ++c) {
      LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
        LOCUS_UNROLL for (int e = 0; e < 4; ++e) {
          s[c][n][e] = exp2(s[c][n][e] - base[e / 2]);
          state.sum[e / 2] += s[c][n][e];
          if constexpr (kSet == Set::kGeneral) s[c][n][e] *= weight[n][e];  // not of the sum
        }
      }
      typename M::A probabilities;
      M::from(probabilities, s[c]);
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d)
        M::columns(state.o[d], probabilities, v, Tiles::kStride, column + c * 16, d * 16);
    }
  }

  LOCUS_DEVICE static void finish(const locus_attention& p, Place place, int own, State& state) {
    float factor[2];
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
      const float sum = quad_sum(state.sum[r]);
      factor[r] = sum > 0 ? 1 / sum : 0;
      const int token = own + first_row() + 8 * r;
      if (lane() % 4 == 0 && token < p.tokens)
        p.lse[row_of(p, place, token)] = sum > 0 ? (state.most[r] + log2(sum)) / kLog2E : -kInfinity;
    }
    LOCUS_UNROLL for (int d = 0; d < kDepth; ++d)
      write<Element>(p.o, p, place, own, d * 16, state.o[d], factor[0], factor[1]);
  }

  // Blocks: x tiles of queries, y heads, z samples.
  LOCUS_DEVICE static void run(const locus_attention& p) {
    const Place place{block_z(), block_y()};
    const int own = block_x() * kRows;
    State state;
    Tiles::template ask<kRows>(Tiles::in(0, kRows), p.q, p, place, own);
    cp_async_commit();
    ask(p, place, 0);
    cp_async_wait<1>();
    sync_block();
    if constexpr (kHeld) {
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d)
        M::load(state.q[d], Tiles::in(0, kRows), Tiles::kStride, warp() * 16, d * 16);
    }
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) state.most[r] = -kInfinity, state.sum[r] = 0;
    LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) clear(state.o[d]);
    each_tile<Forward>(p, place, own, state);
    finish(p, place, own, state);
  }
};

}  // namespace locus::gpu
