// What has become known of trials: points at a step, results by the contract.
#include <algorithm>
#include <cmath>

#include "core/analysis/measurements.h"
#include "core/analysis/reduce.h"
#include "core/base/error.h"
#include "core/conduct/turn.h"
#include "core/search/course.h"

namespace locus {
namespace {

constexpr char kWhole[] = "{}", kPart[] = "images";

bool ended_badly(StageState state) {
  return state == StageState::kFailed || state == StageState::kHeld || state == StageState::kCancelled;
}

// Which series to look into first: the one that is asked for, that of all images, that of some of them.
int rank_of_labels(const std::string& asked, const std::string& labels) {
  if (labels == asked) return 0;
  if (labels == kWhole) return 1;
  if (asked != kWhole) return -1;
  const Json json = Json::parse(labels, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.size() == 1 && json.contains(kPart) ? 2 : -1;
}

// The contract's number over the results there are, with what it makes of training's curve.
absl::StatusOr<std::optional<double>> value_by_contract(Store& store, const TrialView& trial, const std::string& metric,
                                                        const SearchSetup& setup) {
  ResultsByStage results;
  StageBriefs briefs;
  for (const TrialStageView& stage : trial.stages) {
    if (stage.stage.state != StageState::kSucceeded) continue;
    LOCUS_ASSIGN_OR_RETURN(results[stage.stage.id], store.stage_results(stage.stage.id));
    briefs.stages.push_back({trial.trial.ordinal, trial.trial.cell, trial.trial.seed, stage.stage.id, stage.stage.kind,
                             stage.stage.state, -1});
  }
  MetricContract contract;
  contract.name = metric.empty() ? setup.metric : metric;
  contract.reports = contract.selects_on = setup.split;
  contract.direction = setup.maximize ? "max" : "min";
  contract.reduce = setup.reduce;
  LOCUS_RETURN_IF_ERROR(add_contract_results(store, briefs, contract, results));
  const SeriesKey key{contract.name, setup.split, setup.labels};
  if (const auto value = measured(trial, results, key, setup.reduce)) return value;
  return measured_any_labels(trial, results, contract.name, setup.split, setup.reduce);
}

}  // namespace

absl::StatusOr<std::optional<double>> ConductorTurn::point_at(StageId stage, const DueValue& due) {
  const SearchSetup& setup = fold_.setup(static_cast<std::size_t>(phase()));
  const std::string& metric = due.metric.empty() ? setup.metric : due.metric;
  const auto series = store_.series(stage);
  if (absl::IsNotFound(series.status())) return std::nullopt;
  LOCUS_RETURN_IF_ERROR(series.status());
  std::vector<std::pair<int, SeriesKey>> keys;
  for (const SeriesRow& row : *series) {
    if (row.key.metric != metric || row.key.split != setup.split) continue;
    if (const int rank = rank_of_labels(setup.labels, row.key.labels); rank >= 0) keys.emplace_back(rank, row.key);
  }
  std::sort(keys.begin(), keys.end());
  for (const auto& [rank, key] : keys) {
    const auto found = store_.points(stage, key, 0, {due.step, due.step});
    if (absl::IsNotFound(found.status())) continue;
    LOCUS_RETURN_IF_ERROR(found.status());
    if (!found->points.empty()) return found->points.back().value;
  }
  return std::nullopt;
}

// The trial with its stages: as linked, where its links are what the log grants it by now; otherwise those it would be linked
// to, of which some may be there from older experiments.
absl::StatusOr<TrialView> ConductorTurn::stages_of(std::int64_t ordinal, bool* linked) {
  *linked = false;
  LOCUS_ASSIGN_OR_RETURN(const TrialView* found, trial(ordinal));
  if (found == nullptr) return TrialView{{ordinal, 0, 0, false}, {}};  // added in this turn
  const auto& stages = found->stages;
  *linked = rehearsal_;  // what has failed there, has
  if (!rehearsal_ && !stages.empty() && stages.front().link.until_step != kNoFurther) {
    auto want = wants_.find(ordinal);
    if (want == wants_.end()) want = wants_.emplace(ordinal, fold_.want(ordinal)).first;
    *linked = want->second == stages.front().link.until_step;
    return *found;
  }
  LOCUS_RETURN_IF_ERROR(plan({ordinal}));
  TrialView out{found->trial, {}};
  for (const TrialStages::Planned& planned : planned_[ordinal].stages) {
    TrialStageView& view = out.stages.emplace_back();
    view.link = {ordinal, planned.role, 0};
    if (const auto row = stored_.find(planned.identity); row != stored_.end()) view.stage = row->second;
  }
  return out;
}

absl::StatusOr<ConductorTurn::Known> ConductorTurn::at_step(const StageRow& stage, const DueValue& due, bool linked) {
  Known out{false, std::nullopt, stage.id, stage.attempt};
  if (stage.id == 0) return out;
  if (stage.attempt > 0) {
    LOCUS_ASSIGN_OR_RETURN(out.value, point_at(stage.id, due));
    out.known = out.value.has_value();
  }
  if (out.known || !linked) return out;
  out.known = ended_badly(stage.state) || stage.state == StageState::kSucceeded;
  if (stage.state == StageState::kParked) {  // past the step without a value there
    LOCUS_ASSIGN_OR_RETURN(const auto checkpoints, store_.checkpoints(stage.id));
    out.known =
        std::any_of(checkpoints.begin(), checkpoints.end(), [&](const auto& one) { return one.step >= due.step; });
  }
  return out;
}

absl::StatusOr<ConductorTurn::Known> ConductorTurn::by_contract(const TrialView& trial, const DueValue& due,
                                                                bool linked) {
  const StageRow& training = trial.stages.front().stage;
  Known out{false, std::nullopt, training.id, training.attempt};
  if (training.id == 0) return out;
  const bool failed = std::any_of(trial.stages.begin(), trial.stages.end(),
                                  [](const TrialStageView& stage) { return ended_badly(stage.stage.state); });
  const bool all = std::all_of(trial.stages.begin(), trial.stages.end(),
                               [](const TrialStageView& stage) { return stage.stage.state == StageState::kSucceeded; });
  if (training.state == StageState::kSucceeded) {
    LOCUS_ASSIGN_OR_RETURN(
        out.value, value_by_contract(store_, trial, due.metric, fold_.setup(static_cast<std::size_t>(phase()))));
    out.known = out.value.has_value();
  }
  if (linked && (failed || all)) out.known = true;
  return out;
}

absl::StatusOr<ConductorTurn::Known> ConductorTurn::known(const DueValue& due) {
  bool linked = false;
  LOCUS_ASSIGN_OR_RETURN(const TrialView trial, stages_of(due.trial, &linked));
  if (trial.stages.empty()) return Known{};
  if (due.step == kToTheEnd) return by_contract(trial, due, linked);
  return at_step(trial.stages.front().stage, due, linked);
}

// Of units under way new points may be there at any time, and nobody says so.
void ConductorTurn::look_at_curves() {
  const PhaseCourse& course = fold_.course(static_cast<std::size_t>(phase()));
  if (whole_ || course.setup->search.stops.empty()) return;
  for (std::int64_t unit = 0; static_cast<std::size_t>(unit) < course.units.size(); ++unit) {
    if (!course.running(unit)) continue;
    for (const std::int64_t trial : course.trials_at(unit, course.units[static_cast<std::size_t>(unit)].rung))
      look_.insert(trial);
  }
}

absl::StatusOr<bool> ConductorTurn::observe() {
  if (fold_.phases() == 0) return false;
  bool moved = false;
  wants_.clear();
  look_at_curves();
  std::vector<DueValue> list;
  const auto add = [&](const std::vector<DueValue>& values) { list.insert(list.end(), values.begin(), values.end()); };
  if (whole_) {
    add(fold_.due());
    add(fold_.lost());
  }
  for (const std::int64_t trial : look_) {
    if (whole_) break;
    add(fold_.due(trial));
    add(fold_.lost(trial));
  }
  std::sort(list.begin(), list.end());
  for (const DueValue& due : list) {
    if (!looked_.insert(due).second) continue;
    const std::int64_t former = fold_.observed(due.trial, due.step, due.metric);
    LOCUS_ASSIGN_OR_RETURN(const Known found, known(due));
    const bool nothing = !found.value || !std::isfinite(*found.value);
    if (!found.known || (nothing && former != 0) || (!found.value && due.only_if_there)) continue;
    const ObserveDecision seen{.trial = due.trial,
                               .step = due.step,
                               .value = found.value,
                               .metric = due.metric,
                               .stage = found.stage,
                               .attempt = found.attempt,
                               .revises = former};
    DecisionRow row = written(seen);
    row.generation = 0;
    row.phase = phase();
    LOCUS_RETURN_IF_ERROR(append(seen, std::move(row)));
    moved = true;
  }
  return moved;
}

}  // namespace locus
