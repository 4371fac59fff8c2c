// Execution paths: ways to compute one attention layer's algebra. They agree with the explicit float64
// reference; only speed differs.
#pragma once

#include <span>

#include "engine/layers/probability.h"

namespace locus::engine {

// What profilers and counters of operations see of our blocked attention; its inputs begin with q, k and v.
inline constexpr const char* kFlashOperator = "locus::flash_attention";
inline constexpr double kHidden = -100;  // as published with Swin: e^-100 is 0 beside what is seen

// One layer's attention, ready to run: everything between the projections. Holds references; lives for one
// call.
//
// Where attention stays within windows every window is a sample, those of an image side by side. Pairs of different
// regions are hidden: `hidden` is added to what the algebra makes of their logits, after every scale. Samples that are
// filled up to a common length count as windows of one image, what fills them up as a region.
struct Scores {
  const Tensor &q, &k, &v;  // [B, H, T, d], q and k transformed
  double scale = 1;         // c
  std::vector<const BiasTerm*> scales, biases;
  std::vector<const BiasTerm*> sum_scales = {};             // factors of the content with its scales plus the biases
  std::function<Tensor(const Tensor&)> probabilities;       // null when no prior has the hook
  std::function<Tensor(const Tensor&)> from_probabilities;  // likewise; the sum over priors
  Tensor region = {};       // int8 [windows of an image, T] or undefined; sample b has row b mod windows
  double hidden = kHidden;  // may be -infinity, since every token sees itself
  std::vector<ProbabilityTerm> probability_terms = {};  // done to P one after the other, before `probabilities`
  std::vector<ValueTable> value_tables = {};            // of the P that results; beside `from_probabilities`

  bool hooked() const { return probabilities || from_probabilities; }  // whether somebody must see all of P
};

// What the algebra makes of the scores, by the explicit formula, for tools that look inside: the logits L
// and, after softmax and the priors' hooks, the probabilities P. Each [B, H, T, T].
struct AttentionWeights {
  Tensor logits, probabilities;
};
AttentionWeights explicit_weights(const Scores& scores);

// Stateless.
struct ExecutionPath {
  std::string_view name;
  bool (*supports)(const Scores& scores);   // whether run() may be called
  bool (*preferred)(const Scores& scores);  // whether it is the faster choice where supported
  Tensor (*run)(const Scores& scores);      // P V + sum(from_probabilities), [B, H, T, d]
};

// Most specialized first, "explicit" last; it supports everything.
const std::vector<ExecutionPath>& execution_paths();

// "auto": the first path that supports the scores and is preferred. A name: that path where it supports the
// scores, else "explicit". A function of forms, hooks, shapes, device, type and whether there are regions, so that
// equal runs choose equally.
// Throws std::invalid_argument on an unknown name.
const ExecutionPath& choose_path(std::string_view wanted, const Scores& scores);

}  // namespace locus::engine
