// Words of two bfloat16 numbers, as dot products of bfloat16 take them: which two numbers of a matrix share a word follows
// from what a product sums over. A word lies where a float would and is moved about as one.
//
//   along rows: (t, 2c), (t, 2c + 1), the matrix as it lies in memory;
//   across rows: (2t, c), (2t + 1, c), two rows interleaved.
// Where the second of them does not exist it is 0.
#pragma once

#include "engine/cpu/pack.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

LOCUS_INLINE constexpr std::int64_t words_of(std::int64_t count) { return (count + 1) / 2; }

#if defined(__AVX512BF16__)

// 32 numbers of `from`, of which `count` exist.
LOCUS_INLINE __m512i numbers(const std::uint16_t* from, std::int64_t count) {
  if (count >= 32) return _mm512_loadu_si512(from);
  return _mm512_maskz_loadu_epi16(count <= 0 ? 0 : (std::uint32_t{1} << count) - 1, from);
}
// The same of float32, rounded to the nearest, ties to even.
LOCUS_INLINE __m512i numbers(const float* from, std::int64_t count) {
  const auto part = [&](std::int64_t left, const float* at) __attribute__((always_inline)) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(left >= 16 ? 0xFFFF : left <= 0 ? 0 : (1 << left) - 1), at);
  };
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(part(count - 16, from + 16), part(count, from)));
}

// Two rows of 32 numbers interleaved: two vectors of words.
struct Interleaved {
  __m512i low, high;
};
LOCUS_INLINE Interleaved interleaved(__m512i even, __m512i odd) {
  using Numbers = short __attribute__((vector_size(64)));
  constexpr Numbers kLow = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                            8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  constexpr Numbers kHigh = kLow + 16;
  return {_mm512_permutex2var_epi16(even, reinterpret_cast<__m512i>(kLow), odd),
          _mm512_permutex2var_epi16(even, reinterpret_cast<__m512i>(kHigh), odd)};
}

// `width` numbers of each of `count` rows as words along rows, `to_row` words apart; 0 behind them up to `to_width` words, a
// multiple of 16.
template <typename Number>
void pair_along(const Number* from, std::int64_t row, std::int64_t count, std::int64_t width, float* to,
                std::int64_t to_row, std::int64_t to_width) {
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t c = 0; c < to_width; c += 16)
      _mm512_storeu_si512(to + t * to_row + c, numbers(from + t * row + 2 * c, width - 2 * c));
  }
}

// Columns [0, width) of `count` rows as words across rows, [words_of(count), to_row]; whole vectors are written.
template <typename Number>
void pair_across(const Number* from, std::int64_t row, std::int64_t count, std::int64_t width, float* to,
                 std::int64_t to_row) {
  for (std::int64_t t = 0; t < count; t += 2) {
    float* const out = to + t / 2 * to_row;
    for (std::int64_t c = 0; c < width; c += 32) {
      const Number* at = from + t * row + c;
      const Interleaved words =
          interleaved(numbers(at, width - c), t + 1 < count ? numbers(at + row, width - c) : _mm512_setzero_si512());
      _mm512_storeu_si512(out + c, words.low);
      if (c + 16 < to_row) _mm512_storeu_si512(out + c + 16, words.high);
    }
  }
}

// The first `count` columns, at most 16, of two rows that are `row` apart, or where that is 0 of one, as words across rows.
template <typename Number>
LOCUS_INLINE void pair_of_rows(const Number* from, std::int64_t row, std::int64_t count, float* to) {
  const __m512i odd = row != 0 ? numbers(from + row, count) : _mm512_setzero_si512();
  _mm512_storeu_si512(to, interleaved(numbers(from, count), odd).low);
}

// The same in panels of 32 columns, each [words_of(count), 32].
template <typename Number>
void pair_panels(const Number* from, std::int64_t row, std::int64_t count, std::int64_t width, float* to) {
  for (std::int64_t c = 0; c < width; c += 32)
    pair_across(from + c, row, count, width - c < 32 ? width - c : 32, to + c * words_of(count), 32);
}

#endif

}  // namespace locus::cpu::LOCUS_CPU_TARGET
