// Vectors of the processor that a file is compiled for. Everything lies in a namespace of the target, LOCUS_CPU_TARGET,
// so that no code of one target can stand in for another's; for the same reason nothing of the standard library that the
// linker might merge is used here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef LOCUS_CPU_TARGET
#error "LOCUS_CPU_TARGET names the namespace of the processor that the file is compiled for"
#endif

namespace locus::cpu::LOCUS_CPU_TARGET {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <typename Real>
struct VectorOf {
  typedef Real Type __attribute__((vector_size(kVectorBytes)));
};
template <typename Real>
using Vector = typename VectorOf<Real>::Type;
template <typename Real>
inline constexpr std::int64_t kLanes = kVectorBytes / static_cast<int>(sizeof(Real));

// The integers as wide as a real number.
template <typename Real>
struct IntegerOf;
template <>
struct IntegerOf<float> {
  using Type = std::int32_t;
};
template <>
struct IntegerOf<double> {
  using Type = std::int64_t;
};
template <typename Real>
using Integer = typename IntegerOf<Real>::Type;
template <typename Real>
using Integers = typename VectorOf<Integer<Real>>::Type;

#define LOCUS_INLINE inline __attribute__((always_inline))

template <typename Real>
LOCUS_INLINE Vector<Real> load(const Real* from) {
  Vector<Real> out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}

template <typename Real>
LOCUS_INLINE void store(Real* to, Vector<Real> value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// From memory this is a load alone; x - 0 is x, where 0 + x would be an addition for the sake of -0.
template <typename Real>
LOCUS_INLINE Vector<Real> splat(Real value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4)
    return _mm512_set1_ps(value);
  else
    return _mm512_set1_pd(value);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4)
    return _mm256_set1_ps(value);
  else
    return _mm256_set1_pd(value);
#else
  return value - Vector<Real>{};
#endif
}

// a b + c: rounded once where the processor has an instruction for it, else twice; never as the compiler likes.
template <typename Real>
LOCUS_INLINE Vector<Real> fma(Vector<Real> a, Vector<Real> b, Vector<Real> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4)
    return _mm512_fmadd_ps(a, b, c);
  else
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4)
    return _mm256_fmadd_ps(a, b, c);
  else
    return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

#if defined(__AVX512BF16__)
// Whether the processor multiplies words of two bfloat16 numbers. A word is moved about as a float, whatever its bits.
inline constexpr bool kPairProducts = true;

// a's two numbers times b's, word by word, added to c in float32.
LOCUS_INLINE Vector<float> add_pairs(Vector<float> a, Vector<float> b, Vector<float> c) {
  return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
#else
inline constexpr bool kPairProducts = false;
LOCUS_INLINE Vector<float> add_pairs(Vector<float>, Vector<float>, Vector<float> c) { return c; }  // never called
#endif

// b where one of them is no number.
template <typename Real>
LOCUS_INLINE Vector<Real> larger(Vector<Real> a, Vector<Real> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4)
    return _mm512_max_ps(a, b);
  else
    return _mm512_max_pd(a, b);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4)
    return _mm256_max_ps(a, b);
  else
    return _mm256_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}

template <typename Real>
LOCUS_INLINE Vector<Real> lesser(Vector<Real> a, Vector<Real> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4)
    return _mm512_min_ps(a, b);
  else
    return _mm512_min_pd(a, b);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4)
    return _mm256_min_ps(a, b);
  else
    return _mm256_min_pd(a, b);
#else
  return a < b ? a : b;
#endif
}

template <typename Real>
LOCUS_INLINE Vector<Real> magnitude(Vector<Real> a) {
  return larger<Real>(a, -a);
}

template <typename Real>
LOCUS_INLINE Vector<Real> square_root(Vector<Real> a) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Real) == 4)
    return _mm512_sqrt_ps(a);
  else
    return _mm512_sqrt_pd(a);
#elif defined(__AVX2__)
  if constexpr (sizeof(Real) == 4)
    return _mm256_sqrt_ps(a);
  else
    return _mm256_sqrt_pd(a);
