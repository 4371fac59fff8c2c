// Asks the rules until they wait.
#include "core/conduct/conduct.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/conduct/turn.h"
#include "core/search/course.h"
#include "core/search/judge.h"

namespace locus {
namespace {

absl::Status wrong_state(std::string message) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState, std::move(message));
}

}  // namespace

// ---- the turn ----

std::vector<std::vector<ChosenCandidate>> ConductorTurn::choices() const {
  std::vector<std::vector<ChosenCandidate>> out(fold_.phases());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (const auto* chosen = fold_.choice(i)) out[i] = *chosen;
  }
  return out;
}

absl::Status ConductorTurn::append(const SearchDecision& decision, DecisionRow row) {
  row.number = fold_.decided() + 1;
  if (row.generation == 0) row.generation = fold_.generation();
  LOCUS_RETURN_IF_ERROR(fold_.take(row));
  rows_.push_back(std::move(row));
  note(decision);
  return absl::OkStatus();
}

void ConductorTurn::note(const SearchDecision& decision) {
  const auto grants = [&](const std::vector<std::int64_t>& units) {
    const PhaseCourse& course = fold_.course(static_cast<std::size_t>(phase()));
    for (const std::int64_t unit : units) {
      for (const std::int64_t trial : course.granted(unit, course.units[static_cast<std::size_t>(unit)].rung))
        look_.insert(trial), change_.insert(trial);
    }
  };
  if (const auto* seen = std::get_if<ObserveDecision>(&decision)) {
    change_.insert(seen->trial);
  } else if (const auto* proposed = std::get_if<ProposeDecision>(&decision)) {
    grants(proposed->units);
  } else if (const auto* advanced = std::get_if<AdvanceDecision>(&decision)) {
    grants(advanced->units);
    grants(advanced->settled);
  } else if (const auto* stopped = std::get_if<StopDecision>(&decision)) {
    grants(stopped->units);
  } else if (const auto* overridden = std::get_if<OverrideDecision>(&decision)) {
    grants(overridden->units);
  } else {
    whole_ = true;  // a phase begins, chooses or ends
  }
}

absl::Status ConductorTurn::renew() {
  whole_ = true;
  LOCUS_RETURN_IF_ERROR(load_trials());
  LOCUS_ASSIGN_OR_RETURN(phases_, script_.phases(row_));
  const auto chosen = choices();
  std::vector<SearchSetup> setups;
  for (std::size_t i = 0; i < std::min(fold_.phases(), *phases_); ++i) {
    LOCUS_ASSIGN_OR_RETURN(setups.emplace_back(), script_.setup(row_, i, std::span(chosen).first(i)));
  }
  std::vector<DecisionRow> rows = begins(fold_, setups, /*anew=*/false);
  for (DecisionRow& row : rows) LOCUS_RETURN_IF_ERROR(append(BeginDecision{}, std::move(row)));
  return absl::OkStatus();
}

absl::StatusOr<bool> ConductorTurn::begin() {
  const std::size_t begun = fold_.phases();
  for (std::size_t i = 0; i < begun; ++i) {
    if (!fold_.phase_ended(i)) return false;
  }
  if (!phases_) {
    LOCUS_ASSIGN_OR_RETURN(phases_, script_.phases(row_));
  }
  if (begun >= *phases_) return false;
  const auto chosen = choices();
  LOCUS_ASSIGN_OR_RETURN(const SearchSetup setup, script_.setup(row_, begun, chosen));
  const BeginDecision decision{setup};
  DecisionRow row = written(decision);
  row.generation = std::max<std::int64_t>(1, fold_.generation());
  row.phase = static_cast<std::int64_t>(begun);
  LOCUS_RETURN_IF_ERROR(append(decision, std::move(row)));
  return true;
}

