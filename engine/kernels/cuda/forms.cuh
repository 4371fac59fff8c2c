// What every form says of pairs of tokens: its values in a block of 16 x 16. Include a device first.
#pragma once

#include "engine/kernels/attention_abi.h"
#include "engine/kernels/cuda/products.cuh"

namespace locus::gpu {

constexpr float kLog2E = 1.4426950408889634f;

// The pairs whose numbers a thread holds: two of the block's own tokens with four others. The own ones are queries,
// or keys where `kKeysOwn`. Tokens past the last are the last one; who sums masks them.
template <bool kKeysOwn>
struct Pairs {
  int own[2], other[4];
  LOCUS_DEVICE int i(int n, int e) const { return kKeysOwn ? other[2 * n + e % 2] : own[e / 2]; }
  LOCUS_DEVICE int j(int n, int e) const { return kKeysOwn ? own[e / 2] : other[2 * n + e % 2]; }
};

// The same pairs, whose offsets the compiler must not work out for all forms in front of a loop over terms: there are
// more of them than registers.
template <class P>
LOCUS_DEVICE P afresh(P pairs) {
  LOCUS_UNROLL for (int r = 0; r < 2; ++r) forget(pairs.own[r]);
  LOCUS_UNROLL for (int x = 0; x < 4; ++x) forget(pairs.other[x]);
  return pairs;
}

// The sample and the head that a block works on.
struct Place {
  int sample, head;
};

LOCUS_DEVICE const float* at(const locus_values& v, Place place) {
  return v.data + place.sample * v.batch + place.head * v.head;
}

LOCUS_DEVICE int entry(const locus_term& t, int tokens, int i, int j) {
  const locus_pair_index& x = t.index;
  if (x.dense != nullptr) return static_cast<int>(load(x.dense + static_cast<std::int64_t>(i) * tokens + j));
  if (i >= t.prefix && j >= t.prefix) {
    const int found = load(x.code + i - t.prefix) - load(x.code + j - t.prefix) + x.shift;
    return x.map != nullptr ? load(x.map + found) : found;
  }
  if (i < t.prefix && j < t.prefix) return x.among_prefix;
  return i < t.prefix ? x.from_prefix : x.to_prefix;
}

// position_j - position_i along an axis, of patches; 0 where one is of the prefix.
LOCUS_DEVICE float offset(const float* positions, int axes, int prefix, int axis, int i, int j) {
  if (i < prefix || j < prefix) return 0;
  return load(positions + (j - prefix) * axes + axis) - load(positions + (i - prefix) * axes + axis);
}
LOCUS_DEVICE float distance(const float* positions, int axes, int prefix, int i, int j) {
  float sum = 0;
  LOCUS_NO_UNROLL for (int axis = 0; axis < axes; ++axis) {
    const float d = offset(positions, axes, prefix, axis, i, j);
    sum += d * d;
  }
  return square_root(sum);
}
LOCUS_DEVICE float blocks_apart(const float* positions, int axes, int prefix, int i, int j) {
  float sum = 0;
  LOCUS_NO_UNROLL for (int axis = 0; axis < axes; ++axis) sum += magnitude(offset(positions, axes, prefix, axis, i, j));
  return sum;
}

// Runs body(n, e, i, j) for the eight pairs of a thread.
template <bool kKeysOwn, typename Body>
LOCUS_DEVICE void each_pair(const Pairs<kKeysOwn>& pairs, const Body& body) {
  LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) body(n, e, pairs.i(n, e), pairs.j(n, e));
  }
}

// |rank_i - rank_j| along a curve, 0 with a token of the prefix.
LOCUS_DEVICE float ranks_apart(const std::int32_t* rank, int prefix, int i, int j) {
  if (i < prefix || j < prefix) return 0;
  return magnitude(static_cast<float>(load(rank + i - prefix) - load(rank + j - prefix)));
}

template <class P>
LOCUS_DEVICE void low_rank_values(const locus_term& t, Place place, const P& pairs, Chunk& out) {
  const float *a = at(t.a, place), *b = at(t.b, place);
  clear(out);
  if (t.c.data != nullptr) {
    const float* c = at(t.c, place);
    each_pair(pairs, [&](int n, int e, int i, int) { out[n][e] = load(c + i); });
  }
  LOCUS_NO_UNROLL for (int f = 0; f < t.count; ++f) {
    each_pair(pairs, [&](int n, int e, int i, int j) {
      out[n][e] +=
          load(a + static_cast<std::int64_t>(i) * t.count + f) * load(b + static_cast<std::int64_t>(j) * t.count + f);
    });
  }
}

