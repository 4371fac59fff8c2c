// Backward to q, k and v and to what forms know of tokens. Include a device first.
//
// One kernel, used twice: the block owns 64 queries and passes over the keys (dq), or owns 64 keys and passes over
// the queries (dk and dv; one after the other where both do not fit beside all forms). Each computes the logits anew
// from lse: nothing is rescaled, so 16 columns at a time are enough, and no two blocks add to one number.
#pragma once

#include "engine/kernels/cuda/gather.cuh"

namespace locus::gpu {

// delta_i = dO_i . O_i, from what forward returned, rounding included: eight lanes a row.
template <typename Element>
struct Delta {
  static constexpr int kSharedBytes = 0, kRowsOfBlock = kThreads / 8;
  // Blocks: x groups of 16 queries, y heads, z samples.
  LOCUS_DEVICE static void run(const locus_attention& p) {
    const Place place{block_z(), block_y()};
    const int token = block_x() * kRowsOfBlock + thread() / 8;
    const bool inside = token < p.tokens;
    const auto row = [&](const locus_rows& rows) {
      return static_cast<const Element*>(rows.data) + place.sample * rows.batch + place.head * rows.head +
             (inside ? token : 0) * rows.token;
    };
    const Element *o = row(p.o), *d = row(p.o_gradient);
    float sum = 0;
    for (int x = thread() % 8; x < p.width; x += 8) sum += to_float(o[x]) * to_float(d[x]);
    sum += shuffle_xor(sum, 1);
    sum += shuffle_xor(sum, 2);
    sum += shuffle_xor(sum, 4);
    if (inside && thread() % 8 == 0) p.delta[row_of(p, place, token)] = sum;
  }
};

// P and the gradient of the logits for 16 x 16 pairs, from products with k and with v.
struct Probabilities {
  Algebra x;
  Chunk p, reach;             // P; P (dO v'), the gradient of a weight
  Chunk weighted;             // P times its weights
  Chunk d_logits, d_content;  // of L, and of q k'
};

template <Set kSet, bool kKeysOwn>
LOCUS_DEVICE void differentiate(const locus_attention& p, Place place, const Pairs<kKeysOwn>& pairs, int own, int other,
                                const Chunk& content, const Chunk& reach, Probabilities& out) {
  evaluate<kSet>(p, place, pairs, content, out.x);
  const std::int64_t row = row_of(p, place, 0);
  each_pair(pairs, [&](int n, int e, int i, int) {
    const float lse = load(p.lse + row + i), delta = load(p.delta + row + i);
    // A query that sees no key has lse -infinity.
    const bool seen = exists(own, other, p.tokens, n, e) && lse > -kInfinity;
    const float probability = seen ? exp2((out.x.logits[n][e] - lse) * kLog2E) : 0;
    out.p[n][e] = probability;
    out.reach[n][e] = probability * reach[n][e];
    out.weighted[n][e] = probability * out.x.weight[n][e];
    out.d_logits[n][e] = out.weighted[n][e] * reach[n][e] - probability * delta;
    if (!seen) out.d_logits[n][e] = 0;
    out.d_content[n][e] = out.d_logits[n][e] * out.x.sum_scale[n][e] * out.x.scale[n][e] * p.scale;
  });
}

// What a pass sums for its own tokens.
enum class Sums { kQuery, kKeyAndValue, kKey, kValue };

template <class M, int kWidth, Set kSet, Sums kSums>
struct Backward {
  static constexpr bool kKeysOwn = kSums != Sums::kQuery;
  static constexpr bool kFirst = kSums != Sums::kValue, kSecond = kSums == Sums::kKeyAndValue || kSums == Sums::kValue;
  static constexpr bool kGathers = kSet == Set::kGeneral && kFirst;
  using Tiles = Tile<M, kWidth>;
  using Element = typename M::Element;
  static constexpr int kSlotBytes = kGathers ? Slots::kBytes : 0;
  static constexpr int bytes(int columns, int stages) {
    return kSlotBytes + 2 * Tiles::bytes(kRows) + 2 * stages * Tiles::bytes(columns);
  }
  // Where 32 would only just fit, registers do not last for them either.
  static constexpr int kColumns = bytes(32, 1) <= kSharedMost - 1024 ? 32 : 16;
  static constexpr int kStages = bytes(kColumns, 2) <= kSharedMost ? 2 : 1;
  static constexpr int kSharedBytes = bytes(kColumns, kStages);
  static_assert(kSharedBytes <= kSharedMost);
  static constexpr int kDepth = kWidth / 16, kBlock = 16;
  // Wider operands do not fit beside two sums of gradients, nor do any beside all forms.
  static constexpr bool kHeld = M::kHeld && kWidth <= 64 && kSet != Set::kGeneral;
  static constexpr int kOwnBytes = Tiles::bytes(kRows), kOtherBytes = Tiles::bytes(kColumns);
  static constexpr int kOwn = kSlotBytes, kOther = kOwn + 2 * kOwnBytes;

  struct State {
    typename M::A first[kHeld ? kDepth : 1], second[kHeld ? kDepth : 1];
    Chunk d_first[kFirst ? kDepth : 1], d_second[kSecond ? kDepth : 1];  // of q or k, of v
  };

