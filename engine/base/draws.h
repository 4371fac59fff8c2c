// Single numbers of the random streams, in double precision.
#pragma once

#include "engine/base/random.h"

namespace locus::engine {

// The place of a number: `element` (below 2^56) counts within the occasion `index`, `attempt` (at most 255) the tries of
// a draw that may be refused. An element's first attempt is where the tensors of RandomStreams take their numbers.
struct DrawPlace {
  std::uint64_t index = 0, element = 0;
  std::uint32_t attempt = 0;
};

// Uniform in [0, 1). Thread-safe.
double draw_unit(const RandomStreams& random, std::string_view purpose, std::string_view name, const DrawPlace& place);
// Standard normal. Thread-safe.
double draw_normal(const RandomStreams& random, std::string_view purpose, std::string_view name,
                   const DrawPlace& place);
// Of the distribution Beta(a, a), a > 0, in [0, 1]: the uniform number itself for a = 1, otherwise by Johnk's method, whose
// refusals take attempts from place.attempt on; 1/2 once there are none left. Thread-safe.
double draw_beta(const RandomStreams& random, std::string_view purpose, std::string_view name, const DrawPlace& place,
                 double a);
// float32 standard normals: element `first` + i is number i of the contiguous CPU tensor. Thread-safe.
at::Tensor draw_normals(const RandomStreams& random, std::string_view purpose, std::string_view name,
                        std::uint64_t index, std::uint64_t first, at::IntArrayRef shape);

}  // namespace locus::engine