template <class P>
LOCUS_DEVICE void quadratic_values(const locus_term& t, Place place, const P& pairs, Chunk& out) {
  const int axes = t.count, numbers = axes * (axes + 1) / 2 + axes;
  const float *a = at(t.a, place), *positions = at(t.b, place);
  clear(out);
  int which = 0;
  const auto add = [&](int x, int y) {  // the product of two axes, or one axis where y is -1
    each_pair(pairs, [&](int n, int e, int i, int j) {
      const float number = i < t.prefix ? 0 : load(a + static_cast<std::int64_t>(i - t.prefix) * numbers + which);
      const float d = offset(positions, axes, t.prefix, x, i, j);
      out[n][e] += number * (y < 0 ? d : d * offset(positions, axes, t.prefix, y, i, j));
    });
    ++which;
  };
  LOCUS_NO_UNROLL for (int x = 0; x < axes; ++x) {
    LOCUS_NO_UNROLL for (int y = x; y < axes; ++y) add(x, y);
  }
  LOCUS_NO_UNROLL for (int x = 0; x < axes; ++x) add(x, -1);
}

template <class P>
LOCUS_DEVICE void curve_values(const locus_term& t, int tokens, int heads, Place place, const P& pairs, Chunk& out) {
  const float *alpha = at(t.a, place), *rates = at(t.b, place);
  const int patches = tokens - t.prefix;
  clear(out);
  LOCUS_NO_UNROLL for (int c = 0; c < t.count; ++c) {
    const std::int32_t* rank = t.index.code + static_cast<std::int64_t>(c) * patches;
    const float rate = -kLog2E * load(rates + static_cast<std::int64_t>(c) * heads);
    each_pair(pairs, [&](int n, int e, int i, int j) { out[n][e] += exp2(rate * ranks_apart(rank, t.prefix, i, j)); });
  }
  const float factor = load(alpha) / static_cast<float>(t.count);
  each_pair(pairs, [&](int n, int e, int, int) { out[n][e] = t.plus + factor * out[n][e]; });
}

template <class P>
LOCUS_DEVICE void gated_values(const locus_term& t, Place place, const P& pairs, Chunk& out) {
  const float *gate = at(t.a, place), *positions = at(t.b, place);
  each_pair(pairs, [&](int n, int e, int i, int j) {
    const float apart = blocks_apart(positions, t.count, t.prefix, i, j);
    out[n][e] = i < t.prefix || j < t.prefix ? 0 : (load(gate + i - t.prefix) + load(gate + j - t.prefix)) * apart;
  });
}

template <class P>
LOCUS_DEVICE void scan_values(const locus_term& t, Place place, const P& pairs, Chunk& out) {
  const float* s = at(t.a, place);
  each_pair(pairs, [&](int n, int e, int i, int j) {
    const bool patches = i >= t.prefix && j >= t.prefix;
    out[n][e] = patches ? -magnitude(load(s + i - t.prefix) - load(s + j - t.prefix)) : 0;
    if (patches && t.causal && j > i) out[n][e] = -kInfinity;
  });
}

// Kinds of terms that kernels are compiled for: nothing, one table or dense bias, one curve decay as a scale, anything.
enum class Set { kNone, kTable, kCurves, kGeneral };

// The term's values for the pairs, in its own units.
template <Set kSet, class P>
LOCUS_DEVICE void values(const locus_term& t, const locus_attention& p, Place place, const P& pairs, Chunk& out) {
  if constexpr (kSet == Set::kCurves) {
    curve_values(t, p.tokens, p.heads, place, pairs, out);
    return;
  }
  const std::int64_t tokens = p.tokens;
  if (t.form == LOCUS_RELATIVE_TABLE) {
    const float* table = at(t.a, place);
    each_pair(pairs, [&](int n, int e, int i, int j) { out[n][e] = load(table + entry(t, p.tokens, i, j)); });
    return;
  }
  if (kSet == Set::kTable || t.form == LOCUS_DENSE) {
    const float* dense = at(t.a, place);
    each_pair(pairs, [&](int n, int e, int i, int j) { out[n][e] = load(dense + i * tokens + j); });
    return;
  }
  if constexpr (kSet == Set::kGeneral) {
    switch (t.form) {
      case LOCUS_LOW_RANK:
        return low_rank_values(t, place, pairs, out);
      case LOCUS_BUCKETED: {
        const float* rows = at(t.a, place);
        const std::int64_t width = t.count;
        each_pair(pairs, [&](int n, int e, int i, int j) {
          const int row = t.by_key ? j : i, column = t.by_key ? i : j;
          out[n][e] = load(rows + row * width + entry(t, p.tokens, row, column));
        });
        return;
      }
      case LOCUS_DISTANCE_DECAY: {
        const float slope = load(at(t.a, place)), *positions = at(t.b, place);
        each_pair(pairs, [&](int n, int e, int i, int j) {
          out[n][e] = -slope * distance(positions, t.count, t.prefix, i, j);
        });
        return;
      }
      case LOCUS_QUADRATIC:
        return quadratic_values(t, place, pairs, out);
      case LOCUS_GATED:
        return gated_values(t, place, pairs, out);
      case LOCUS_SCAN:
        return scan_values(t, place, pairs, out);
      case LOCUS_CURVE_DECAY:
        return curve_values(t, p.tokens, p.heads, place, pairs, out);
    }
  }
}

}  // namespace locus::gpu
