// Gradients of parameters that many pairs share: slopes, curves, tables, dense biases. Include a device first.
//
// A block has a few tiles of queries of a head and a share of the samples. For a tile of pairs it sums the gradient
// of the term's values over its samples first, in registers, and only then reduces it as the form wants it, so that
// exponentials are paid once a tile and not once a sample. Its sums are a row of the workspace of its own; a second
// kernel adds rows in order.
#pragma once

#include "engine/kernels/cuda/backward.cuh"

namespace locus::gpu {

struct Reduced {
  locus_attention problem;
  std::int32_t term, groups, shares;
};

// Adds rows of the workspace [rows, samples, numbers] in order: to [samples, numbers].
struct RowSums {
  const float* rows;
  float* sums;
  std::int64_t count, stride;  // rows to add; numbers of a row, samples included
};
struct AddRows {
  static constexpr int kSharedBytes = 0;
  LOCUS_DEVICE static void run(const RowSums& x) {
    const std::int64_t at = static_cast<std::int64_t>(block_x()) * kThreads + thread();
    if (at >= x.stride) return;
    float sum = 0;
    for (std::int64_t r = 0; r < x.count; ++r) sum += load(x.rows + r * x.stride + at);
    x.sums[at] = sum;
  }
};

template <class M, int kWidth>
struct Parameters {
  using Tiles = Tile<M, kWidth>;
  using Element = typename M::Element;
  static constexpr int kBins = kThreads * (1 + LOCUS_CURVES_MOST) * 4;  // bytes of sums or of the tile by buckets
  static constexpr int kColumns = 16, kDepth = kWidth / 16;
  static constexpr int kOwnBytes = Tiles::bytes(kRows), kOtherBytes = Tiles::bytes(kColumns);
  static constexpr int kSharedBytes = kBins + 2 * kOwnBytes + 2 * kOtherBytes;
  static_assert(kSharedBytes <= kSharedMost && kRows * kColumns * 8 <= kBins);

  LOCUS_DEVICE static Shared<Element> own_tile(int which) { return Tiles::in(kBins + which * kOwnBytes, kRows); }
  LOCUS_DEVICE static Shared<Element> other_tile(int which) {
    return Tiles::in(kBins + 2 * kOwnBytes + which * kOtherBytes, kColumns);
  }

  // Adds the gradient of the term's values of one sample.
  LOCUS_DEVICE static void add_sample(const Reduced& x, Place place, int own, int other, Chunk& sum) {
    const locus_attention& p = x.problem;
    sync_block();  // who reads the tiles of the sample before is done
    Tiles::template ask<kRows>(own_tile(0), p.q, p, place, own);
    Tiles::template ask<kRows>(own_tile(1), p.o_gradient, p, place, own);
    Tiles::template ask<kColumns>(other_tile(0), p.k, p, place, other);
    Tiles::template ask<kColumns>(other_tile(1), p.v, p, place, other);
    cp_async_commit();
    cp_async_wait<0>();
    sync_block();
    Chunk content, reach, d;
    clear(content);
    clear(reach);
    LOCUS_NO_UNROLL for (int depth = 0; depth < kDepth; ++depth) {
      typename M::A a;
      M::load(a, own_tile(0), Tiles::kStride, warp() * 16, depth * 16);
      M::rows(content, a, other_tile(0), Tiles::kStride, 0, depth * 16);
      M::load(a, own_tile(1), Tiles::kStride, warp() * 16, depth * 16);
      M::rows(reach, a, other_tile(1), Tiles::kStride, 0, depth * 16);
    }
    const auto pairs = pairs_of<false>(own, other, p.tokens);
    Probabilities y;
    differentiate<Set::kGeneral, false>(p, place, pairs, own, other, content, reach, y);
    term_gradient<Set::kGeneral>(p, x.term, place, pairs, y.x, y.d_logits, y.reach, d);
    each_pair(pairs, [&](int n, int e, int, int) { sum[n][e] += d[n][e]; });
  }

  LOCUS_DEVICE static void add_to(Shared<float> bins, int number, float value) {
    const int at = number * kThreads + thread();
    bins[at] = bins[at] + value;
  }

  // Sums of d times a factor, a bin a thread: alpha and rates, or the slope.
  LOCUS_DEVICE static void reduce_numbers(const Reduced& x, Place place, const Pairs<false>& pairs, const Chunk& d,
                                          Shared<float> bins) {
    const locus_attention& p = x.problem;
    const locus_term& t = p.term[x.term];
    const auto total = [&](const Chunk& factor) {
      float sum = 0;
      each_pair(pairs, [&](int n, int e, int, int) { sum += d[n][e] * factor[n][e]; });
      return sum;
    };
    Chunk factor;
    if (t.form == LOCUS_DISTANCE_DECAY) {
      const float* positions = at(t.b, place);
      each_pair(pairs,
                [&](int n, int e, int i, int j) { factor[n][e] = -distance(positions, t.count, t.prefix, i, j); });
      add_to(bins, 0, total(factor));
      return;
    }
    const float share = 1 / static_cast<float>(t.count), slope = -share * load(at(t.a, place));
    const std::int64_t patches = p.tokens - t.prefix;
    float alpha = 0;
    LOCUS_NO_UNROLL for (int c = 0; c < t.count; ++c) {
      const std::int32_t* rank = t.index.code + c * patches;
      const float rate = -kLog2E * load(at(t.b, place) + static_cast<std::int64_t>(c) * p.heads);
      float sum = 0;
      each_pair(pairs, [&](int n, int e, int i, int j) {
        const float apart = ranks_apart(rank, t.prefix, i, j), decay = d[n][e] * exp2(rate * apart);
        alpha += decay;
        sum += decay * apart;
      });
      add_to(bins, 1 + c, slope * sum);
    }
    add_to(bins, 0, share * alpha);
  }

