// The invariants of searches: see search_watch.h.
// 15 a log has no gap, nothing in it changes, and the search knows its last number
// 16 every verdict is what its rule answers to the log before it; what was chosen stays chosen
// 17 links want what the log grants their trials, and those of a later phase run what was chosen; a stage is granted up to the
//    largest want
// 18 nothing is granted beyond its stop point, nothing that is wanted further stays parked
// 19 the log grants no more than the budget and `parallel` allow
// 20 every observed value is that of the curve; in peace everything that is known is observed
// 21 what is parked and may go on has its newest checkpoint, and goes on from it
// 22 an acknowledged proposal is in the log once
// 23 in peace every search ends
// 24 the rules that wait decide the same whatever runs where, when and how well (simulation_search_test.cc)
// 25 a training that has parked has the curve of one that ran through (ledger.cc)
#include "tests/simulation/search_watch.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/search/judge.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/search_script.h"

namespace locus::simulation {
namespace {

std::string search_text(ExperimentId experiment) { return "the search of experiment " + std::to_string(experiment); }

bool further(std::int64_t until, std::int64_t done) { return until == kToTheEnd || until > done; }

std::optional<CheckpointRow> newest(StageId stage, Store& store) {
  const std::vector<CheckpointRow> rows = store.checkpoints(stage).value();
  const auto last = std::max_element(rows.begin(), rows.end(), [](const CheckpointRow& a, const CheckpointRow& b) {
    return std::pair(a.attempt, a.step) < std::pair(b.attempt, b.step);
  });
  return last == rows.end() ? std::nullopt : std::optional(*last);
}

}  // namespace

std::int64_t stop_point(StageId stage, Store& store) {
  std::int64_t furthest = kNoFurther;
  const std::vector<StageReference> references = store.references(stage).value();
  for (const StageReference& reference : references) {
    if (reference.until_step == kToTheEnd) return kToTheEnd;
    furthest = std::max(furthest, reference.until_step);
  }
  return furthest;
}

void SearchWatch::enter(const AppendDecisions& appended, Store& store) {
  Log& log = logs_[appended.experiment_id];
  for (const DecisionRow& row : appended.rows) {
    if (row.number != log.fold.decided() + 1)
      throw Violation(15, search_text(appended.experiment_id) + " goes on at " + std::to_string(row.number));
    take(log, row, store);
    world_.trace("  ", search_text(appended.experiment_id), ", ", row.number, ": ", row.kind, " ", row.json);
  }
  const std::vector<DecisionRow> stored = store.decisions(appended.experiment_id, 0, 0).value();
  if (stored.size() != log.rows.size() + appended.rows.size() ||
      !std::equal(log.rows.begin(), log.rows.end(), stored.begin()))
    throw Violation(15, search_text(appended.experiment_id) + " has another log than it had");
  log.rows = stored;
  const SearchRow row = store.search(appended.experiment_id).value();
  if (row.decided != log.fold.decided() || (row.state == SearchState::kEnded) != log.fold.ended())
    throw Violation(15, search_text(appended.experiment_id) + " is not the fold of its log");
  check_limits(appended.experiment_id, log, store);
}

void SearchWatch::take(Log& log, const DecisionRow& row, Store& store) {
  const auto decision = read(row);
  if (!decision.ok()) throw Violation(15, "a decision cannot be read: " + decision.status().ToString());
  if (const auto* seen = std::get_if<ObserveDecision>(&*decision)) check_observed(row, *seen, log, store);
  if (!row.rule.empty()) {
    if (const auto wrong = disagreement(log.fold, row))
      throw Violation(16, "decision " + std::to_string(row.number) + ", " + row.kind + ": " + *wrong);
  }
  log.overridden = log.overridden || row.kind == "override";
  ++seen_[row.kind];
  if (const absl::Status taken = log.fold.take(row); !taken.ok()) throw Violation(16, taken.ToString());
  if (log.fold.phases() > 1) ++seen_["of a second phase"];
  const auto* choice = log.fold.choice(0);
  if (choice == nullptr) return;
  const std::string& first = log.chosen.try_emplace(row.generation, choice->front().candidate).first->second;
  if (choice->front().candidate != first)
    throw Violation(16, "decision " + std::to_string(row.number) + ": " + first + " was chosen, and now " +
                            choice->front().candidate);
}

// Invariant 17, of a trial of the second phase.
void SearchWatch::check_retrained(const TrialView& view, const Fold& fold, Store& store) const {
  if (view.stages.empty()) return;
  const std::string text = "trial " + std::to_string(view.trial.ordinal) + " of a second phase";
  if (fold.phases() < 2) {
    // Replaced rules begin anew: until they have chosen, their trials keep what the former ones gave them (ADR 33).
    if (fold.generation() > 1) return;
    throw Violation(17, text + " has stages before anything was chosen");
  }
  const std::string meant = testing::train_identity(retrained(fold.choice(0)->front().candidate), view.trial.seed);
  if (store.stage(view.stages.front().stage.id)->identity != meant)
    throw Violation(17, text + " runs something else than was chosen: " + view.stages.front().stage.identity);
}

// Invariant 20.
void SearchWatch::check_observed(const DecisionRow& row, const ObserveDecision& seen, const Log& log,
                                 Store& store) const {
  (void)log;
  if (!seen.value) return;
  const StageRow stage = store.stage(seen.stage).value();
  const double meant = loss_at(stage.config_json, seen.step == kToTheEnd ? kTrainingSteps : seen.step);
  if (*seen.value != meant && !(std::isnan(*seen.value) && std::isnan(meant)))
    throw Violation(20, "decision " + std::to_string(row.number) + " observes " + std::to_string(*seen.value) +
                            " where the curve has " + std::to_string(meant));
}

// Invariant 19. What a person lets go on is not asked for its price.
void SearchWatch::check_limits(ExperimentId experiment, const Log& log, Store& store) const {
  const auto row = store.experiment(experiment);
  if (!row.ok() || log.overridden || log.fold.phases() == 0) return;
  const Json spec = Json::parse(row->spec_json).at("search");
  const auto budget = spec.at("budget").get<std::int64_t>(), parallel = spec.at("parallel").get<std::int64_t>();
  if (budget > 0 && log.fold.spent(0).epochs > static_cast<double>(budget))
    throw Violation(19, search_text(experiment) + " has granted more epochs than its budget has");
  const Pieces<UnitCourse>& units = log.fold.units(0);
  const auto running = std::ranges::count(units, UnitState::kRunning, &UnitCourse::state);
  if (parallel > 0 && !spec.at("by_trial").get<bool>() && running > parallel)
    throw Violation(19, search_text(experiment) + " has " + std::to_string(running) + " unfinished proposals");
}

// Invariant 17.
void SearchWatch::check_links(ExperimentId experiment, Store& store) const {
  const auto log = logs_.find(experiment);
  const auto row = store.experiment(experiment);
  if (log == logs_.end() || !row.ok() || row->state == ExperimentState::kCancelled) return;
  const std::map<std::int64_t, std::int64_t> wants = log->second.fold.wants();
  const std::vector<TrialView> views = store.trials(experiment, -1, 1000).value();
  std::map<std::int64_t, std::string> labels;
  const std::vector<CellRow> cells = store.cells(experiment).value();
  for (const CellRow& cell : cells) labels[cell.ordinal] = cell.label;
  for (const TrialView& view : views) {
    if (view.trial.retired || view.stages.empty()) continue;
    if (labels.at(view.trial.cell) == kChosenCell) check_retrained(view, log->second.fold, store);
    const auto want = wants.find(view.trial.ordinal);
    const std::int64_t granted = want == wants.end() ? kNoFurther : want->second;
    if (view.stages.front().link.until_step != granted)
      throw Violation(17, "trial " + std::to_string(view.trial.ordinal) + " of experiment " +
                              std::to_string(experiment) + " wants step " +
                              std::to_string(view.stages.front().link.until_step) + ", granted is " +
                              std::to_string(granted));
  }
}

void SearchWatch::check_grant(const GrantAttempt& grant, Store& store) const {
  const std::string text = "stage " + std::to_string(grant.stage_id);
  const std::int64_t stop = stop_point(grant.stage_id, store);
  if (grant.until_step != stop)
    throw Violation(
        18, text + " is granted up to " + std::to_string(grant.until_step) + ", wanted is " + std::to_string(stop));
  const std::vector<AttemptRow> attempts = store.attempts(grant.stage_id).value();
  const auto checkpoint = newest(grant.stage_id, store);
  if (attempts.size() < 2 || attempts[attempts.size() - 2].state != AttemptState::kParked || !checkpoint) return;
  if (grant.resume_step != checkpoint->step)
    throw Violation(21, text + " goes on from step " + std::to_string(grant.resume_step) + " and had parked at " +
                            std::to_string(checkpoint->step));
}

void SearchWatch::check_parked(StageId stage, Store& store) const {
  const StageRow row = store.stage(stage).value();
  if (row.state != StageState::kParked || store.references(stage)->empty()) return;
  const std::int64_t stop = stop_point(stage, store);
  const std::vector<AttemptRow> attempts = store.attempts(stage).value();
  const auto checkpoint = newest(stage, store);
  const std::string text = "stage " + std::to_string(stage);
  if (further(stop, checkpoint ? checkpoint->step : 0)) {
    if (!checkpoint && !attempts.empty() && stop != kToTheEnd)
      throw Violation(21, text + " has parked and lost its checkpoint, and is wanted");
    throw Violation(18, text + " is parked at step " + std::to_string(checkpoint ? checkpoint->step : 0) +
                            " and wanted to step " + std::to_string(stop));
  }
}

void SearchWatch::forget(ExperimentId experiment) {
  logs_.erase(experiment);
  std::erase_if(promised_, [&](const auto& promise) { return promise.first == experiment; });
}

const Fold* SearchWatch::fold(ExperimentId experiment) const {
  const auto log = logs_.find(experiment);
  return log == logs_.end() ? nullptr : &log->second.fold;
}

std::vector<ExperimentId> SearchWatch::searches() const {
  std::vector<ExperimentId> out;
  for (const auto& [id, log] : logs_) out.push_back(id);
  return out;
}

std::int64_t SearchWatch::seen(const std::string& kind) const {
  const auto found = seen_.find(kind);
  return found == seen_.end() ? 0 : found->second;
}

std::multiset<std::string> SearchWatch::decisions(ExperimentId experiment) const {
  std::multiset<std::string> out;
  for (const DecisionRow& row : logs_.at(experiment).rows) {
    if (!row.rule.empty()) out.insert(row.kind + " " + row.json);
  }
  return out;
}

// Invariants 22 and 23.
void SearchWatch::check_end(Store& store) const {
  for (const auto& [experiment, asked] : promised_) {
    const auto log = logs_.find(experiment);
    if (log == logs_.end()) continue;
    const auto times = std::ranges::count_if(
        log->second.rows, [&asked = asked](const DecisionRow& row) { return row.request_id.starts_with(asked); });
    if (times != 1) throw Violation(22, "the proposal " + asked + " is in the log " + std::to_string(times) + " times");
  }
  for (const auto& [id, log] : logs_) {
    const auto row = store.experiment(id);
    if (!row.ok() || row->state != ExperimentState::kActive || log.fold.ended()) continue;
    if (Json::parse(row->spec_json).at("search").at("rule") == "external") continue;  // its client may go on
    std::string waits;
    const std::vector<std::string> next = expected_next(log.fold);
    for (const std::string& sentence : next) waits += " " + sentence;
    throw Violation(23, search_text(id) + " has not ended:" + waits);
  }
}

}  // namespace locus::simulation
