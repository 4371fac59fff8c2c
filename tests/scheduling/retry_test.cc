// Retries: budgets, back-off, poison, resuming.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scheduling/retry.h"
#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::HasSubstr;

// Restarts the daemon of `worker` under a fresh session and takes the next grant once back-off allows.
std::optional<Grant> lose_and_ask_again(Harness& h, const std::string& worker, const std::string& session) {
  h.join(worker, session);
  h.advance(kRetryMost - 1s);
  h.join(worker, session);  // the silent wait may have cost it the session
  return h.ask(session);
}

// The class, its budget, the longest and shortest first wait in units of retry_first, and its words.
struct ClassCase {
  FailureClass failure_class;
  int budget, patience;
  const char* words;
};
const ClassCase kFailureCases[] = {
    {FailureClass::kOutOfMemory, 2, 15, "ran out of memory"},   {FailureClass::kDiverged, 1, 1, ""},
    {FailureClass::kData, 2, 5, "met missing or damaged data"}, {FailureClass::kCode, 3, 1, "broke off with an error"},
    {FailureClass::kTimeout, 2, 1, "ran out of time"},          {FailureClass::kHung, 3, 5, "hung"},
};

class FailureClasses : public ::testing::TestWithParam<ClassCase> {};

TEST_P(FailureClasses, HaveEachTheirBudgetTheirWaitAndTheirWords) {
  const ClassCase& expected = GetParam();
  Harness h;
  h.submit({.cells = {"a"}});
  for (int i = 1; i <= expected.budget; ++i) {
    h.join("w", "s");
    const auto grant = h.ask("s");
    ASSERT_TRUE(grant) << "failure " << i;
    EXPECT_EQ(grant->attempt, i);
    h.fail("s", *grant, expected.failure_class, "CUDA out of memory");
    EXPECT_EQ(h.train("a").failures, i);
    if (i == 1 && expected.budget > 1) {
      const Microseconds whole = kRetryFirst.count() * expected.patience;
      EXPECT_GE(h.train("a").retry_delay_us, whole / 2);
      EXPECT_LE(h.train("a").retry_delay_us, whole);
    }
    h.advance(kRetryMost);
  }
  EXPECT_EQ(h.train("a").state, StageState::kFailed);
  EXPECT_EQ(h.train("a").failure_class, expected.failure_class);
  EXPECT_EQ(h.train("a").reason, expected.budget == 1
                                     ? "CUDA out of memory"
                                     : "failed " + std::to_string(expected.budget) + " times; the last attempt " +
                                           expected.words + ": CUDA out of memory");
  EXPECT_EQ(h.evaluate("a").state, StageState::kCancelled);
  h.join("w", "s");
  EXPECT_FALSE(h.ask("s"));
}

INSTANTIATE_TEST_SUITE_P(All, FailureClasses, ::testing::ValuesIn(kFailureCases), [](const auto& test) {
  std::string name = to_string(test.param.failure_class);
  std::erase(name, '-');
  return name;
});

TEST(Retry, HasARuleForEveryClass) {
  for (int i = 1; i <= static_cast<int>(FailureClass::kHung); ++i) {
    const ClassRule& rule = rule_of(static_cast<FailureClass>(i));
    EXPECT_EQ(static_cast<int>(rule.failure_class), i);
    EXPECT_STRNE(rule.words, "");
    EXPECT_STRNE(rule.remedy, "");
  }
}

TEST(Retry, TriesElsewhereWhatMayBeTheWorkersFault) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kData, "no such dataset");
  h.join("v", "u");
  const ReplyToken again = h.ask_and_wait("s", "r1");
  const ReplyToken other = h.ask_and_wait("u", "r2");
  h.advance(5 * kRetryFirst);
  EXPECT_TRUE(h.granted(other));
  EXPECT_EQ(h.answer(again), nullptr);
}

TEST(Retry, WaitsOutTheBackOff) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kCode);
  EXPECT_FALSE(h.ask("s"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("tries again in"));
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("1 of 3 failures"));
  const ReplyToken call = h.ask_and_wait("s", "r");
  h.advance(kRetryFirst);
  EXPECT_TRUE(h.granted(call));
}

TEST(Retry, DoesNotCountInfrastructureFaultsAsFailures) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  h.fail("s", *h.ask("s"), FailureClass::kPreempted);
  EXPECT_EQ(h.train("a").failures, 0);
  EXPECT_EQ(h.train("a").faults, 1);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
}

TEST(Retry, HoldsAStageAfterTooManyInfrastructureFaults) {
  Harness h;
  h.submit({.cells = {"a"}});
  for (int i = 1; i <= kInfrastructureFaults; ++i) {
    h.join("w", "s");
    h.fail("s", *h.ask("s"), FailureClass::kPreempted, "Slurm took the node");
    h.advance(kRetryMost);
  }
  EXPECT_EQ(h.train("a").state, StageState::kHeld);
  EXPECT_THAT(h.train("a").reason, HasSubstr("Slurm took the node"));
  EXPECT_EQ(h.evaluate("a").state, StageState::kCancelled);
}

