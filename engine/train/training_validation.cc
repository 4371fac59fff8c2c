// How a training validates: where, on what, and what becomes of the scores.
#include <algorithm>
#include <cmath>

#include "engine/train/evaluation.h"
#include "engine/train/training.h"
#include "engine/train/training_data.h"

namespace locus::engine {

// A process whose first evaluation is its last one was seen to round the last bit of a full validation
// differently (the matrix library's choice of kernels depends on what ran before). One unrecorded evaluation
// gives a resumed process the history that an undisturbed one has.
void Training::warm_up() {
  const EvaluationSet set = validation_set();
  if (set.source->size() == 0) return;
  const Autocast cast(settings_.eval_precision, context_.device);
  const std::unique_ptr<Accumulator> unrecorded = task_->accumulator();
  task_->eval();
  evaluate_part(set, 0, std::min<std::int64_t>(settings_.validation_images, set.source->size()), *unrecorded);
  task_->train();
}

EvaluationSet Training::validation_set() const {
  return scored_set(dataset_->split("validation"), *input_, {}, *task_, context_.execution);
}

bool Training::validation_due() const {
  if (settings_.validate_every <= 0) return false;
  const double steps = settings_.validate_every * static_cast<double>(loader_.batches_per_epoch());
  return step_ % std::max<std::int64_t>(1, std::llround(steps)) == 0;
}

bool Training::validate(bool last) {
  const EvaluationSet set = validation_set();
  const std::int64_t all = set.source->size();
  if (all == 0) return false;  // a dataset need not have a validation split
  const std::int64_t some = settings_.validation_images > 0 ? std::min(settings_.validation_images, all) : all;
  const ReportedWeights reported(hooks_, *task_);
  const Autocast cast(settings_.eval_precision, context_.device);
  const std::unique_ptr<Accumulator> accumulator = task_->accumulator();
  task_->eval();
  context_.observer.progress(step_, steps_, "validate");
  evaluate_part(set, 0, some, *accumulator);
  const Json labels = some == all ? Json::object() : Json{{"images", some}};
  const std::vector<Score> scores = scores_of(*accumulator);
  // Curves are of the whole; single classes are results.
  for (const Score& score : scores) {
    if (score.labels.empty()) point(score.metric, "validation", score.value, labels);
  }
  const bool best = best_.offer(scores, *task_, state_now());
  std::vector<Score> of_all = scores;
  if (last) {
    if (some < all) {
      evaluate_part(set, some, all, *accumulator);
      of_all = scores_of(*accumulator);
    }
    for (const Score& score : of_all) {
      if (some < all && score.labels.empty()) point(score.metric, "validation", score.value);
      result(score.metric, "validation", "last", score.value, score.labels);
    }
    score_others(set);
  }
  narration_->validated(of_all);
  task_->train();
  return best;
}

// Of the last model: papers differ in whether they print the weights that learned or their average.
void Training::score_others(const EvaluationSet& set) {
  for (const auto& hook : hooks_) {
    const std::string which = hook->exchange_others(*task_);
    if (which.empty()) continue;
    const std::unique_ptr<Accumulator> accumulator = task_->accumulator();
    evaluate_part(set, 0, set.source->size(), *accumulator);
    hook->exchange_others(*task_);
    const std::vector<Score> scores = scores_of(*accumulator);
    for (const Score& score : scores)
      result(score.metric + "_" + which, "validation", "last", score.value, score.labels);
  }
}

}  // namespace locus::engine
