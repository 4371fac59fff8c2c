// The calls of the plugin over a launcher, which is CUDA's or the tests' on the CPU: what is refused, which kernels
// run and how many blocks of each. Include a device first.
//
// A launcher has `template <class Kernel, class Problem> int operator()(Blocks, const Problem&)`, 0 for success.
#pragma once

#include "engine/kernels/cuda/forward.cuh"
#include "engine/kernels/cuda/parameters.cuh"

namespace locus::gpu {

struct Blocks {
  int x, y, z;
};

template <int kValue>
struct Number {
  static constexpr int value = kValue;
};
template <Set kValue>
struct SetOf {
  static constexpr Set value = kValue;
};

template <Sums kValue>
struct SumsOf {
  static constexpr Sums value = kValue;
};

inline Set set_of(const locus_attention& p) {
  if (p.region != nullptr || p.terms > 1) return Set::kGeneral;
  if (p.terms == 0) return Set::kNone;
  const locus_term& t = p.term[0];
  if (t.role == LOCUS_BIAS && (t.form == LOCUS_RELATIVE_TABLE || t.form == LOCUS_DENSE)) return Set::kTable;
  return t.role == LOCUS_SCALE && t.form == LOCUS_CURVE_DECAY ? Set::kCurves : Set::kGeneral;
}

// Calls call(Number<width>, SetOf<set>) with those that the problem runs with. Width 96 and the sets of one term are
// for tensor cores of 16 bits: kernels whose arithmetic costs more beside what they save there go without.
template <class M, typename Call>
int with_shape(const locus_attention& p, const Call& call) {
  const Set found = set_of(p), set = sizeof(typename M::Element) == 2 || found == Set::kNone ? found : Set::kGeneral;
  constexpr bool kHalf = sizeof(typename M::Element) == 2;
  const auto with_set = [&](auto width) {
    if constexpr (kHalf) {
      if (set == Set::kTable) return call(width, SetOf<Set::kTable>{});
      if (set == Set::kCurves) return call(width, SetOf<Set::kCurves>{});
    }
    if constexpr (width.value != 96) {
      if (set == Set::kGeneral) return call(width, SetOf<Set::kGeneral>{});
    }
    return call(width, SetOf<Set::kNone>{});
  };
  if (p.width <= 32) return with_set(Number<32>{});
  if (p.width <= 64) return with_set(Number<64>{});
  if constexpr (kHalf) {
    if (p.width <= 96 && set != Set::kGeneral) return with_set(Number<96>{});
  }
  return with_set(Number<128>{});
}

inline Blocks own_blocks(const locus_attention& p) { return {tiles_of(p.tokens), p.heads, p.batch}; }

// Each of the three is compiled for one type at a time: that is where the compiler's time goes.
template <class M, class Launcher>
int forward_of(const locus_attention& p, const Launcher& launch) {
  return with_shape<M>(p, [&](auto width, auto set) {
    return launch.template operator()<Forward<M, width.value, set.value>>(own_blocks(p), p);
  });
}

template <class M, class Launcher>
int backward_of(const locus_attention& p, const Launcher& launch) {
  const Blocks rows{(p.tokens + 15) / 16, p.heads, p.batch};
  if (const int failed = launch.template operator()<Delta<typename M::Element>>(rows, p)) return failed;
  return with_shape<M>(p, [&](auto width, auto set) {
    const auto pass = [&](auto sums) {
      return launch.template operator()<Backward<M, width.value, set.value, sums.value>>(own_blocks(p), p);
    };
    if (const int failed = pass(SumsOf<Sums::kQuery>{})) return failed;
    if constexpr (width.value < 128 || set.value != Set::kGeneral) {
      return pass(SumsOf<Sums::kKeyAndValue>{});
    } else {
      const int failed = pass(SumsOf<Sums::kKey>{});
      return failed ? failed : pass(SumsOf<Sums::kValue>{});
    }
  });
}

template <class M, class Launcher>
int parameters_of(const locus_attention& p, const Launcher& launch) {
  for (int m = 0; m < p.terms; ++m) {
    const locus_term& t = p.term[m];
    if (t.gradient == nullptr) continue;
    const Spread s = spread_of(p, t);
    const Reduced reduced{p, m, s.groups, s.shares};
    const Blocks blocks{s.groups, p.heads, s.shares};
    int failed = 0;
    if (p.width <= 64) {
      failed = launch.template operator()<Parameters<M, 64>>(blocks, reduced);
    } else {
      failed = launch.template operator()<Parameters<M, 128>>(blocks, reduced);
    }
    if (failed) return failed;
    if (s.numbers == 0) continue;
    const std::int64_t stride = s.numbers * p.heads * (s.by_sample ? s.shares : 1);
    const RowSums sums{p.workspace, t.gradient, s.by_sample ? s.groups : s.groups * s.shares, stride};
    const Blocks columns{static_cast<int>((stride + kThreads - 1) / kThreads), 1, 1};
    if (const int added = launch.template operator()<AddRows>(columns, sums)) return added;
  }
  return 0;
}

}  // namespace locus::gpu