  // The own tokens' operands are q and dO, or k and v; the others' the other two.
  LOCUS_DEVICE static Shared<Element> own_tile(int which) { return Tiles::in(kOwn + which * kOwnBytes, kRows); }
  LOCUS_DEVICE static Shared<Element> other_tile(int stage, int which) {
    return Tiles::in(kOther + (2 * stage + which) * kOtherBytes, kColumns);
  }
  LOCUS_DEVICE static void ask(const locus_attention& p, Place place, int tile) {
    Tiles::template ask<kColumns>(other_tile(tile % kStages, 0), kKeysOwn ? p.q : p.k, p, place, tile * kColumns);
    Tiles::template ask<kColumns>(other_tile(tile % kStages, 1), kKeysOwn ? p.o_gradient : p.v, p, place,
                                  tile * kColumns);
    cp_async_commit();
  }

  LOCUS_DEVICE static void gather_terms(const locus_attention& p, Place place, int own, int other,
                                        const Pairs<kKeysOwn>& pairs, const Probabilities& x) {
    Slots slots(0);
    int slot = 0;
    LOCUS_NO_UNROLL for (int m = 0; m < p.terms; ++m) {
      const locus_term& t = p.term[m];
      if (!gathers(t, kKeysOwn)) continue;
      Chunk d;
      term_gradient<kSet>(p, m, place, pairs, x.x, x.d_logits, x.reach, d);
      gather<kKeysOwn>(t, p, place, own, other, afresh(pairs), d, slots, slot);
      if (sums_gradient(t, kKeysOwn) != nullptr) slot += sums_of(t, kKeysOwn);
    }
  }

  // Both products of own tokens with 16 others.
  LOCUS_DEVICE static void multiply(const State& state, Shared<Element> first, Shared<Element> second, int column,
                                    Chunk& content, Chunk& reach) {
    if constexpr (kHeld) {
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
        M::rows(content, state.first[d], first, Tiles::kStride, column, d * 16);
        M::rows(reach, state.second[d], second, Tiles::kStride, column, d * 16);
      }
    } else {
      LOCUS_NO_UNROLL for (int d = 0; d < kDepth; ++d) {
        typename M::A a;
        M::load(a, own_tile(0), Tiles::kStride, warp() * 16, d * 16);
        M::rows(content, a, first, Tiles::kStride, column, d * 16);
        if constexpr (kFirst) {  // P alone asks for no gradient of the logits
          M::load(a, own_tile(1), Tiles::kStride, warp() * 16, d * 16);
          M::rows(reach, a, second, Tiles::kStride, column, d * 16);
        }
      }
    }
  }

  LOCUS_DEVICE static void step(const locus_attention& p, Place place, int own, int tile, int column, State& state) {
    const Shared<Element> first = other_tile(tile % kStages, 0), second = other_tile(tile % kStages, 1);
    Chunk content, reach;
    clear(content);
    clear(reach);
    multiply(state, first, second, column, content, reach);
    const int other = tile * kColumns + column;
    const auto pairs = pairs_of<kKeysOwn>(own, other, p.tokens);
    Probabilities x;
    differentiate<kSet, kKeysOwn>(p, place, pairs, own, other, content, reach, x);
    typename M::A operand;
    if constexpr (kSecond) {
      M::from(operand, x.weighted);
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d)
        M::columns(state.d_second[d], operand, second, Tiles::kStride, column, d * 16);
    }
    if constexpr (kFirst) {
      M::from(operand, x.d_content);
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d)
        M::columns(state.d_first[d], operand, first, Tiles::kStride, column, d * 16);
    }
    if constexpr (kGathers) gather_terms(p, place, own, other, pairs, x);
  }

  LOCUS_DEVICE static void start(const locus_attention& p, Place place, int own, State& state) {
    Tiles::template ask<kRows>(own_tile(0), kKeysOwn ? p.k : p.q, p, place, own);
    Tiles::template ask<kRows>(own_tile(1), kKeysOwn ? p.v : p.o_gradient, p, place, own);
    cp_async_commit();
    ask(p, place, 0);
    LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
      if constexpr (kFirst) clear(state.d_first[d]);
      if constexpr (kSecond) clear(state.d_second[d]);
    }
    if constexpr (kGathers) {
      Slots(0).clear();
      clear_rows(p, place, own, kKeysOwn);
    }
    cp_async_wait<1>();
    sync_block();
    if constexpr (kHeld) {
      LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
        M::load(state.first[d], own_tile(0), Tiles::kStride, warp() * 16, d * 16);
        M::load(state.second[d], own_tile(1), Tiles::kStride, warp() * 16, d * 16);
      }
    }
  }

  // Blocks: x tiles of own tokens, y heads, z samples.
  LOCUS_DEVICE static void run(const locus_attention& p) {
    const Place place{block_z(), block_y()};
    const int own = block_x() * kRows;
    State state;
    start(p, place, own, state);
    each_tile<Backward>(p, place, own, state);
    LOCUS_UNROLL for (int d = 0; d < kDepth; ++d) {
      if constexpr (kFirst)
        write<Element>(kKeysOwn ? p.k_gradient : p.q_gradient, p, place, own, d * 16, state.d_first[d], 1, 1);
      if constexpr (kSecond) write<Element>(p.v_gradient, p, place, own, d * 16, state.d_second[d], 1, 1);
    }
    if constexpr (kGathers) write_slots(p, place, own, kKeysOwn, Slots(0));
  }
};

}  // namespace locus::gpu
