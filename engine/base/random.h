// Random numbers without hidden state: every draw is a function of (seed, purpose, name, index) and nothing
// else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/philox.h"

namespace locus::engine {

// What draws are for. Two purposes never share numbers, so adding draws to one leaves the others alone.
inline constexpr std::string_view kInitialization = "initialization";
inline constexpr std::string_view kOrder = "order";
inline constexpr std::string_view kSubset = "subset";

// One stream family per trial. `name` says who draws (a parameter's name, say), `index` which occasion (an
// epoch, a step). Results are contiguous CPU tensors and the same bits on every machine: the arithmetic is
// IEEE double precision without library transcendentals, rounded to float once at the end. Immutable;
// thread-safe.
class RandomStreams {
 public:
  // Is shown each tensor of uniform() and normal() draws, and returns the one to take in its place: to know the draws of
  // a pass, or to set them. Called in whatever thread draws.
  using Watch = std::function<at::Tensor(std::string_view purpose, std::string_view name, at::Tensor drawn)>;

  explicit RandomStreams(std::uint64_t seed, Watch watch = {}) : seed_(seed), watch_(std::move(watch)) {}

  std::uint64_t seed() const { return seed_; }

  // float32, uniform in [low, high).
  at::Tensor uniform(std::string_view purpose, std::string_view name, std::uint64_t index, at::IntArrayRef shape,
                     double low = 0, double high = 1) const;
  // float32, normal by Box and Muller.
  at::Tensor normal(std::string_view purpose, std::string_view name, std::uint64_t index, at::IntArrayRef shape,
                    double mean = 0, double deviation = 1) const;
  // float32, normal cut at the absolute values `low` and `high` (not at multiples of the deviation). Meant
  // for cuts that keep a fair part of the mass; throws std::invalid_argument unless low < high and the
  // interval holds a draw.
  at::Tensor truncated_normal(std::string_view purpose, std::string_view name, std::uint64_t index,
                              at::IntArrayRef shape, double mean, double deviation, double low = -2,
                              double high = 2) const;
  // int64, a permutation of 0..size-1.
  at::Tensor permutation(std::string_view purpose, std::string_view name, std::uint64_t index, std::int64_t size) const;
  // Its first `count` values, 0 <= count <= size, without putting the others in order.
  at::Tensor permutation_begin(std::string_view purpose, std::string_view name, std::uint64_t index, std::int64_t size,
                               std::int64_t count) const;

 private:
  PhiloxKey key(std::string_view purpose, std::string_view name) const;
  at::Tensor watched(std::string_view purpose, std::string_view name, at::Tensor drawn) const;
  std::uint64_t seed_;
  Watch watch_;  // or empty
};

}  // namespace locus::engine
