// How long a stage has trained when it reaches a step, whatever pauses lie between its attempts.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"

namespace locus {

// Reads only the worker's own times, so a clock that is wrong, or another on the next worker, does not
// matter: an attempt counts from the step it resumed at, its first stretch taken at its own pace.
class TrainingClock {
 public:
  // Of the stage that has this series. Blocks; fails as Store::points does.
  static absl::StatusOr<TrainingClock> of(Store& store, StageId stage, const SeriesKey& key);

  // Of what has no training behind it: seconds since this point.
  static TrainingClock since(const Point& first);

  // Seconds of training behind a point of the series that is not superseded.
  double at(const Point& point) const;

 private:
  struct Piece {            // an attempt, as far as it counts
    std::int64_t from = 0;  // the step it resumed at
    Point first;
    double before = 0;  // seconds of training at `from`
    double pace = 0;    // seconds a step
  };
  static double within(const Piece& piece, const Point& point);
  std::vector<Piece> pieces_;  // by attempt
};

}  // namespace locus
