// What follows from the end of an attempt: retry, back-off, failed or held. Pure rules, no state of their
// own.
#pragma once

#include <set>
#include <string>

#include "core/experiment/model.h"
#include "core/scheduling/scheduler.h"

namespace locus {

// What follows when an attempt ends by a failure of a class. Budgets count all failures of the stage: it fails
// for good when they reach the budget of the class that ended the last attempt.
struct ClassRule {
  FailureClass failure_class = FailureClass::kNone;
  bool infrastructure = false;  // a fault, not a failure: the policy's `faults` is its budget
  int budget = 1;
  int patience = 1;                // the first wait is the policy's retry_first times this
  bool avoid_same_worker = false;  // the next attempt had better run on another worker
  const char* words = "";          // "ran out of memory"
  const char* remedy = "";         // what a person can do
  // Not 0: as long as another worker is there on which the stage did not fail so, the next attempt runs on none of
  // those where it did, and the budget is this.
  int budget_elsewhere = 0;
};
const ClassRule& rule_of(FailureClass failure_class);
// At how many failures in all a stage is given up when the last was of this class.
// `untried`: another worker could run it on which it did not fail so.
int budget_of(FailureClass failure_class, const SchedulerPolicy& policy, bool untried = false);

// Workers lost in a row while they ran one stage, without a checkpoint between: progress shows that the stage
// is no poison.
struct Strikes {
  int count = 0;
  std::set<WorkerId> workers;
};

// How an attempt ended.
struct Ending {
  AttemptState outcome = AttemptState::kFailed;
  FailureClass failure_class = FailureClass::kNone;
  std::string reason;      // for people
  bool uncounted = false;  // the grant never reached its worker: counts as nothing
  bool goes_on = false;    // parked below a stop point that was raised meanwhile
};

struct Consequence {
  StageState to = StageState::kQueued;
  bool counts_as_failure = false, counts_as_fault = false;
  Microseconds delay = 0;
  std::string reason;
};

// `strikes` includes this ending when it is a lost worker; `live_workers` are those that could run stages
// now, `untried` is as for budget_of().
Consequence judge(const StageRow& stage, const Ending& ending, const Strikes& strikes, int live_workers,
                  const SchedulerPolicy& policy, bool untried = false);

// Exponential in the number of faults so far, halved at most by a jitter that is a function of stage and
// attempt, so that a restart or a replayed history computes the same.
Microseconds back_off(StageId stage, std::int64_t attempt, int faults_so_far, const SchedulerPolicy& policy,
                      int patience = 1);

}  // namespace locus
