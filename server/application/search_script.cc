// Plans what searches ask for.
#include "server/application/search_script.h"

#include <algorithm>

#include "core/analysis/queries.h"
#include "core/base/error.h"

namespace locus::server {
namespace {

constexpr std::size_t kPlansKept = 64;

absl::StatusOr<Json> specification_of(const ExperimentRow& experiment) {
  Json spec = Json::parse(experiment.spec_json, nullptr, /*allow_exceptions=*/false);
  if (spec.is_object()) return spec;
  return make_error(absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                    "the stored specification of experiment " + experiment.name + " is no JSON object");
}

// Cells and trials change with the revision, and by what a client proposes. Canonical JSON is without spaces.
bool of_a_client(const ExperimentRow& experiment) {
  return experiment.spec_json.find(R"("propose":"external")") != std::string::npos;
}

}  // namespace

TrialStages trial_stages(const PlannedTrial& trial) {
  TrialStages out;
  for (const PlannedStage& stage : trial.stages) {
    TrialStages::Planned& one = out.stages.emplace_back();
    one.role = stage.role;
    one.kind = stage.kind;
    one.identity = stage.identity;
    one.config_json = stage.config_json;
    one.seed = trial.seed;
    one.requirements = stage.requirements;
    for (const auto& [slot, identity] : stage.inputs) one.inputs.push_back({slot, identity});
  }
  return out;
}

std::string key_of(std::span<const std::vector<ChosenCandidate>> choices) {
  std::string out;
  for (std::size_t phase = 0; phase < choices.size(); ++phase) {
    if (choices[phase].empty()) continue;  // planned as if it were absent
    out += "\nphase " + std::to_string(phase);
    for (const ChosenCandidate& one : choices[phase])
      out.append("\n").append(one.group).append("=").append(one.candidate);
  }
  return out;
}

absl::StatusOr<StoredPlaces> stored_places(Store& store, ExperimentId experiment, std::span<const CellRow> cells) {
  StoredPlaces out;
  for (const CellRow& cell : cells) out.cells[cell.row_key] = cell.ordinal;
  LOCUS_ASSIGN_OR_RETURN(const auto trials, all_trials(store, experiment));
  for (const TrialView& view : trials) {
    if (!view.trial.retired) out.trials[{view.trial.cell, view.trial.seed}] = view.trial.ordinal;
  }
  return out;
}

absl::StatusOr<std::shared_ptr<const Catalog>> PlannedSearches::catalog_of(const ExperimentRow& experiment) {
  if (auto now = catalogs_.current(); experiment.catalog_digest == now->digest()) return now;
  if (const auto known = former_.find(experiment.catalog_digest); known != former_.end()) return known->second;
  LOCUS_ASSIGN_OR_RETURN(const std::string document, store_.catalog(experiment.catalog_digest));
  LOCUS_ASSIGN_OR_RETURN(Catalog catalog, Catalog::parse(Json::parse(document, nullptr, false)));
  return former_[experiment.catalog_digest] = std::make_shared<const Catalog>(std::move(catalog));
}

absl::StatusOr<std::shared_ptr<const PlannedSearches::Kept>> PlannedSearches::planned(
    const ExperimentRow& experiment, std::span<const std::vector<ChosenCandidate>> choices) {
  const bool proposed = of_a_client(experiment);
  std::vector<CellRow> cells;
  if (proposed) {
    LOCUS_ASSIGN_OR_RETURN(cells, store_.cells(experiment.id));
  }
  const std::string key = std::to_string(experiment.revision) + "\n" + std::to_string(cells.size()) + key_of(choices);
  if (const auto found = kept_.find(experiment.id); found != kept_.end() && found->second->key == key)
    return found->second;
  if (!proposed) {
    LOCUS_ASSIGN_OR_RETURN(cells, store_.cells(experiment.id));
  }
  LOCUS_ASSIGN_OR_RETURN(const auto catalog, catalog_of(experiment));
  LOCUS_ASSIGN_OR_RETURN(const Json spec, specification_of(experiment));
  auto made = std::make_shared<Kept>();
  made->key = key;
  LOCUS_ASSIGN_OR_RETURN(made->planned, plan_stored(spec, *catalog, choices, cells));
  LOCUS_ASSIGN_OR_RETURN(const StoredPlaces places, stored_places(store_, experiment.id, cells));
  const ExperimentPlan& whole = made->planned.whole;
  for (std::size_t i = 0; i < whole.trials.size(); ++i) {
    const auto cell = places.cells.find(whole.cells[static_cast<std::size_t>(whole.trials[i].cell)].row_key);
    if (cell == places.cells.end()) continue;
    const auto ordinal = places.trials.find({cell->second, whole.trials[i].seed});
    if (ordinal != places.trials.end()) made->trials[ordinal->second] = i;
  }
  if (kept_.size() >= kPlansKept) kept_.erase(kept_.begin());
  kept_[experiment.id] = made;
  return std::shared_ptr<const Kept>(made);
}

absl::StatusOr<std::size_t> PlannedSearches::phases(const ExperimentRow& experiment) {
  LOCUS_ASSIGN_OR_RETURN(const Json spec, specification_of(experiment));
  const auto phases = spec.find("phases");
  return phases != spec.end() && phases->is_array() && !phases->empty() ? phases->size() : 1;
}

absl::StatusOr<SearchSetup> PlannedSearches::setup(const ExperimentRow& experiment, std::size_t phase,
                                                   std::span<const std::vector<ChosenCandidate>> choices) {
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(experiment.id));
  LOCUS_ASSIGN_OR_RETURN(const auto kept, planned(experiment, choices));
  LOCUS_ASSIGN_OR_RETURN(const StoredPlaces places, stored_places(store_, experiment.id, cells));
  LOCUS_ASSIGN_OR_RETURN(const auto catalog, catalog_of(experiment));
  if (phase >= kept->planned.phases.size() || kept->planned.phases[phase].deferred) {
    return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "phase " + std::to_string(phase) + " of experiment " + experiment.name +
                          " was to begin before all it uses is chosen");
  }
  return phase_setup(kept->planned, phase, places, *catalog);
}

absl::StatusOr<std::map<std::int64_t, TrialStages>> PlannedSearches::stages(
    const ExperimentRow& experiment, std::span<const std::int64_t> trials,
    std::span<const std::vector<ChosenCandidate>> choices) {
  LOCUS_ASSIGN_OR_RETURN(auto kept, planned(experiment, choices));
  const bool fresh =
      std::any_of(trials.begin(), trials.end(), [&](auto trial) { return !kept->trials.contains(trial); });
  if (fresh && of_a_client(experiment)) {  // trials that came to cells that were there
    kept_.erase(experiment.id);
    LOCUS_ASSIGN_OR_RETURN(kept, planned(experiment, choices));
  }
  std::map<std::int64_t, TrialStages> out;
  for (const std::int64_t trial : trials) {
    if (const auto place = kept->trials.find(trial); place != kept->trials.end())
      out[trial] = trial_stages(kept->planned.whole.trials[place->second]);
  }
  return out;
}

}  // namespace locus::server
