// Weights of a file become those of a model.
#pragma once

#include "engine/layers/module.h"
#include "engine/weights/fit.h"

namespace locus::engine {

struct LoadOptions {
  std::string layout = "auto";
  std::string prefix = {};  // canonical_weights()
  bool keep_head = false;   // else the model's head, or the decoder of a task of maps, stays as it was initialized
  Fit fit = {};
};

// What the model is given: facts of its dataset.
struct LoadInput {
  std::int64_t channels = 3;
  std::vector<std::int64_t> extent;  // height, width
};

struct LoadReport {
  CanonicalWeights weights;          // as they fit the model
  std::vector<std::string> initial;  // of the model, by its own names: what stays as it was initialized
  std::vector<std::string> notes;    // what was done to make tensors fit, sentences without their end
  // Lines for people: layout and counts, the notes, what is ignored, what stays.
  std::vector<std::string> lines() const;
};

// What loading would do, and whether it could: every tensor of the file is mapped or ignored by a rule, every one of the
// backbone's own is filled, once, with finite numbers of its shape. Priors, adapters, a head that is for training alone
// and, unless kept, the whole head may stay as they are. A head that is not kept is ignored in the file whatever task it is
// of, so that the backbone of a classifier serves segmentation. `model` is a task or a backbone. Throws DataError, without
// the file's name, that lists all that is missing, extra or misshapen and what the specification must say.
LoadReport plan_load(const Module& model, const LoadInput& input, const std::map<std::string, Tensor>& tensors,
                     const LoadOptions& options);

// Does it: copies, widening to the model's type. Not thread-safe.
LoadReport load_weights(Module& model, const LoadInput& input, const std::map<std::string, Tensor>& tensors,
                        const LoadOptions& options);

}  // namespace locus::engine