TEST(Retry, GoesOnAtOnceFromAStopAtACheckpoint) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto first = h.ask("s");
  h.checkpoint("s", *first, 40);
  h.complete("s", *first, AttemptState::kStopped);
  EXPECT_EQ(h.train("a").failures, 0);
  EXPECT_EQ(h.train("a").faults, 0);
  const auto second = h.ask("s");
  EXPECT_EQ(second->attempt, 2);
  EXPECT_EQ(second->resume_step, 40);
  EXPECT_EQ(second->resume_sha256, h.store().checkpoints(first->stage_id).value().at(0).sha256);
}

TEST(Retry, ResumesFromTheNewestCheckpoint) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s");
  const auto first = h.ask("s");
  h.checkpoint("s", *first, 10);
  h.checkpoint("s", *first, 30);
  h.checkpoint("s", *first, 20);  // a late copy
  h.checkpoint("s", *first, 30);  // the same again
  h.fail("s", *first, FailureClass::kCode);
  h.advance(1min);
  h.join("w", "s");
  EXPECT_EQ(h.ask("s")->resume_step, 30);
  EXPECT_EQ(h.store().checkpoints(first->stage_id).value().size(), 3u);
}

TEST(Poison, IsHeldAfterThreeLossesOnTheOnlyWorker) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s0");
  ASSERT_TRUE(h.ask("s0"));
  ASSERT_TRUE(lose_and_ask_again(h, "w", "s1"));
  ASSERT_TRUE(lose_and_ask_again(h, "w", "s2"));
  h.join("w", "s3");
  EXPECT_EQ(h.train("a").state, StageState::kHeld);
  EXPECT_EQ(h.train("a").failure_class, FailureClass::kWorkerLost);
  EXPECT_THAT(h.train("a").reason, HasSubstr("3 workers in a row were lost"));
}

TEST(Poison, IsNotHeldWhileOnlyOneOfSeveralWorkersWasLost) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s0");
  ASSERT_TRUE(h.ask("s0"));
  for (int i = 1; i <= 4; ++i) {
    h.join("healthy", "h" + std::to_string(i));
    ASSERT_TRUE(lose_and_ask_again(h, "w", "s" + std::to_string(i)));
    h.join("healthy", "h" + std::to_string(i));
  }
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  EXPECT_EQ(h.train("a").faults, 4);
}

TEST(Poison, IsHeldAfterThreeLossesOnTwoWorkers) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("v", "v0");
  h.join("w", "w0");
  ASSERT_TRUE(h.ask("w0"));
  ASSERT_TRUE(lose_and_ask_again(h, "w", "w1"));
  h.join("w", "w2");
  h.advance(20s);
  h.join("v", "v1");
  ASSERT_TRUE(h.ask("v1"));
  h.join("w", "w2");
  h.join("v", "v2");
  EXPECT_EQ(h.train("a").state, StageState::kHeld);
}

TEST(Poison, PrefersAWorkerThatWasNotLostWithTheStage) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s0");
  ASSERT_TRUE(h.ask("s0"));
  h.join("w", "s1");
  h.join("v", "v0");
  const ReplyToken again = h.ask_and_wait("s1", "r1");
  const ReplyToken other = h.ask_and_wait("v0", "r2");
  h.advance(kRetryFirst);
  EXPECT_TRUE(h.granted(other));
  EXPECT_EQ(h.answer(again), nullptr);
}

TEST(Poison, IsForgottenWhenACheckpointShowsProgress) {
  Harness h;
  h.submit({.cells = {"a"}});
  h.join("w", "s0");
  auto grant = h.ask("s0");
  for (int i = 1; i <= 6; ++i) {
    ASSERT_TRUE(grant) << "loss " << i;
    h.checkpoint("s" + std::to_string(i - 1), *grant, 10 * i);
    grant = lose_and_ask_again(h, "w", "s" + std::to_string(i));
  }
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  EXPECT_EQ(grant->resume_step, 60);
}

TEST(BackOff, DoublesUpToTheMostAndJittersByHalf) {
  const SchedulerPolicy policy;
  for (int faults = 1; faults <= 40; ++faults) {
    const Microseconds whole = std::min(policy.retry_most, policy.retry_first << std::min(faults - 1, 20));
    for (StageId stage = 1; stage <= 20; ++stage) {
      const Microseconds delay = back_off(stage, faults, faults, policy);
      EXPECT_GE(delay, whole / 2);
      EXPECT_LE(delay, whole);
    }
  }
}

TEST(BackOff, IsAFunctionOfStageAndAttempt) {
  const SchedulerPolicy policy;
  EXPECT_EQ(back_off(3, 4, 5, policy), back_off(3, 4, 5, policy));
  std::set<Microseconds> seen;
  for (StageId stage = 1; stage <= 50; ++stage) seen.insert(back_off(stage, 1, 6, policy));
  EXPECT_GT(seen.size(), 45u) << "stages that failed together must not come back together";
}

}  // namespace
}  // namespace locus::testing
