// Reading entries of a table for a row of pairs, and summing a row by entry.
#pragma once

#include "engine/cpu/pack.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

#if defined(__AVX512F__)
// A table of up to 32 kPairs numbers, in registers: two of them answer 16 questions at once.
template <int kPairs>
void look_up_in_registers(const float* from, std::int64_t size, const std::int32_t* entries, std::int64_t count,
                          float* to) {
  __m512 part[2 * kPairs];
#pragma GCC unroll 8
  for (int n = 0; n < 2 * kPairs; ++n) {
    const std::int64_t left = size - 16 * n;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : left <= 0 ? 0 : (1 << left) - 1);
    part[n] = _mm512_maskz_loadu_ps(mask, from + 16 * n);
  }
  for (std::int64_t j = 0; j < count; j += 16) {
    const __m512i entry = _mm512_loadu_si512(entries + j);
    __m512 found = _mm512_permutex2var_ps(part[0], entry, part[1]);
#pragma GCC unroll 4
    for (int n = 1; n < kPairs; ++n) {
      const __mmask16 beyond = _mm512_cmpge_epi32_mask(entry, _mm512_set1_epi32(32 * n));
      found = _mm512_mask_mov_ps(found, beyond, _mm512_permutex2var_ps(part[2 * n], entry, part[2 * n + 1]));
    }
    _mm512_storeu_ps(to + j, found);
  }
}
#endif

// Whether look_up() has a table of this size in registers.
template <typename Real>
LOCUS_INLINE bool fits_registers([[maybe_unused]] std::int64_t size) {
#if defined(__AVX512F__)
  return sizeof(Real) == 4 && size <= 128;
#else
  return false;
#endif
}

// to[j] = from[entries[j]] for j < count, of `size` numbers.
template <typename Real>
void look_up(const Real* from, [[maybe_unused]] std::int64_t size, const std::int32_t* entries, std::int64_t count,
             Real* to) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4) {
    done = fits_registers<Real>(size) ? count / 16 * 16 : 0;
    if (size <= 32)
      look_up_in_registers<1>(from, size, entries, done, to);
    else if (size <= 64)
      look_up_in_registers<2>(from, size, entries, done, to);
    else if (size <= 96)
      look_up_in_registers<3>(from, size, entries, done, to);
    else if (done > 0)
      look_up_in_registers<4>(from, size, entries, done, to);
  }
#endif
  for (std::int64_t j = done; j < count; ++j) to[j] = from[entries[j]];
}

// Neighbors often have one entry in common, and each addition would wait for the one before: small tables are summed in
// several copies.
inline constexpr std::int64_t kSumCopies = 8, kSumSize = 128;

// to[entries[j]] += row[j] for j < count; `room`: kSumCopies kSumSize numbers.
template <typename Real>
void sum_by_entry(const Real* row, const std::int32_t* entries, std::int64_t count, std::int64_t size, Real* to,
                  Real* room) {
  if (size > kSumSize || 2 * size > count) {
    for (std::int64_t j = 0; j < count; ++j) to[entries[j]] += row[j];
    return;
  }
  fill(room, kSumCopies * size, Real{0});
  std::int64_t j = 0;
  for (; j + kSumCopies <= count; j += kSumCopies) {
#pragma GCC unroll 8
    for (std::int64_t n = 0; n < kSumCopies; ++n) room[n * size + entries[j + n]] += row[j + n];
  }
  for (; j < count; ++j) room[entries[j]] += row[j];
  for (std::int64_t n = 0; n < kSumCopies; ++n) {
    for (std::int64_t r = 0; r < size; ++r) to[r] += room[n * size + r];
  }
}

// Patches beside one another whose codes are the same, or each one more than the one before, as along a row of a grid: what a
// query reads of them is one entry, or entries side by side.
struct Run {
  std::int32_t first, count;
  bool rises;
};

// As many as there are; `runs` has room for `patches` of them.
inline std::int64_t find_runs(const std::int32_t* code, std::int64_t patches, Run* runs) {
  std::int64_t found = 0;
  for (std::int64_t j = 0; j < patches;) {
    std::int64_t end = j + 1;
    const std::int32_t step = end < patches ? code[end] - code[j] : 0;
    if (step == 0 || step == 1) {
      while (end < patches && code[end] - code[end - 1] == step) ++end;
    }
    runs[found++] = {static_cast<std::int32_t>(j), static_cast<std::int32_t>(end - j), step == 1};
    j = end;
  }
  return found;
}

// to[j] = table[base + code[j]]. Up to a vector is read past the table, and written past `to`.
template <typename Real>
void look_up_runs(const Real* table, const Run* runs, std::int64_t count, const std::int32_t* code, std::int64_t base,
                  Real* to) {
  constexpr std::int64_t kWide = kLanes<Real>;
  for (std::int64_t r = 0; r < count; ++r) {
    const Run& run = runs[r];
    const Real* const from = table + base + code[run.first];
    const Vector<Real> one = splat<Real>(*from);
    for (std::int64_t c = 0; c < run.count; c += kWide)
      store<Real>(to + run.first + c, run.rises ? load<Real>(from + c) : one);
  }
}

// sums[base + code[j]] += row[j]. As much is read past `row`, and past the sums 0 is added.
template <typename Real>
void sum_runs(const Real* row, const Run* runs, std::int64_t count, const std::int32_t* code, std::int64_t base,
              Real* sums) {
  constexpr std::int64_t kWide = kLanes<Real>;
  Integers<Real> lane;
  for (std::int64_t n = 0; n < kWide; ++n) lane[n] = static_cast<Integer<Real>>(n);
  for (std::int64_t r = 0; r < count; ++r) {
    const Run& run = runs[r];
    Real* const to = sums + base + code[run.first];
    Vector<Real> all{};
    for (std::int64_t c = 0; c < run.count; c += kWide) {
      const Integers<Real> left = static_cast<Integer<Real>>(run.count - c) - Integers<Real>{};
      const Vector<Real> some = lane < left ? load<Real>(row + run.first + c) : Vector<Real>{};
      if (run.rises)
        store<Real>(to + c, load<Real>(to + c) + some);
      else
        all += some;
    }
    if (!run.rises) *to += sum_of<Real>(all);
  }
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
