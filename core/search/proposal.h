// Proposals of a search: settings drawn from a space. Every function is pure: proposal i depends on seed, space and i
// alone, so that more proposals append and nothing needs to be kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace locus {

// How the values of one path lie.
struct Dimension {
  enum class Kind { kLinear, kLog, kInteger, kChoice };
  std::string path;  // "train.lr"
  Kind kind = Kind::kLinear;
  double low = 0, high = 1;      // both within; of a logarithmic one above 0
  int digits = 4;                // significant ones that linear and logarithmic values are rounded to
  Json choices = Json::array();  // of a choice, at least one
};

enum class Drawing { kRandom, kSobol };

// SplitMix64's finalizer (Steele, Lea and Flood 2014) of x + 0x9E3779B97F4A7C15.
std::uint64_t mix(std::uint64_t x);

// The numbers of proposal `index`, one in [0, 1) for each dimension.
//
//   random   mix(mix(mix(seed) ^ j) ^ i), its upper 53 bits
//   Sobol    point i of the sequence with the directions of Joe and Kuo (2008, new-joe-kuo-6), 32 bits, from the zero
//            point on, each dimension scrambled as Owen (1995) does: bit k is flipped by mix(mix(mix(mix(seed) ^ j) ^ k) ^
//            the bits before it). The first 2^m points stay balanced.
std::vector<double> draws(Drawing drawing, std::uint64_t seed, std::size_t dimensions, std::uint64_t index);

// The Sobol integers behind draws(), scrambled or as they are.
std::vector<std::uint32_t> sobol_point(std::size_t dimensions, std::uint64_t index);
std::uint32_t owen_scrambled(std::uint32_t x, std::uint64_t seed, std::uint64_t dimension);

// The value at u in [0, 1): a + u (b - a), a (b / a)^u, a + floor(u (b - a + 1)), or the choice at floor(u n). Linear and
// logarithmic values are rounded to decimal digits within the bounds, so that identities do not depend on a library's last
// bit.
Json value_at(const Dimension& dimension, double u);

}  // namespace locus
