// Made-up experiments with a search: what a conductor must be told of them, read from the specification and the store.
#pragma once

#include <string>
#include <vector>

#include "core/conduct/conduct.h"
#include "tests/scheduling/support/matrix.h"

namespace locus::simulation {

// One step of a simulated training is an epoch, and each is validated.
inline constexpr std::int64_t kTrainingSteps = 18;

// What a person submits.
struct SearchPlan {
  testing::Matrix matrix;      // searched
  std::string rule = "halve";  // halve, asha, hyperband, race, median, none, external
  bool by_trial = false;       // the unit
  std::int64_t parallel = 0;   // 0: any number
  std::int64_t budget = 0;     // epochs; 0: none
  bool retrains = false;       // a second phase trains what the first has chosen, from the matrix's cell kChosenCell
};
// The cell of a second phase, whose label says nothing of what is trained.
inline constexpr const char* kChosenCell = "chosen";
// What is trained in it where this cell of the first phase was chosen.
std::string retrained(const std::string& cell);
// The rules whose decisions do not follow arrival.
bool waits(const std::string& rule);

// The experiment's specification, with the plan's.
std::string specification(const SearchPlan& plan);
bool searched(const ExperimentRow& row);

class SimulatedScript final : public SearchScript {
 public:
  // `forgets_budget`, `uses_another`: defects planted on purpose.
  explicit SimulatedScript(Store& store, bool forgets_budget = false, bool uses_another = false)
      : store_(store), forgets_budget_(forgets_budget), uses_another_(uses_another) {}

  absl::StatusOr<std::size_t> phases(const ExperimentRow& experiment) override;
  absl::StatusOr<SearchSetup> setup(const ExperimentRow& experiment, std::size_t phase,
                                    std::span<const std::vector<ChosenCandidate>> choices) override;
  absl::StatusOr<std::map<std::int64_t, TrialStages>> stages(
      const ExperimentRow& experiment, std::span<const std::int64_t> trials,
      std::span<const std::vector<ChosenCandidate>> choices) override;

 private:
  Store& store_;
  bool forgets_budget_, uses_another_;
};

}  // namespace locus::simulation
