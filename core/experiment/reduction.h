// The reducers of a metric contract: how a trial's series becomes its number.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

// "last": the stage's own result. "best": at the step where the metric is best on `selects_on`; on test, of
// the model that training kept at that step. "top-3": the mean over the three best of those steps. "mean":
// over all steps. "at-step-300": the newest at that step.
struct Reduction {
  enum class Kind { kLast, kBest, kTop, kMean, kAtStep } kind = Kind::kLast;
  std::int64_t count = 0;  // of kTop: how many steps, at least 1
  std::int64_t step = 0;   // of kAtStep, at least 1
  // Whether values on `selects_on` choose the steps.
  bool selects() const { return kind == Kind::kBest || kind == Kind::kTop; }
};

// INVALID_ARGUMENT (OPTION_OUT_OF_RANGE) for another word, and for anything but "last" and "best" on the test
// split: test is scored once, on one model, so there is no series to choose from and choosing there would be
// selecting on it.
absl::StatusOr<Reduction> parse_reduction(const std::string& text, const std::string& reports,
                                          const std::string& field);

}  // namespace locus
