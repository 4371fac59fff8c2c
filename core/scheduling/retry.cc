// Retry rules: see retry.h.
#include "core/scheduling/retry.h"

#include <algorithm>

namespace locus {
namespace {

// splitmix64: a well-mixed function of its argument.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

bool infrastructure(const Ending& ending) {
  return ending.outcome == AttemptState::kLost || ending.failure_class == FailureClass::kPreempted ||
         ending.failure_class == FailureClass::kWorkerLost;
}

std::string with_cause(std::string sentence, const Ending& ending) {
  if (!ending.reason.empty()) sentence += ": " + ending.reason;
  return sentence;
}

Verdict judge_fault(const StageRow& stage, const Ending& ending, const Strikes& strikes, int live_workers,
                    const SchedulerPolicy& policy) {
  Verdict verdict{.counts_as_fault = true, .reason = ending.reason};
  const int faults = stage.faults + 1;
  const bool enough_workers = strikes.workers.size() >= 2 || live_workers <= 1;
  if (ending.failure_class == FailureClass::kWorkerLost && strikes.count >= policy.strikes &&
      enough_workers) {
    verdict.to = StageState::kHeld;
    verdict.reason =
        with_cause("held: " + std::to_string(strikes.count) +
                       " workers in a row were lost while running it; " + "submit again to release it; last",
                   ending);
  } else if (faults >= policy.faults) {
    verdict.to = StageState::kHeld;
    verdict.reason = with_cause(
        "held after " + std::to_string(faults) + " infrastructure faults; submit again to release it; last",
        ending);
  } else {
    verdict.delay = back_off(stage.id, stage.attempt, stage.failures + faults, policy);
  }
  return verdict;
}

Verdict judge_failure(const StageRow& stage, const Ending& ending, const SchedulerPolicy& policy) {
  Verdict verdict{.counts_as_failure = true, .reason = ending.reason};
  const int failures = stage.failures + 1;
  // Diverged is deterministic and data needs a person: repeating either only burns time.
  if (ending.failure_class == FailureClass::kDiverged || ending.failure_class == FailureClass::kData) {
    verdict.to = StageState::kFailed;
  } else if (failures >= policy.failures) {
    verdict.to = StageState::kFailed;
    verdict.reason = with_cause("failed " + std::to_string(failures) + " times; last", ending);
  } else {
    verdict.delay = back_off(stage.id, stage.attempt, failures + stage.faults, policy);
  }
  return verdict;
}

}  // namespace

Verdict judge(const StageRow& stage, const Ending& ending, const Strikes& strikes, int live_workers,
              const SchedulerPolicy& policy) {
  if (ending.outcome == AttemptState::kSucceeded) return {.to = StageState::kSucceeded, .reason = {}};
  if (ending.nobodys_fault || ending.outcome == AttemptState::kStopped ||
      ending.outcome == AttemptState::kCancelled) {
    return {.reason = ending.reason};  // it stopped by wish, at a checkpoint: goes on elsewhere at once
  }
  return infrastructure(ending) ? judge_fault(stage, ending, strikes, live_workers, policy)
                                : judge_failure(stage, ending, policy);
}

Microseconds back_off(StageId stage, std::int64_t attempt, int faults_so_far, const SchedulerPolicy& policy) {
  const int doublings = std::clamp(faults_so_far - 1, 0, 30);
  const Microseconds whole = std::min(policy.retry_most, policy.retry_first << doublings);
  const std::uint64_t draw =
      mix(mix(static_cast<std::uint64_t>(stage)) ^ static_cast<std::uint64_t>(attempt));
  const double share = static_cast<double>(draw >> 11) * 0x1.0p-53;  // in [0, 1)
  return whole / 2 + static_cast<Microseconds>(share * static_cast<double>(whole - whole / 2));
}

}  // namespace locus
