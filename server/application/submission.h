// From a specification to a stored experiment: what is there already, what is new, what would be dropped.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/conduct/conduct.h"
#include "core/experiment/plan.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/application/catalogs.h"
#include "server/application/planned_phases.h"
#include "server/authority/caller.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// What a plan changes about the experiment stored under its name (or nothing).
struct Merge {
  bool exists = false;
  ExperimentRow stored;
  std::vector<CellRow> cells;                        // every cell of the plan, under its stable ordinal
  std::vector<TrialRow> trials;                      // every trial of the plan and every newly retired one
  std::vector<std::int64_t> ordinals;                // of plan.trials, in their order
  std::int64_t added = 0, removed = 0, changed = 0;  // trials; changed: kept, with stages of other identities
  std::map<std::int64_t, TrialView> before;          // every stored trial, by ordinal
  bool chooses_again = false;                        // its phases are to choose anew, by what is stored now
};

// What a submission begins in the log of a search.
struct SearchBegin {
  std::int64_t expected = 0;  // number of the last decision there is
  std::vector<DecisionRow> rows;
  bool anew = false;  // under other rules than what is stored was run by
};

// Plans and creates experiments. Thread-safe. Blocks on the store; one creation at a time, because a creation
// is what makes stages.
class Submissions {
 public:
  Submissions(Store& store, const Catalogs& catalogs, Coordinator& coordinator, Clock& clock)
      : store_(store), catalogs_(catalogs), coordinator_(coordinator), clock_(clock) {}

  absl::StatusOr<v1::Plan> plan(const v1::PlanExperimentRequest& request);
  // Leaves `experiment` of the answer empty but for its name. NOT_PERMITTED for an owner that is not the account of whoever
  // calls, or an experiment of another account, unless an operator calls.
  absl::StatusOr<v1::CreateExperimentResponse> create(const v1::CreateExperimentRequest& asked, const Caller& caller);

 private:
  // By the catalog of now, with the choices and a client's proposals that the experiment of its name has.
  absl::StatusOr<PlannedExperiment> read(const std::string& spec_json);
  absl::StatusOr<Merge> merge(const ExperimentPlan& plan);
  absl::StatusOr<std::map<std::string, StageRow>> stored_stages(const ExperimentPlan& plan);
  absl::StatusOr<Event> draft(const PlannedExperiment& planned, const Merge& merge,
                              const v1::CreateExperimentRequest& request, ReplyToken reply);
  absl::StatusOr<SearchBegin> begin_of(const PlannedExperiment& planned, const Merge& merged);
  absl::Status keep_links(const PlannedExperiment& planned, const Merge& merged, bool anew, ExperimentSubmitted& event);
  absl::StatusOr<std::vector<ChoiceAgain>> choices_again(const PlannedExperiment& planned, const Merge& merged);
  absl::Status warn_of_choices(const PlannedExperiment& planned, const Merge& merged, v1::Plan* out);

  absl::StatusOr<bool> unchanged(const PlannedExperiment& planned, const Merge& merged);
  absl::StatusOr<v1::CreateExperimentResponse> answer_again(const std::string& name);

  Store& store_;
  const Catalogs& catalogs_;
  Coordinator& coordinator_;
  Clock& clock_;
  absl::Mutex creating_;
};

}  // namespace locus::server
