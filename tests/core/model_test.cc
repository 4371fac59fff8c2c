// The names of states.
#include "core/experiment/model.h"

#include <gtest/gtest.h>

#include <string>

namespace locus {
namespace {

TEST(States, ReadBackFromTheirNames) {
  for (int i = 0; i <= static_cast<int>(StageState::kParked); ++i) {
    const auto state = static_cast<StageState>(i);
    EXPECT_EQ(parse_stage_state(to_string(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(FailureClass::kHung); ++i) {
    const auto value = static_cast<FailureClass>(i);
    EXPECT_EQ(parse_failure_class(to_string(value)), value);
  }
  for (int i = 0; i <= static_cast<int>(AttemptState::kParked); ++i) {
    const auto value = static_cast<AttemptState>(i);
    EXPECT_EQ(parse_attempt_state(to_string(value)), value);
  }
}

TEST(States, AreKebabCase) {
  EXPECT_STREQ(to_string(FailureClass::kOutOfMemory), "out-of-memory");
  EXPECT_STREQ(to_string(FailureClass::kWorkerLost), "worker-lost");
  EXPECT_STREQ(to_string(ExperimentState::kPaused), "paused");
  EXPECT_STREQ(to_string(WorkerState::kDraining), "draining");
}

TEST(States, CountParkedAsOverForNowAndNotAsDone) {
  EXPECT_STREQ(to_string(StageState::kParked), "parked");
  EXPECT_STREQ(to_string(AttemptState::kParked), "parked");
  EXPECT_TRUE(terminal(StageState::kParked));
}

TEST(States, OfASearchReadBackFromTheirNames) {
  for (const SearchState state : {SearchState::kRunning, SearchState::kEnded})
    EXPECT_EQ(parse_search_state(to_string(state)), state);
  EXPECT_STREQ(to_string(SearchState::kEnded), "ended");
  EXPECT_FALSE(parse_search_state("Ended").has_value());
  EXPECT_FALSE(parse_search_state("").has_value());
}

TEST(States, RefuseUnknownNames) {
  EXPECT_FALSE(parse_stage_state("Queued").has_value());
  EXPECT_FALSE(parse_experiment_state("completed").has_value());  // computed, never stored
  EXPECT_FALSE(parse_worker_state("").has_value());
}

}  // namespace
}  // namespace locus
