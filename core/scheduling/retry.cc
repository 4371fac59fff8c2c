// Retry rules: see retry.h.
#include "core/scheduling/retry.h"

#include <algorithm>
#include <array>

#include "core/base/splitmix.h"

namespace locus {
namespace {

// One line each, in the order of the enumeration.
constexpr std::array kRules = {
    ClassRule{FailureClass::kNone, false, 3, 1, false, "failed", "read its log"},
    ClassRule{FailureClass::kPreempted, true, 0, 1, false, "was pre-empted",
              "nothing: it goes on from its newest checkpoint"},
    ClassRule{FailureClass::kWorkerLost, true, 0, 1, true, "lost its worker",
              "look at the workers that ran it; rerun it when they are well"},
    // Somebody else may have held the memory: one more try, later and elsewhere if there is an elsewhere.
    ClassRule{FailureClass::kOutOfMemory, false, 2, 15, true, "ran out of memory",
              "give it a smaller batch or a device with more memory, then submit or rerun it"},
    // The same numbers diverge again: repeating only burns time.
    ClassRule{FailureClass::kDiverged, false, 1, 1, false, "diverged",
              "change what makes it diverge, the learning rate first, and submit that"},
    // A dataset may be missing or damaged on one worker alone: elsewhere, and one more try where there is nowhere else.
    // On three workers the data as such are to blame.
    ClassRule{FailureClass::kData, false, 2, 5, true, "met missing or damaged data",
              "repair the dataset on the worker that ran it, then rerun it", 3},
    ClassRule{FailureClass::kCode, false, 3, 1, false, "broke off with an error", "read its log, then rerun it"},
    ClassRule{FailureClass::kTimeout, false, 2, 1, false, "ran out of time",
              "give it more time or less to do, then submit or rerun it"},
    ClassRule{FailureClass::kHung, false, 3, 5, true, "hung", "look at the device it ran on, then rerun it"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].failure_class) != i) return false;
  }
  return kRules.size() == static_cast<std::size_t>(FailureClass::kHung) + 1;
}
static_assert(in_order());

bool infrastructure(const Ending& ending) {
  return ending.outcome == AttemptState::kLost || rule_of(ending.failure_class).infrastructure;
}

std::string with_cause(std::string sentence, const Ending& ending) {
  if (!ending.reason.empty()) sentence += ": " + ending.reason;
  return sentence;
}

Consequence judge_fault(const StageRow& stage, const Ending& ending, const Strikes& strikes, int live_workers,
                        const SchedulerPolicy& policy) {
  Consequence verdict{.counts_as_fault = true, .reason = ending.reason};
  const int faults = stage.faults + 1;
  const bool enough_workers = strikes.workers.size() >= 2 || live_workers <= 1;
  if (ending.failure_class == FailureClass::kWorkerLost && strikes.count >= policy.strikes && enough_workers) {
    verdict.to = StageState::kHeld;
    verdict.reason = with_cause("held: " + std::to_string(strikes.count) +
                                    " workers in a row were lost while running it; " + "rerun it to release it; last",
                                ending);
  } else if (faults >= policy.faults) {
    verdict.to = StageState::kHeld;
    verdict.reason = with_cause(
        "held after " + std::to_string(faults) + " infrastructure faults; rerun it to release it; last", ending);
  } else {
    verdict.delay = back_off(stage.id, stage.attempt, stage.failures + faults, policy);
  }
  return verdict;
}

Consequence judge_failure(const StageRow& stage, const Ending& ending, const SchedulerPolicy& policy, bool untried) {
  Consequence verdict{.counts_as_failure = true, .reason = ending.reason};
  const int failures = stage.failures + 1;
  const ClassRule& rule = rule_of(ending.failure_class);
  if (failures < budget_of(ending.failure_class, policy, untried)) {
    verdict.delay = back_off(stage.id, stage.attempt, failures + stage.faults, policy, rule.patience);
    return verdict;
  }
  verdict.to = StageState::kFailed;
  if (failures > 1) {
    verdict.reason =
        with_cause("failed " + std::to_string(failures) + " times; the last attempt " + rule.words, ending);
  }
  return verdict;
}

}  // namespace

const ClassRule& rule_of(FailureClass failure_class) {
  const auto index = static_cast<std::size_t>(failure_class);
  return kRules[index < kRules.size() ? index : 0];
}

int budget_of(FailureClass failure_class, const SchedulerPolicy& policy, bool untried) {
  const ClassRule& rule = rule_of(failure_class);
  if (rule.infrastructure) return policy.faults;
  return std::min(untried ? std::max(rule.budget, rule.budget_elsewhere) : rule.budget, policy.failures);
}

Consequence judge(const StageRow& stage, const Ending& ending, const Strikes& strikes, int live_workers,
                  const SchedulerPolicy& policy, bool untried) {
  if (ending.outcome == AttemptState::kSucceeded) return {.to = StageState::kSucceeded, .reason = {}};
  if (ending.outcome == AttemptState::kParked)
    return {.to = ending.goes_on ? StageState::kQueued : StageState::kParked, .reason = ending.reason};
  if (ending.uncounted || ending.outcome == AttemptState::kStopped || ending.outcome == AttemptState::kCancelled) {
    return {.reason = ending.reason};  // it stopped by wish, at a checkpoint: goes on elsewhere at once
  }
  return infrastructure(ending) ? judge_fault(stage, ending, strikes, live_workers, policy)
                                : judge_failure(stage, ending, policy, untried);
}

Microseconds back_off(StageId stage, std::int64_t attempt, int faults_so_far, const SchedulerPolicy& policy,
                      int patience) {
  const int doublings = std::clamp(faults_so_far - 1, 0, 30);
  const Microseconds whole = std::min(policy.retry_most, (policy.retry_first * patience) << doublings);
  const std::uint64_t draw =
      splitmix64(splitmix64(static_cast<std::uint64_t>(stage)) ^ static_cast<std::uint64_t>(attempt));
  const double share = static_cast<double>(draw >> 11) * 0x1.0p-53;  // in [0, 1)
  return whole / 2 + static_cast<Microseconds>(share * static_cast<double>(whole - whole / 2));
}

}  // namespace locus
