// Plans a submission for a conductor.
#include "server/application/merged_script.h"

#include "core/base/error.h"
#include "server/application/search_script.h"

namespace locus::server {

StoredPlaces merged_places(const Merge& merged) {
  StoredPlaces out;
  for (const CellRow& cell : merged.cells) out.cells[cell.row_key] = cell.ordinal;
  for (const TrialRow& trial : merged.trials) {
    if (!trial.retired) out.trials[{trial.cell, trial.seed}] = trial.ordinal;
  }
  return out;
}

absl::StatusOr<std::shared_ptr<const MergedScript::Planned>> MergedScript::planned(
    std::span<const std::vector<ChosenCandidate>> choices) {
  auto& known = planned_[key_of(choices)];
  if (known) return known;
  auto made = std::make_shared<Planned>();
  LOCUS_ASSIGN_OR_RETURN(made->experiment, plan_stored(specification_, catalog_, choices, merged_.cells));
  const StoredPlaces places = merged_places(merged_);
  const ExperimentPlan& whole = made->experiment.whole;
  for (std::size_t i = 0; i < whole.trials.size(); ++i) {
    const auto cell = places.cells.find(whole.cells[static_cast<std::size_t>(whole.trials[i].cell)].row_key);
    if (cell == places.cells.end()) continue;
    const auto ordinal = places.trials.find({cell->second, whole.trials[i].seed});
    if (ordinal != places.trials.end()) made->trials[ordinal->second] = i;
  }
  return known = std::move(made);
}

absl::StatusOr<std::size_t> MergedScript::phases(const ExperimentRow&) {
  LOCUS_ASSIGN_OR_RETURN(const auto all, planned({}));
  return all->experiment.phases.size();
}

absl::StatusOr<SearchSetup> MergedScript::setup(const ExperimentRow& experiment, std::size_t phase,
                                                std::span<const std::vector<ChosenCandidate>> choices) {
  LOCUS_ASSIGN_OR_RETURN(const auto all, planned(choices));
  if (phase < all->experiment.phases.size() && !all->experiment.phases[phase].deferred)
    return phase_setup(all->experiment, phase, merged_places(merged_), catalog_);
  return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                    "phase " + std::to_string(phase) + " of experiment " + experiment.name +
                        " was to begin before all it uses is chosen");
}

absl::StatusOr<std::map<std::int64_t, TrialStages>> MergedScript::stages(
    const ExperimentRow&, std::span<const std::int64_t> trials, std::span<const std::vector<ChosenCandidate>> choices) {
  LOCUS_ASSIGN_OR_RETURN(const auto all, planned(choices));
  std::map<std::int64_t, TrialStages> out;
  for (const std::int64_t trial : trials) {
    if (const auto place = all->trials.find(trial); place != all->trials.end())
      out[trial] = trial_stages(all->experiment.whole.trials[place->second]);
  }
  return out;
}

}  // namespace locus::server
