// Blocked attention on the CPU, forward and backward, as plain data: what engine/attention/flash.cc hands to the code that
// is compiled once for each kind of processor. No torch here.
//
//   L = sum_scales * (scales * c q k' + sum(biases)),   O = hooks(softmax L) v + sum over value tables
//
// A unit of work is a head, a group of samples and a range of queries: rows of logits are made whole, a block of queries at
// a time, so that softmax and hooks see all of a row and nothing of T x T is held. What does not depend on the sample is
// evaluated once for all samples of a group; its gradient is summed over them before it is led to parameters. Units follow
// from shapes alone and add to sums of their own, which the caller adds in order: results do not depend on threads.
//
// Real below is double where the problem says so and float otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace locus::cpu {

enum class Element : std::int8_t { kFloat32, kFloat64, kBFloat16 };

// [B, H, T, d] with the numbers of a row side by side; strides count elements. Null where nobody asks for it.
struct Rows {
  void* data = nullptr;
  Element type = Element::kFloat32;
  std::int64_t batch = 0, head = 0, token = 0;
};

// What a form is made of, Real [B|1, H|1, ...], whole within a sample and head. `gradient`, Real, is added to; null where
// none is wanted. Its slice for a unit starts at range * gradient_range + outer * gradient_outer + head * gradient_head,
// outer being the sample where `by_sample` and the group of samples elsewhere.
struct Parameter {
  const void* data = nullptr;
  bool by_sample = false;
  std::int64_t batch = 0, head = 0;
  void* gradient = nullptr;
  std::int64_t gradient_range = 0, gradient_outer = 0, gradient_head = 0;
};

// Which entry a pair reads: engine/layers/pair_index.h.
struct Index {
  const std::int64_t* dense = nullptr;  // [T, T]; null: by the rule
  const std::int32_t *code = nullptr, *map = nullptr;
  std::int64_t shift = 0, prefix = 0, from_prefix = 0, to_prefix = 0, among_prefix = 0;
};

enum class Kind : std::int8_t { kDense, kLowRank, kTable, kLookup, kDistance, kQuadratic, kGated, kScan, kCurves };
enum class Role : std::int8_t { kScale, kBias, kSumScale, kTimes, kPlus, kBlend };

inline constexpr int kParametersMost = 3, kAxesMost = 3, kTermsMost = 16, kTablesMost = 8;

// One form in the algebra. Parameters, in order:
//   dense      values [T, T]
//   low rank   query [T, size], key [T, size], row [T] or none
//   table      [size]
//   lookup     values [T, size]
//   distance   positions [N, size] (size: axes), slope [1]
//   quadratic  numbers [N, size (size + 1) / 2 + size]
//   gated      gate [N]
//   scan       place [N]
//   curves     rate [size], alpha [1]
struct Term {
  Kind kind = Kind::kDense;
  Role role = Role::kBias;
  Parameter parameter[kParametersMost] = {};
  std::int64_t size = 0;
  std::int64_t prefix = 0;              // tokens in front that have no row among N
  Index index = {};                     // table, lookup
  bool by_key = false;                  // table, lookup: the entry of (j, i), and the row is the key's
  bool causal = false;                  // scan
  double plus = 0;                      // curves
  const std::int32_t* ranks = nullptr;  // curves, [size, N]
  const void* positions = nullptr;      // quadratic, gated: Real [N, size]
  std::int64_t positions_batch = 0;     // 0: the same for all samples
  Parameter share = {};                 // blend: [1]
  std::int64_t blend_prefix = 0;        // blend: tokens in front that place says nothing of
};

// table [size, d] of values, summed by the probabilities.
struct Table {
  Parameter table = {};
  std::int64_t size = 0;
  Index index = {};
};

struct Problem {
  std::int64_t batch = 0, heads = 0, tokens = 0, width = 0;
  double scale = 1;
  Rows q, k, v;
  Rows out;            // forward
  Rows d_out;          // backward
  Rows d_q, d_k, d_v;  // written. With several ranges d_k and d_v are Real [ranges, B, H, T, d] and written by range
  std::int64_t d_range = 0;  // elements between the ranges of d_k and d_v
  void* kept = nullptr;      // Real [B, H, T, 2]: P = exp(L - the first) times the second
  const Term* terms = nullptr;
  const Table* tables = nullptr;
  int term_count = 0, table_count = 0;
  const std::int8_t* region = nullptr;  // [windows, T]; null: every token sees every one
  std::int64_t windows = 1;
  double hidden = 0;  // added where regions differ
  // Units: samples of a group, groups, queries of a block, blocks of a range, ranges; the last of each may be smaller.
  std::int64_t group = 1, groups = 1, ranges = 1, block = 1, kept_blocks = 1;
  std::int64_t units() const { return heads * groups * ranges; }
};

// Stateless; units may run at the same time, each with bytes of its own.
struct AttentionKernels {
  const char* name;
  std::size_t (*forward_bytes)(const Problem& problem);
  void (*forward)(const Problem& problem, std::int64_t unit, void* bytes);
  std::size_t (*backward_bytes)(const Problem& problem);
  void (*backward)(const Problem& problem, std::int64_t unit, void* bytes);
};

// Of float (and bfloat16) or double, for the processor at hand, or the lesser one that ATEN_CPU_CAPABILITY names.
const AttentionKernels& attention_kernels(bool is_double);
// All that were built and that the processor can run, the plainest first; for tests.
struct KernelList {
  const AttentionKernels* const* kernels;
  int count;
};
KernelList runnable_attention_kernels(bool is_double);

}  // namespace locus::cpu
