// How long a stage has trained.
#include "core/analysis/training_clock.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/experiment/retention.h"

namespace locus {
namespace {

constexpr double kPerSecond = 1e6;
constexpr int kEnds = 16;  // the fewest points a store gives: the first and the last are among them

double paced(const Point& first, const Point& last) {
  if (last.step <= first.step) return 0;
  const double seconds = static_cast<double>(last.time_us - first.time_us) / kPerSecond;
  return std::max(0.0, seconds / static_cast<double>(last.step - first.step));
}

}  // namespace

double TrainingClock::within(const Piece& piece, const Point& point) {
  const double since = static_cast<double>(point.time_us - piece.first.time_us) / kPerSecond;
  return piece.before + static_cast<double>(piece.first.step - piece.from) * piece.pace + std::max(0.0, since);
}

absl::StatusOr<TrainingClock> TrainingClock::of(Store& store, StageId stage, const SeriesKey& key) {
  LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(stage));
  const auto live = live_until(attempts);
  TrainingClock out;
  std::int64_t reached = 0;  // the last point of the piece before
  double seconds = 0, pace = 0;
  for (const AttemptRow& attempt : attempts) {
    const auto bound = live.find(attempt.number);
    if (bound == live.end()) continue;
    StepRange range{0, bound->second};
    if (attempt.resume_step > 0) range.first = attempt.resume_step + 1;
    LOCUS_ASSIGN_OR_RETURN(const SeriesPoints found, store.points(stage, key, kEnds, range));
    if (found.points.empty()) continue;
    const Point &first = found.points.front(), &last = found.points.back();
    Piece piece{attempt.resume_step, first, 0, paced(first, last)};
    if (!out.pieces_.empty()) piece.before = seconds + static_cast<double>(piece.from - reached) * pace;
    seconds = within(piece, last);
    reached = last.step;
    pace = piece.pace;
    out.pieces_.push_back(piece);
  }
  return out;
}

TrainingClock TrainingClock::since(const Point& first) {
  TrainingClock out;
  out.pieces_.push_back({first.step, first, 0, 0});
  return out;
}

double TrainingClock::at(const Point& point) const {
  const Piece* held = nullptr;
  for (const Piece& piece : pieces_) {
    if (held == nullptr || piece.from < point.step) held = &piece;
  }
  return held == nullptr ? 0 : within(*held, point);
}

}  // namespace locus
