// Gradients of what forms know of tokens: sums over the pairs of a token, gathered by the block that owns it. Include
// a device first.
//
// A few numbers a token (gates, places, parabolas, positions, the constants of rows) are summed a thread, each in a
// slot of shared memory of its own, and added up at the end. Rows of any length (features, buckets) are added to the
// gradient as they come; a row belongs to one warp, which takes turns where two lanes may mean one number.
#pragma once

#include "engine/kernels/cuda/tile.cuh"

namespace locus::gpu {

LOCUS_DEVICE bool gathers(const locus_term& t, bool keys_own) {
  if (t.form == LOCUS_BUCKETED && (t.by_key != 0) != keys_own) return false;
  return (keys_own ? t.key_gradient : t.query_gradient) != nullptr || (!keys_own && t.row_gradient != nullptr);
}

constexpr int kSlots = 2 * LOCUS_SUMS_MOST;

// A thread's slots, two a number: of its first row and of its second.
class Slots {
 public:
  LOCUS_DEVICE explicit Slots(int at) : memory_(shared<float>(at, kSlots * kThreads)) {}
  LOCUS_DEVICE void clear() {
    for (int slot = 0; slot < kSlots; ++slot) memory_[slot * kThreads + thread()] = 0;
  }
  // Adds the sum of factor(n, e) d[n][e] over the pairs of each row.
  template <typename Factor>
  LOCUS_DEVICE void add(int number, const Chunk& d, const Factor& factor) {
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
      float sum = 0;
      LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
        LOCUS_UNROLL for (int x = 0; x < 2; ++x) sum += factor(n, 2 * r + x) * d[n][2 * r + x];
      }
      const int at = (number * 2 + r) * kThreads + thread();
      memory_[at] = memory_[at] + sum;
    }
  }
  LOCUS_DEVICE float of(int number, int r) const { return memory_[(number * 2 + r) * kThreads + thread()]; }
  static constexpr int kBytes = kSlots * kThreads * static_cast<int>(sizeof(float));

 private:
  Shared<float> memory_;
};

// d are the gradients of the term's values, 0 at pairs that do not exist.
template <bool kKeysOwn>
LOCUS_DEVICE void gather_in_slots(const locus_term& t, Place place, const Pairs<kKeysOwn>& pairs, const Chunk& d,
                                  Slots& slots, int slot) {
  const auto patches = [&](int n, int e) { return pairs.i(n, e) >= t.prefix && pairs.j(n, e) >= t.prefix; };
  const auto own = [&](int, int e) { return pairs.own[e / 2] - t.prefix; };
  const auto other = [&](int n, int e) { return pairs.other[2 * n + e % 2] - t.prefix; };
  if (t.form == LOCUS_LOW_RANK) {
    slots.add(slot, d, [](int, int) { return 1.f; });
    return;
  }
  if (t.form == LOCUS_SCAN) {
    const float* s = at(t.a, place);
    slots.add(slot, d, [&](int n, int e) {
      if (!patches(n, e)) return 0.f;
      const float apart = load(s + own(n, e)) - load(s + other(n, e));
      return apart > 0 ? -1.f : apart < 0 ? 1.f : 0.f;
    });
    return;
  }
  const float* positions = at(t.b, place);
  if (t.form == LOCUS_GATED) {
    slots.add(slot, d,
              [&](int n, int e) { return blocks_apart(positions, t.count, t.prefix, pairs.i(n, e), pairs.j(n, e)); });
    return;
  }
  const auto along = [&](int axis, int n, int e) {
    return offset(positions, t.count, t.prefix, axis, pairs.i(n, e), pairs.j(n, e));
  };
  if (t.form == LOCUS_DISTANCE_DECAY) {
    const float slope = load(at(t.a, place));
    LOCUS_NO_UNROLL for (int axis = 0; axis < t.count; ++axis) {
      slots.add(slot + axis, d, [&](int n, int e) {
        const float apart = distance(positions, t.count, t.prefix, pairs.i(n, e), pairs.j(n, e));
        const float toward = kKeysOwn ? along(axis, n, e) : -along(axis, n, e);  // own minus other
        return apart > 0 ? -slope * toward / apart : 0.f;
      });
    }
    return;
  }
  LOCUS_NO_UNROLL for (int x = 0; x < t.count; ++x) {  // QUADRATIC
    LOCUS_NO_UNROLL for (int y = x; y < t.count; ++y)
      slots.add(slot++, d, [&](int n, int e) { return along(x, n, e) * along(y, n, e); });
  }
  LOCUS_NO_UNROLL for (int x = 0; x < t.count; ++x) slots.add(slot++, d, [&](int n, int e) { return along(x, n, e); });
}