absl::Status ConductorTurn::count_slot_time(const TrialView& view) {
  for (const TrialStageView& stage : view.stages) {
    LOCUS_ASSIGN_OR_RETURN(const auto attempts, store_.attempts(stage.stage.id));
    Microseconds sum = 0;
    for (const AttemptRow& attempt : attempts) {
      if (attempt.ended_us > attempt.started_us)
        sum += (attempt.ended_us - attempt.started_us) * std::max<Microseconds>(1, std::ssize(attempt.slots));
    }
    slot_time_.all += sum - std::exchange(slot_time_.of[stage.stage.id], sum);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ConductorTurn::slot_hours() {
  if (!fold_.setup(static_cast<std::size_t>(phase())).search.budget.slot_hours) return 0;
  if (slot_hours_) return *slot_hours_;
  if (whole_) {
    LOCUS_RETURN_IF_ERROR(load_trials());
    slot_time_ = {};
    for (const auto& [ordinal, view] : trials_) LOCUS_RETURN_IF_ERROR(count_slot_time(view));
  } else {
    std::set<std::int64_t> changed = std::exchange(slot_time_.changed, {});
    changed.insert(look_.begin(), look_.end());
    for (const std::int64_t ordinal : changed) {
      LOCUS_ASSIGN_OR_RETURN(const TrialView* view, trial(ordinal));
      if (view != nullptr) LOCUS_RETURN_IF_ERROR(count_slot_time(*view));
    }
  }
  slot_hours_ = static_cast<double>(slot_time_.all) / 3.6e9;
  return *slot_hours_;
}

absl::StatusOr<bool> ConductorTurn::judged() {
  bool moved = false;
  if (fold_.phases() == 0) return false;
  LOCUS_ASSIGN_OR_RETURN(const double hours, slot_hours());
  while (rows_.size() < Conductor::kRowsOfAnEvent) {
    const auto verdict = judge(fold_, hours);
    if (!verdict) return moved;
    DecisionRow row = written(verdict->decision);
    row.generation = 0;
    row.phase = phase();
    row.rule = verdict->rule;
    row.rule_revision = verdict->revision;
    const bool again = moved && rows_.back().kind == row.kind && rows_.back().json == row.json;
    if (again) {
      return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                        "the rule " + row.rule + " answers " + row.kind + " twice to the same search: " + row.json);
    }
    LOCUS_RETURN_IF_ERROR(append(verdict->decision, std::move(row)));
    moved = true;
  }
  return moved;
}

absl::Status ConductorTurn::run() {
  bool moved = true;
  while (moved && rows_.size() < Conductor::kRowsOfAnEvent) {
    LOCUS_ASSIGN_OR_RETURN(moved, begin());
    LOCUS_ASSIGN_OR_RETURN(const bool saw, observe());
    LOCUS_ASSIGN_OR_RETURN(const bool answered, judged());
    moved = moved || saw || answered;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SearchDecided>> ConductorTurn::event(std::set<std::int64_t>& late) {
  if (rows_.empty() && !loaded_ && change_.empty()) return std::nullopt;
  SearchDecided out;
  out.row = row_;
  out.cells = cells_;
  out.trials = added_;
  LOCUS_RETURN_IF_ERROR(resolve(out, late));
  for (const ExperimentSubmitted::Link& link : out.links) slot_time_.changed.insert(link.trial);
  if (rows_.empty() && out.links.empty()) return std::nullopt;
  out.decisions.experiment_id = row_.id;
  out.decisions.expected = expected_;
  out.decisions.rows = std::move(rows_);
  out.decisions.state = fold_.ended() ? SearchState::kEnded : SearchState::kRunning;
  if (fold_.ended()) out.decisions.reason = fold_.reason(fold_.phases() - 1);
  return out;
}

// ---- the conductor ----

absl::StatusOr<Conductor::Kept*> Conductor::catch_up(ExperimentId experiment) {
  Kept& kept = kept_[experiment];
  const auto search = store_.search(experiment);
  if (absl::IsNotFound(search.status())) {
    kept = Kept{};
    return &kept;
  }
  LOCUS_RETURN_IF_ERROR(search.status());
  if (search->decided < kept.fold.decided()) kept = Kept{};  // another log than the one that was read
  if (search->decided == kept.fold.decided()) return &kept;
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.decisions(experiment, kept.fold.decided(), 0));
  Kept now = std::exchange(kept, Kept{});  // anew, if that fails
  for (const DecisionRow& row : rows) LOCUS_RETURN_IF_ERROR(now.fold.take(row));
  kept = std::move(now);
  return &kept;
}

absl::StatusOr<Fold> Conductor::fold(ExperimentId experiment) {
  LOCUS_ASSIGN_OR_RETURN(const Kept* kept, catch_up(experiment));
  if (kept->fold.decided() == 0) {
    kept_.erase(experiment);
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kSearchNotFound,
                      "the experiment has no search that decides anything");
  }
  return kept->fold;
}

absl::StatusOr<std::optional<SearchDecided>> Conductor::next(ExperimentId experiment, const SearchWish* wish,
                                                             const std::set<std::int64_t>* moved) {
  const auto row = store_.experiment(experiment);
  if (!row.ok()) {
    kept_.erase(experiment);
    return row.status();
  }
  if (row->state == ExperimentState::kCancelled) {
    if (wish == nullptr) return std::nullopt;
    return wrong_state("experiment " + row->name + " is cancelled; rerun it or submit it again first");
  }
  LOCUS_ASSIGN_OR_RETURN(Kept * kept, catch_up(experiment));
  ConductorTurn turn(store_, script_, *row, kept->fold, kept->slot_time, moved, kept->late);
  const bool renewed = kept->revision != row->revision;
  if (renewed) LOCUS_RETURN_IF_ERROR(turn.renew());
  if (wish != nullptr) {
    if (!wish->request_id.empty()) {
      const auto taken = store_.decision_of_request(wish->request_id);
      if (taken.ok() && taken->first == experiment) return std::nullopt;
      if (taken.ok()) return wrong_state("request " + wish->request_id + " was one to another experiment");
      if (!absl::IsNotFound(taken.status())) return taken.status();
    }
    if (kept->fold.phases() == 0)
      return wrong_state("the search of experiment " + row->name + " has not begun; try again shortly");
    LOCUS_RETURN_IF_ERROR(turn.take(*wish));
  } else if (!renewed && kept->fold.ended()) {
    return std::nullopt;
  }
  LOCUS_RETURN_IF_ERROR(turn.run());
  LOCUS_ASSIGN_OR_RETURN(auto event, turn.event(kept->late));
  if (!event) kept->revision = row->revision, kept->late.clear();
  return event;
}

}  // namespace locus
