// What a log says of a stage while it runs, for people: lines that a clock spaces out. Results never depend on
// it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/stage/stage.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// Seconds since some moment, never going back.
using Seconds = std::function<double()>;
Seconds steady_seconds();

// Decides when the next line is due. The longer a stage has run, the further apart its lines are, so that a log
// of days stays short: at milestones (the ends of epochs) they are a second apart at first and half a minute
// at last, between them ten seconds at first and a minute at last. Not thread-safe.
class Pace {
 public:
  explicit Pace(Seconds clock) : clock_(std::move(clock)), start_(clock_()), last_(start_) {}
  // Whether a line may be printed now; asking counts as printing it.
  bool due(bool milestone);
  double elapsed() const { return clock_() - start_; }

 private:
  Seconds clock_;
  double start_, last_;
};

// "top1 78.31  loss 0.5123"
std::string scores_text(const std::vector<Score>& scores);

// The lines of a training, such as
//   epoch 3/10  step 1407/4690  loss 0.5123  lr 4.1e-04  12.3 ms/step  val top1 78.31  loss 0.6120
// Not thread-safe; `observer` must outlive it.
class Narration {
 public:
  Narration(StageObserver& observer, std::int64_t steps, std::int64_t steps_per_epoch,
            Seconds clock = steady_seconds());

  // What the next line will say: a window of steps, averaged, and a validation. The latter is said once. `waited`: the share
  // of the time that steps waited for data, said from 1 % on.
  void window(double loss, double rate, double milliseconds, double waited = 0);
  void validated(const std::vector<Score>& scores) { scores_ = scores_text(scores); }
  // `step` steps are done: prints a line if one is due, the last step's in any case.
  void reached(std::int64_t step);

 private:
  StageObserver& observer_;
  std::int64_t steps_, per_epoch_;
  Pace pace_;
  std::string window_, scores_;
};

}  // namespace locus::engine
