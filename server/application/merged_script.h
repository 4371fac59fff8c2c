// What a conductor must be told of an experiment as a submission would make it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/conduct/conduct.h"
#include "server/application/submission.h"

namespace locus::server {

// Over a specification and what it changes about the experiment of its name: its trials have the ordinals they would be stored under. The
// experiment that it is asked of is always that one. Thread-compatible; blocks on nothing. All must outlive it.
class MergedScript : public SearchScript {
 public:
  MergedScript(const Json& specification, const Catalog& catalog, const Merge& merged)
      : specification_(specification), catalog_(catalog), merged_(merged) {}

  absl::StatusOr<std::size_t> phases(const ExperimentRow& experiment) override;
  absl::StatusOr<SearchSetup> setup(const ExperimentRow& experiment, std::size_t phase,
                                    std::span<const std::vector<ChosenCandidate>> choices) override;
  absl::StatusOr<std::map<std::int64_t, TrialStages>> stages(
      const ExperimentRow& experiment, std::span<const std::int64_t> trials,
      std::span<const std::vector<ChosenCandidate>> choices) override;

 private:
  struct Planned {
    PlannedExperiment experiment;
    std::map<std::int64_t, std::size_t> trials;  // ordinal -> place in `experiment.whole`
  };
  absl::StatusOr<std::shared_ptr<const Planned>> planned(std::span<const std::vector<ChosenCandidate>> choices);

  const Json& specification_;
  const Catalog& catalog_;
  const Merge& merged_;
  std::map<std::string, std::shared_ptr<const Planned>> planned_;  // by choices
};

// What is stored and what a merge adds, by what it is found by.
StoredPlaces merged_places(const Merge& merged);

}  // namespace locus::server
