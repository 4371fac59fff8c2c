// Proposals of a search.
#include "core/search/proposal.h"

#include <algorithm>
#include <array>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace locus {
namespace {

constexpr int kSobolBits = 32;

double random_draw(std::uint64_t seed, std::uint64_t dimension, std::uint64_t index) {
  return static_cast<double>(mix(mix(mix(seed) ^ dimension) ^ index) >> 11) * 0x1p-53;
}

// Printed and read back, which is the same number on every machine.
double rounded(double value, const Dimension& dimension) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*e", std::max(dimension.digits, 1) - 1, value);
  return std::clamp(std::strtod(text.data(), nullptr), dimension.low, dimension.high);
}

}  // namespace

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

std::vector<std::uint32_t> sobol_point(std::size_t dimensions, std::uint64_t index) {
  std::vector<std::uint32_t> out(dimensions);
  if (index == 0) return out;  // the library's engine begins after the zero point
  boost::random::sobol_engine<std::uint_least64_t, kSobolBits> engine(dimensions);
  engine.discard(dimensions * (index - 1));
  for (std::uint32_t& number : out) number = static_cast<std::uint32_t>(engine());
  return out;
}

std::uint32_t owen_scrambled(std::uint32_t x, std::uint64_t seed, std::uint64_t dimension) {
  const std::uint64_t of_dimension = mix(mix(seed) ^ dimension);
  std::uint32_t out = 0;
  for (int k = 0; k < kSobolBits; ++k) {
    const std::uint64_t before = static_cast<std::uint64_t>(x) >> (kSobolBits - k);
    const auto flip = static_cast<std::uint32_t>(mix(mix(of_dimension ^ static_cast<std::uint64_t>(k)) ^ before) >> 63);
    const int place = kSobolBits - 1 - k;
    out |= (((x >> place) & 1U) ^ flip) << place;
  }
  return out;
}

std::vector<double> draws(Drawing drawing, std::uint64_t seed, std::size_t dimensions, std::uint64_t index) {
  std::vector<double> out(dimensions);
  const std::vector<std::uint32_t> point =
      drawing == Drawing::kSobol ? sobol_point(dimensions, index) : std::vector<std::uint32_t>();
  for (std::size_t j = 0; j < dimensions; ++j) {
    out[j] = drawing == Drawing::kSobol ? static_cast<double>(owen_scrambled(point[j], seed, j)) * 0x1p-32
                                        : random_draw(seed, j, index);
  }
  return out;
}

Json value_at(const Dimension& dimension, double u) {
  const double low = dimension.low, high = dimension.high;
  switch (dimension.kind) {
    case Dimension::Kind::kLinear:
      return rounded(low + u * (high - low), dimension);
    case Dimension::Kind::kLog:
      return rounded(low * std::pow(high / low, u), dimension);
    case Dimension::Kind::kInteger:
      return static_cast<std::int64_t>(low + std::floor(u * (high - low + 1)));
    case Dimension::Kind::kChoice:
      break;
  }
  return dimension.choices.at(static_cast<std::size_t>(u * static_cast<double>(dimension.choices.size())));
}

}  // namespace locus
