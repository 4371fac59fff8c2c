// What the kernels take and how their work is spread: plain C++ of numbers alone, for the plugin, for its kernels and
// for tests.
#pragma once

#include <cstdint>

#include "engine/kernels/attention_abi.h"

namespace locus::gpu {

constexpr int kRows = 64;  // a block's own tokens, 16 a warp
constexpr int kThreads = 128;
constexpr int kSharedMost = 99 * 1024;           // bytes a block may have on every device from sm_80 on
constexpr int kGroupsMost = 8, kSharesMost = 8;  // of tiles of queries, of samples

constexpr int tiles_of(int tokens) { return (tokens + kRows - 1) / kRows; }

// Numbers a token that a term gathers on one side in running sums of a thread's own.
constexpr int sums_of(const locus_term& t, bool keys_own) {
  switch (t.form) {
    case LOCUS_GATED:
    case LOCUS_SCAN:
      return 1;
    case LOCUS_DISTANCE_DECAY:
      return t.count;
    case LOCUS_QUADRATIC:
      return keys_own ? 0 : t.count * (t.count + 1) / 2 + t.count;
    case LOCUS_LOW_RANK:
      return keys_own ? 0 : 1;
    default:
      return 0;
  }
}

// Where those sums go; null: nowhere.
constexpr float* sums_gradient(const locus_term& t, bool keys_own) {
  if (t.form == LOCUS_LOW_RANK) return keys_own ? nullptr : t.row_gradient;
  return keys_own ? t.key_gradient : t.query_gradient;
}

// How the sums of a parameter that many pairs share are spread over blocks: a function of the shape alone.
struct Spread {
  int groups = 1, shares = 1;  // blocks of a head
  bool by_sample = false;      // every sample has a gradient of its own
  std::int64_t numbers = 1;    // of a gradient of one head; 0 where blocks write into the gradient itself
};

constexpr Spread spread_of(const locus_attention& p, const locus_term& t) {
  Spread s;
  const int tiles = tiles_of(p.tokens);
  s.by_sample = t.a.batch != 0;
  s.groups = tiles < kGroupsMost ? tiles : kGroupsMost;
  // Positions of a sample's own come into the sum behind the sum over samples: such samples are apart.
  const bool apart = s.by_sample || (t.form == LOCUS_DISTANCE_DECAY && t.b.batch != 0);
  s.shares = apart || p.batch < kSharesMost ? p.batch : kSharesMost;
  s.numbers = t.form == LOCUS_CURVE_DECAY ? 1 + t.count : t.form == LOCUS_RELATIVE_TABLE ? t.count : 1;
  if (t.form == LOCUS_DENSE) s.groups = tiles, s.shares = s.by_sample ? p.batch : 1, s.numbers = 0;
  return s;
}

// Floats of workspace for the gradients that the problem names.
constexpr std::int64_t workspace_of(const locus_attention& p) {
  std::int64_t most = 0;
  for (int m = 0; m < p.terms; ++m) {
    if (p.term[m].gradient == nullptr) continue;
    const Spread s = spread_of(p, p.term[m]);
    const std::int64_t floats = s.numbers * s.groups * s.shares * p.heads;
    if (floats > most) most = floats;
  }
  return most;
}

namespace refusals {

constexpr bool sound_rows(const locus_rows& r, int bytes) {
  return r.batch * bytes % 16 == 0 && r.head * bytes % 16 == 0 && r.token * bytes % 16 == 0;
}

constexpr const char* of_term(const locus_attention& p, const locus_term& t) {
  if (t.role < LOCUS_SCALE || t.role > LOCUS_WEIGHT) return "a term has a role that the kernels do not know";
  if (t.form < LOCUS_DENSE || t.form > LOCUS_CURVE_DECAY) return "a term has a form that the kernels do not know";
  if (t.prefix < 0 || t.prefix > p.tokens) return "a term's prefix is longer than the sequence";
  const bool indexed = t.form == LOCUS_RELATIVE_TABLE || t.form == LOCUS_BUCKETED;
  const bool axes = t.form == LOCUS_DISTANCE_DECAY || t.form == LOCUS_QUADRATIC || t.form == LOCUS_GATED;
  if ((indexed || t.form == LOCUS_LOW_RANK || t.form == LOCUS_CURVE_DECAY || axes) && t.count < 1)
    return "a term has no entries";
  if (axes && t.count > LOCUS_AXES_MOST) return "positions have more axes than the kernels look at (3)";
  if (t.form == LOCUS_CURVE_DECAY && t.count > LOCUS_CURVES_MOST)
    return "there are more curves than the kernels take (15)";
  if (t.form == LOCUS_SCAN && t.causal && t.role != LOCUS_BIAS) return "a causal scan is a bias alone";
  return nullptr;
}

constexpr const char* of_sums(const locus_attention& p) {
  int queries = 0, keys = 0;
  for (int m = 0; m < p.terms; ++m) {
    if (sums_gradient(p.term[m], false) != nullptr) queries += sums_of(p.term[m], false);
    if (sums_gradient(p.term[m], true) != nullptr) keys += sums_of(p.term[m], true);
  }
  return queries > LOCUS_SUMS_MOST || keys > LOCUS_SUMS_MOST
             ? "terms gather more numbers a token than the kernels hold (16)"
             : nullptr;
}

}  // namespace refusals

// Why the kernels do not take the problem; null where they do.
constexpr const char* refusal(const locus_attention& p, bool backward) {
  constexpr int kBlocksMost = 65535;
  if (p.type < LOCUS_FLOAT32 || p.type > LOCUS_TF32)
    return "the kernels compute in float32, tf32, bfloat16 and float16";
  if (p.batch < 1 || p.heads < 1 || p.tokens < 1) return "there is nothing to attend to";
  if (p.batch > kBlocksMost || p.heads > kBlocksMost)
    return "there are more samples or heads than a grid has blocks (65535)";
  if (p.width < 8 || p.width > LOCUS_WIDTH_MOST || p.width % 8 != 0)
    return "heads are at most 128 wide, a multiple of 8";
  if (p.terms < 0 || p.terms > LOCUS_TERMS_MOST) return "there are more terms than the kernels take (8)";
  if (p.windows < 0) return "regions have a negative number of windows";
  const int bytes = p.type == LOCUS_FLOAT32 || p.type == LOCUS_TF32 ? 4 : 2;
  for (const locus_rows* rows : {&p.q, &p.k, &p.v, &p.o, &p.o_gradient, &p.q_gradient, &p.k_gradient, &p.v_gradient}) {
    if (!refusals::sound_rows(*rows, bytes)) return "strides are not multiples of 16 bytes";
  }
  bool summed = false, endless = false;
  for (int m = 0; m < p.terms; ++m) {
    const locus_term& t = p.term[m];
    if (const char* why = refusals::of_term(p, t)) return why;
    if (m > 0 && t.role < p.term[m - 1].role) return "terms do not stand in the order of their roles";
    summed = summed || t.role == LOCUS_SUM_SCALE;
    endless = endless || (t.form == LOCUS_SCAN && t.causal);
  }
  if (summed && endless) return "a causal scan cannot be scaled";
  return backward ? refusals::of_sums(p) : nullptr;
}

}  // namespace locus::gpu