#else
  for (int i = 0; i < kLanes<Real>; ++i) a[i] = __builtin_sqrt(a[i]);
  return a;
#endif
}

// Lane l of the result is lane l + kStep, counted in a circle.
template <typename Real, int kStep, Integer<Real>... kLane>
LOCUS_INLINE Vector<Real> turned(Vector<Real> a, std::integer_sequence<Integer<Real>, kLane...>) {
  return __builtin_shufflevector(a, a, ((kLane + kStep) % static_cast<Integer<Real>>(kLanes<Real>))...);
}

// The lanes joined by `join`, halves first.
template <typename Real, int kStep, typename Join>
LOCUS_INLINE Real joined(Vector<Real> a, Join join) {
  const auto lanes = std::make_integer_sequence<Integer<Real>, static_cast<Integer<Real>>(kLanes<Real>)>();
  if constexpr (kStep == 0) {
    return a[0];
  } else {
    return joined<Real, kStep / 2>(join(a, turned<Real, kStep>(a, lanes)), join);
  }
}

template <typename Real>
LOCUS_INLINE Real sum_of(Vector<Real> a) {
  return joined<Real, static_cast<int>(kLanes<Real>) / 2>(
      a, [](Vector<Real> x, Vector<Real> y) __attribute__((always_inline)) { return x + y; });
}

template <typename Real>
LOCUS_INLINE Real largest_of(Vector<Real> a) {
  return joined<Real, static_cast<int>(kLanes<Real>) / 2>(
      a, [](Vector<Real> x, Vector<Real> y) __attribute__((always_inline)) { return larger<Real>(x, y); });
}

// What exponential() is made of.
template <typename Real>
struct Series;
template <>
struct Series<float> {
  static constexpr int kTerms = 8;
  static constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  static constexpr int kFraction = 23;
  static constexpr float kLowest = -87.0F, kHighest = 88.0F;
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;  // 9 bits, and what is left
};
template <>
struct Series<double> {
  static constexpr int kTerms = 14;
  static constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kFraction = 52;
  static constexpr double kLowest = -708.0, kHighest = 709.0;
  static constexpr double kLn2High = 0.69314718036912381649, kLn2Low = 1.90821492927058770002e-10;
};

// e^x within 1.5 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, the Taylor series of e^r (its first term left
// out is below 6e-9 for float, 5e-18 for double), and n added to the exponent. 0 below -87 (float) or -708 (double), where
// e^x has left or is about to leave the normal numbers; not above 88 or 709.
template <typename Real>
LOCUS_INLINE Vector<Real> exponential(Vector<Real> x) {
  using S = Series<Real>;
  const auto dropped = x < splat<Real>(S::kLowest);
  const Vector<Real> shift = splat<Real>(S::kShift);
  const Vector<Real> inside = larger<Real>(splat<Real>(S::kLowest), x);  // in this order NaN stays NaN
  const Vector<Real> shifted = fma<Real>(inside, splat<Real>(static_cast<Real>(1.44269504088896340736)), shift);
  const Vector<Real> n = shifted - shift;
  Vector<Real> r = fma<Real>(n, splat<Real>(-S::kLn2High), inside);
  r = fma<Real>(n, splat<Real>(-S::kLn2Low), r);
  Real factor = 1;
  for (int i = 2; i < S::kTerms; ++i) factor *= static_cast<Real>(i);
  Vector<Real> sum = splat<Real>(1 / factor);
#pragma GCC unroll 16
  for (int i = S::kTerms - 1; i > 0; --i) {
    factor /= static_cast<Real>(i);
    sum = fma<Real>(sum, r, splat<Real>(1 / factor));
  }
  // The whole number sits in the lowest bits of `shifted`; the shift's own bits leave at the top.
  const auto bits = reinterpret_cast<Integers<Real>>(sum) + (reinterpret_cast<Integers<Real>>(shifted) << S::kFraction);
  return dropped ? Vector<Real>{} : reinterpret_cast<Vector<Real>>(bits);
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