// gradient[own, f] += sum over others of d times the other's feature f
template <bool kKeysOwn>
LOCUS_DEVICE void gather_features(const locus_term& t, const locus_attention& p, Place place, int own,
                                  const Pairs<kKeysOwn>& pairs, const Chunk& d) {
  const float* features = at(kKeysOwn ? t.a : t.b, place);
  float* gradient = kKeysOwn ? t.key_gradient : t.query_gradient;
  LOCUS_NO_UNROLL for (int f = 0; f < t.count; ++f) {
    LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
      float sum = 0;
      LOCUS_UNROLL for (int x = 0; x < 4; ++x)
        sum += d[x / 2][2 * r + x % 2] * load(features + static_cast<std::int64_t>(pairs.other[x]) * t.count + f);
      sum = quad_sum(sum);
      const int token = own + first_row() + 8 * r;
      if (lane() % 4 == f % 4 && token < p.tokens) gradient[row_of(p, place, token) * t.count + f] += sum;
    }
  }
}

// gradient[own, bucket of the pair] += d; the lanes of a quad, who share a row, one after the other.
template <bool kKeysOwn>
LOCUS_DEVICE void gather_buckets(const locus_term& t, const locus_attention& p, Place place, int own, int first_other,
                                 const Pairs<kKeysOwn>& pairs, const Chunk& d) {
  float* gradient = kKeysOwn ? t.key_gradient : t.query_gradient;
  LOCUS_NO_UNROLL for (int turn = 0; turn < 4; ++turn) {
    if (lane() % 4 == turn) {
      LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
        LOCUS_UNROLL for (int e = 0; e < 4; ++e) {
          if (!exists(own, first_other, p.tokens, n, e)) continue;
          const int bucket = entry(t, p.tokens, pairs.own[e / 2], pairs.other[2 * n + e % 2]);
          gradient[row_of(p, place, pairs.own[e / 2]) * t.count + bucket] += d[n][e];
        }
      }
    }
    sync_warp();
  }
}

template <bool kKeysOwn>
LOCUS_DEVICE void gather(const locus_term& t, const locus_attention& p, Place place, int own, int other,
                         const Pairs<kKeysOwn>& pairs, const Chunk& d, Slots& slots, int slot) {
  if (t.form == LOCUS_BUCKETED) return gather_buckets(t, p, place, own, other, pairs, d);
  if (sums_gradient(t, kKeysOwn) != nullptr) gather_in_slots(t, place, pairs, d, slots, slot);
  if (t.form == LOCUS_LOW_RANK && (kKeysOwn ? t.key_gradient : t.query_gradient) != nullptr)
    gather_features(t, p, place, own, pairs, d);
}

// Zeros to the rows that are added to as they come: those of the block's tokens.
LOCUS_DEVICE void clear_rows(const locus_attention& p, Place place, int own, bool keys_own) {
  for (int m = 0; m < p.terms; ++m) {
    const locus_term& t = p.term[m];
    if (!gathers(t, keys_own) || (t.form != LOCUS_BUCKETED && t.form != LOCUS_LOW_RANK)) continue;
    float* gradient = keys_own ? t.key_gradient : t.query_gradient;
    const int rows = own + kRows < p.tokens ? kRows : p.tokens - own;
    if (gradient == nullptr) continue;
    gradient += row_of(p, place, own) * t.count;
    for (int x = thread(); x < rows * t.count; x += kThreads) gradient[x] = 0;
  }
}

LOCUS_DEVICE void write_slots(const locus_attention& p, Place place, int own, bool keys_own, const Slots& slots) {
  int slot = 0;
  LOCUS_NO_UNROLL for (int m = 0; m < p.terms; ++m) {
    const locus_term& t = p.term[m];
    const int numbers = sums_of(t, keys_own);
    float* gradient = sums_gradient(t, keys_own);
    LOCUS_NO_UNROLL for (int x = 0; gradient != nullptr && x < numbers; ++x) {
      LOCUS_UNROLL for (int r = 0; r < 2; ++r) {
        const float sum = quad_sum(slots.of(slot + x, r));
        const int token = own + first_row() + 8 * r;
        if (lane() % 4 == 0 && token < p.tokens) gradient[row_of(p, place, token) * numbers + x] = sum;
      }
    }
    if (gradient != nullptr) slot += numbers;
  }
}

}  // namespace locus::gpu
