// The state of a search: the fold of its log, nothing besides. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/search/decision.h"
#include "core/search/pieces.h"

namespace locus {

enum class UnitState { kWaiting, kRunning, kParked, kStopped, kFailed, kFinished };
const char* to_string(UnitState);  // "waiting", ...

// A unit as the log has it.
struct UnitCourse {
  UnitState state = UnitState::kWaiting;
  std::int64_t bracket = 0, rung = -1;  // the highest it was sent to; -1: none. Bracket -1: it has no place in any
  std::vector<std::optional<double>> scores;  // by rung sent to, larger better; nothing: not there yet; -inf: failed
  std::map<std::int64_t, double> curve;       // step -> mean over its trials, larger better, of complete steps
  std::string reason;                         // of its stop
  bool settled = false;                       // it did not go on, and nothing of it is kept
  bool overruled = false;                     // a person let it go on: no rule stops it between rungs any more
};

// A phase as the rules see it (core/search/course.h).
struct PhaseCourse;

// A value that the rules want to see: of a trial at a step (kToTheEnd: its result). Always asked for in trial order.
struct DueValue {
  std::int64_t trial = 0, step = 0;
  std::string metric = {};     // empty: the contract's
  bool only_if_there = false;  // a point of a curve: observed where there is a value, never as missing
  auto operator<=>(const DueValue&) const = default;
};

// Phases follow one another in one log, each with a `begin` of its own. A further `begin` of a phase that has begun extends it where its
// generation is the same (units are matched by cell and trial, what they have reached and a choice stay), and starts it and those after
// it anew where it is higher. Copies are cheap: state is copied by the first take() after one. Thread-compatible.
class Fold {
 public:
  // Of a whole log. DATA_LOSS where a row cannot be read, or does not follow those before it.
  static absl::StatusOr<Fold> of(std::span<const DecisionRow> log);
  // The next row, in time that depends on what it changes and not on the log. DATA_LOSS likewise, and nothing has changed.
  absl::Status take(const DecisionRow& row);

  std::int64_t decided() const;  // number of the last row
  std::int64_t generation() const;
  std::size_t phases() const;  // that have begun
  // Of a phase that has begun; the last one by default.
  const SearchSetup& setup(std::size_t phase) const;
  const Pieces<UnitCourse>& units(std::size_t phase) const;
  const std::vector<ChosenCandidate>* choice(std::size_t phase) const;  // null: not chosen yet
  bool phase_ended(std::size_t phase) const;
  bool ended() const;  // every phase that was announced (`begin` of the first says how many) has ended
  const std::string& reason(std::size_t phase) const;
  // How far each trial may go; one that is absent waits. Of all phases.
  std::map<std::int64_t, std::int64_t> wants() const;
  std::optional<std::int64_t> want(std::int64_t trial) const;  // of one; nothing: it waits
  // What the rules of the present phase still want to see, of trials that were sent there.
  std::vector<DueValue> due() const;
  std::vector<DueValue> due(std::int64_t trial) const;  // of one
  // What was observed without a value, or with one that is not finite, and may be observed anew (`revises`) once a rerun has brought
  // one. Of the present phase, in trial order.
  std::vector<DueValue> lost() const;
  std::vector<DueValue> lost(std::int64_t trial) const;  // of one
  // The observation there is of a trial at a step: its number; 0: none.
  std::int64_t observed(std::int64_t trial, std::int64_t step, const std::string& metric = {}) const;
  // Granted so far, repeated and shared units free: what a budget is checked against.
  struct Spent {
    std::int64_t proposals = 0, stages = 0;
    double epochs = 0;
  };
  Spent spent(std::size_t phase) const;

  // The phase that is judged: the first that has begun and not ended, else the last; nothing before the first begins.
  std::optional<std::size_t> present() const;
  const PhaseCourse& course(std::size_t phase) const;

  Fold();

 private:
  struct Impl;
  const PhaseCourse* judged() const;  // the present phase; null where none is under way
  Impl& own();                        // this fold's alone: copied first where others hold it
  std::shared_ptr<Impl> impl_;
};

}  // namespace locus
