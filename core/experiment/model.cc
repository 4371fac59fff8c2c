// The names of states: one table each, read both ways.
#include "core/experiment/model.h"

#include <array>

namespace locus {
namespace {

// Index = value of the enumerator.
constexpr std::array kExperimentStates = {"active", "paused", "cancelled"};
constexpr std::array kStageStates = {"blocked", "queued", "running",   "succeeded",
                                     "failed",  "held",   "cancelled", "parked"};
constexpr std::array kAttemptStates = {"running", "succeeded", "failed", "lost", "stopped", "cancelled", "parked"};
constexpr std::array kFailureClasses = {"none", "preempted", "worker-lost", "out-of-memory", "diverged",
                                        "data", "code",      "timeout",     "hung"};
constexpr std::array kServiceClasses = {"urgent", "normal", "scavenge"};
constexpr std::array kWorkerStates = {"active", "draining", "offline"};

static_assert(kExperimentStates.size() == static_cast<std::size_t>(ExperimentState::kCancelled) + 1);
static_assert(kStageStates.size() == static_cast<std::size_t>(StageState::kParked) + 1);
static_assert(kAttemptStates.size() == static_cast<std::size_t>(AttemptState::kParked) + 1);
static_assert(kFailureClasses.size() == static_cast<std::size_t>(FailureClass::kHung) + 1);
static_assert(kServiceClasses.size() == static_cast<std::size_t>(ServiceClass::kScavenge) + 1);
static_assert(kWorkerStates.size() == static_cast<std::size_t>(WorkerState::kOffline) + 1);

template <std::size_t N, class Enum>
const char* name_of(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "invalid";
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<const char*, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* to_string(ExperimentState state) { return name_of(kExperimentStates, state); }
const char* to_string(StageState state) { return name_of(kStageStates, state); }
const char* to_string(AttemptState state) { return name_of(kAttemptStates, state); }
const char* to_string(FailureClass value) { return name_of(kFailureClasses, value); }
const char* to_string(ServiceClass value) { return name_of(kServiceClasses, value); }
const char* to_string(WorkerState state) { return name_of(kWorkerStates, state); }

std::optional<ExperimentState> parse_experiment_state(std::string_view text) {
  return value_of<ExperimentState>(kExperimentStates, text);
}
std::optional<StageState> parse_stage_state(std::string_view text) { return value_of<StageState>(kStageStates, text); }
std::optional<AttemptState> parse_attempt_state(std::string_view text) {
  return value_of<AttemptState>(kAttemptStates, text);
}
std::optional<FailureClass> parse_failure_class(std::string_view text) {
  return value_of<FailureClass>(kFailureClasses, text);
}
std::optional<ServiceClass> parse_service_class(std::string_view text) {
  return value_of<ServiceClass>(kServiceClasses, text);
}
std::optional<WorkerState> parse_worker_state(std::string_view text) {
  return value_of<WorkerState>(kWorkerStates, text);
}

}  // namespace locus
