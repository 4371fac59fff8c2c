// A whole Vision Transformer with priors, as scalar loops in float64 over the parameters of an engine's
// model.
#pragma once

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {

struct ReferenceChoice {
  std::string id;
  Json options;  // all of them
};

struct ReferenceShape {
  std::int64_t width = 0, heads = 0, depth = 0, hidden = 0, patch = 0, registers = 0;
  bool class_token = false;
  std::vector<std::int64_t> image_extent;  // pixels, at construction
  std::int64_t prefix() const { return registers + (class_token ? 1 : 0); }
};

struct ReferenceRun {
  bool training = false;
  std::int64_t step = 0;
  const RandomStreams& random;
};

struct ReferenceTokens {
  Array tokens;  // [B, T, D] after the final norm
  Real losses;   // of the priors, weighted; 0 in evaluation
};

// images: [B, C, H, W]; values: every parameter and buffer of the model by its full name.
ReferenceTokens reference_model(const ReferenceShape& shape, const std::vector<ReferenceChoice>& priors,
                                const Values& values, const Array& images, const ReferenceRun& run);

}  // namespace locus::engine::test
