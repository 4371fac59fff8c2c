// What a conductor must be told of an experiment, over the planner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/conduct/conduct.h"
#include "core/ports/store.h"
#include "server/application/catalogs.h"
#include "server/application/planned_phases.h"

namespace locus::server {

// Plans with the catalog that the experiment was submitted under, so that stages keep their identities however long a search goes on.
// Keeps what it planned, by experiment, revision, choices and what clients have proposed. Thread-compatible; blocks on the store. Both must outlive it.
class PlannedSearches : public SearchScript {
 public:
  PlannedSearches(Store& store, const Catalogs& catalogs) : store_(store), catalogs_(catalogs) {}

  absl::StatusOr<std::size_t> phases(const ExperimentRow& experiment) override;
  absl::StatusOr<SearchSetup> setup(const ExperimentRow& experiment, std::size_t phase,
                                    std::span<const std::vector<ChosenCandidate>> choices) override;
  absl::StatusOr<std::map<std::int64_t, TrialStages>> stages(
      const ExperimentRow& experiment, std::span<const std::int64_t> trials,
      std::span<const std::vector<ChosenCandidate>> choices) override;

 private:
  struct Kept {
    std::string key;
    PlannedExperiment planned;
    std::map<std::int64_t, std::size_t> trials;  // ordinal -> place among those of the plan
  };
  absl::StatusOr<std::shared_ptr<const Catalog>> catalog_of(const ExperimentRow& experiment);
  absl::StatusOr<std::shared_ptr<const Kept>> planned(const ExperimentRow& experiment,
                                                      std::span<const std::vector<ChosenCandidate>> choices);

  Store& store_;
  const Catalogs& catalogs_;
  std::map<std::string, std::shared_ptr<const Catalog>> former_;  // by digest
  std::map<ExperimentId, std::shared_ptr<const Kept>> kept_;
};

// Cells and trials of an experiment by what they are found by; retired ones are left out. Blocks on the store.
absl::StatusOr<StoredPlaces> stored_places(Store& store, ExperimentId experiment, std::span<const CellRow> cells);

// What a planned trial runs, as a conductor is told.
TrialStages trial_stages(const PlannedTrial& trial);

// Different for different choices.
std::string key_of(std::span<const std::vector<ChosenCandidate>> choices);

}  // namespace locus::server
