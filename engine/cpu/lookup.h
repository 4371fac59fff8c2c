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

// to[j] = from[entries[j]] for j < count, of `size` numbers.
template <typename Real>
void look_up(const Real* from, [[maybe_unused]] std::int64_t size, const std::int32_t* entries, std::int64_t count,
             Real* to) {
  std::int64_t done = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4) {
    done = size > 128 ? 0 : count / 16 * 16;
    if (size <= 32)
      look_up_in_registers<1>(from, size, entries, done, to);
    else if (size <= 64)
      look_up_in_registers<2>(from, size, entries, done, to);
    else if (size <= 96)
      look_up_in_registers<3>(from, size, entries, done, to);
    else if (size <= 128)
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

}  // namespace locus::cpu::LOCUS_CPU_TARGET