  // Each bucket belongs to one thread, which adds the pairs that fall into it in order.
  LOCUS_DEVICE static void reduce_table(const Reduced& x, const Pairs<false>& pairs, int own, int other, const Chunk& d,
                                        float* row) {
    const locus_attention& p = x.problem;
    const Shared<float> values_at = shared<float>(0, kRows * kColumns);
    const Shared<int> buckets_at = shared<int>(kRows * kColumns * 4, kRows * kColumns);
    LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
      LOCUS_UNROLL for (int e = 0; e < 4; ++e) {
        const int to = (first_row() + e / 2 * 8) * kColumns + n * 8 + lane() % 4 * 2 + e % 2;
        values_at[to] = d[n][e];
        buckets_at[to] =
            exists(own, other, p.tokens, n, e) ? entry(p.term[x.term], p.tokens, pairs.i(n, e), pairs.j(n, e)) : -1;
      }
    }
    sync_block();
    LOCUS_NO_UNROLL for (int pair = 0; pair < kRows * kColumns; ++pair) {
      const int bucket = buckets_at[pair];
      if (bucket >= 0 && bucket % kThreads == thread()) row[bucket] += values_at[pair];
    }
    sync_block();
  }

  LOCUS_DEVICE static void store_dense(const Reduced& x, int share, const Pairs<false>& pairs, int own, int other,
                                       const Chunk& d) {
    const locus_attention& p = x.problem;
    const std::int64_t tokens = p.tokens;
    float* to = p.term[x.term].gradient + (static_cast<std::int64_t>(share) * p.heads + block_y()) * tokens * tokens;
    each_pair(pairs, [&](int n, int e, int i, int j) {
      if (exists(own, other, p.tokens, n, e)) to[i * tokens + j] = d[n][e];
    });
  }

  LOCUS_DEVICE static void tile(const Reduced& x, int own, int other, Shared<float> bins, float* row) {
    const locus_attention& p = x.problem;
    const locus_term& t = p.term[x.term];
    Place place{block_z(), block_y()};
    Chunk d;
    clear(d);
    LOCUS_NO_UNROLL for (int sample = block_z(); sample < p.batch; sample += x.shares) {
      place.sample = sample;
      add_sample(x, place, own, other, d);
    }
    const auto pairs = pairs_of<false>(own, other, p.tokens);
    if (t.form == LOCUS_DENSE) return store_dense(x, block_z(), pairs, own, other, d);
    if (t.form == LOCUS_RELATIVE_TABLE) return reduce_table(x, pairs, own, other, d, row);
    reduce_numbers(x, place, pairs, d, bins);
  }

  // Blocks: x groups of tiles of queries, y heads, z shares of the samples.
  LOCUS_DEVICE static void run(const Reduced& x) {
    const locus_attention& p = x.problem;
    const locus_term& t = p.term[x.term];
    const Shared<float> bins = shared<float>(0, kThreads * (1 + LOCUS_CURVES_MOST));
    const bool table = t.form == LOCUS_RELATIVE_TABLE;
    const int numbers = t.form == LOCUS_CURVE_DECAY ? 1 + t.count : table ? t.count : 1;
    const std::int64_t block = (static_cast<std::int64_t>(block_x()) * x.shares + block_z()) * p.heads + block_y();
    float* row = t.form == LOCUS_DENSE ? nullptr : p.workspace + block * numbers;
    if (table) {
      for (int r = thread(); r < numbers; r += kThreads) row[r] = 0;
    } else if (row != nullptr) {
      for (int number = 0; number < numbers; ++number) bins[number * kThreads + thread()] = 0;
    }
    LOCUS_NO_UNROLL for (int own = block_x() * kRows; own < p.tokens; own += x.groups * kRows) {
      LOCUS_NO_UNROLL for (int other = 0; other < p.tokens; other += kColumns) tile(x, own, other, bins, row);
    }
    if (table || row == nullptr) return;
    sync_block();
    if (thread() >= numbers) return;
    float sum = 0;
    for (int other = 0; other < kThreads; ++other) sum += bins[thread() * kThreads + other];
    row[thread()] = sum;
  }
};

}  // namespace locus::gpu
