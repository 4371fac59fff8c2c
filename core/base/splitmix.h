// A well-mixed function of its argument, for draws that depend on nothing but a counter.
#pragma once

#include <cstdint>

namespace locus {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio

// The output function of SplitMix64 (Steele, Lea and Flood 2014): of 0, kGolden, 2 kGolden, ... the sequence of seed 0.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace locus
