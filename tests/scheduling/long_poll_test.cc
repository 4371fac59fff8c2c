// Asking for work: waiting, repeating, giving up.
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

TEST(LongPoll, WaitsUntilThereIsWork) {
  Harness h;
  h.join("w", "s");
  const ReplyToken call = h.ask_and_wait("s", "r");
  EXPECT_EQ(h.answer(call), nullptr);
  EXPECT_EQ(h.scheduler().waiting(), std::vector<ReplyToken>{call});
  h.submit({});
  EXPECT_TRUE(h.granted(call));
  EXPECT_TRUE(h.scheduler().waiting().empty());
}

TEST(LongPoll, AnswersWithNothingWhenTheWaitRunsOut) {
  Harness h;
  h.join("w", "s");
  const ReplyToken call = h.ask_and_wait("s", "r", 20s);
  h.advance(19s);
  EXPECT_EQ(h.answer(call), nullptr);
  h.advance(1s);
  ASSERT_NE(h.answer(call), nullptr);
  EXPECT_FALSE(h.granted(call));
}

TEST(LongPoll, NeverWaitsLongerThanTheLimit) {
  Harness h;
  h.join("w", "s");
  const ReplyToken call = h.ask_and_wait("s", "r", 24h);
  h.advance(kLongPoll);
  EXPECT_NE(h.answer(call), nullptr);
}

TEST(LongPoll, GivesTheSameGrantToTheSameRequest) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto first = h.granted(h.ask_and_wait("s", "r"));
  const auto again = h.granted(h.ask_and_wait("s", "r"));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(again->stage_id, first->stage_id);
  EXPECT_EQ(again->attempt, first->attempt);
  EXPECT_EQ(again->resume_step, first->resume_step);
  EXPECT_EQ(h.store().attempts_started().value(), 1);
}

TEST(LongPoll, MovesAWaitingRequestToItsNewestCall) {
  Harness h;
  h.join("w", "s");
  const ReplyToken first = h.ask_and_wait("s", "r");
  const ReplyToken second = h.ask_and_wait("s", "r");
  EXPECT_NE(h.answer(first), nullptr);
  EXPECT_FALSE(h.granted(first));
  h.submit({});
  EXPECT_TRUE(h.granted(second));
  EXPECT_EQ(h.store().attempts_started().value(), 1);
}

TEST(LongPoll, HoldsAWaitingRequestToTheSlotsThatItsNewestCallNames) {
  Harness h;
  h.join("w", "s", {}, Harness::default_revisions(), {{"cpu", 0, 1}, {"cpu", 1, 1}});
  h.ask_and_wait("s", "r", 20s, {1});
  const ReplyToken newest = h.ask_and_wait("s", "r", 20s, {0, 1});
  h.submit({.name = "costs", .cells = {"a"}, .measure = true, .train = false});  // runs alone on the device
  EXPECT_TRUE(h.granted(newest));
}

TEST(LongPoll, GivesNothingToALateCopyOfAnEndedRequest) {
  Harness h;
  h.submit({.cells = {"a", "b"}});
  h.join("w", "s");
  const auto first = h.granted(h.ask_and_wait("s", "r"));
  h.succeed("s", *first);
  const ReplyToken late = h.ask_and_wait("s", "r");
  ASSERT_NE(h.answer(late), nullptr);
  EXPECT_FALSE(h.granted(late));
  EXPECT_EQ(h.store().attempts_started().value(), 1);
}

TEST(LongPoll, GrantsNothingToACallerThatHasGone) {
  Harness h;
  h.join("w", "s");
  const ReplyToken call = h.ask_and_wait("s", "r");
  h.step(WorkRequestDropped{call});
  h.submit({});
  EXPECT_EQ(h.answer(call), nullptr);
  EXPECT_EQ(h.store().attempts_started().value(), 0);
}

TEST(LongPoll, RefusesAnUnknownSession) {
  Harness h;
  EXPECT_FALSE(h.ask("nobody"));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
}

TEST(LongPoll, RefusesARequestWithoutAFreeSlot) {
  Harness h;
  h.join("w", "s");
  h.step(WorkRequested{99, "s", "r", {}, 0});
  const auto* error = std::get_if<ReplyError>(h.answer(99));
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has_reason(error->status, ErrorReason::kInvalidArgument));
}

TEST(LongPoll, ServesThoseWhoAskedFirstFirst) {
  Harness h;
  h.join("v", "s1");
  h.join("w", "s2");
  const ReplyToken first = h.ask_and_wait("s1", "r1");
  const ReplyToken second = h.ask_and_wait("s2", "r2");
  h.submit({.evaluate = false});
  EXPECT_TRUE(h.granted(first));
  EXPECT_EQ(h.answer(second), nullptr);
}

TEST(LongPoll, EndsWithTheSession) {
  Harness h;
  h.join("w", "s1");
  const ReplyToken call = h.ask_and_wait("s1", "r");
  h.join("w", "s2");
  const auto* error = std::get_if<ReplyError>(h.answer(call));
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has_reason(error->status, ErrorReason::kWorkerNotFound));
  EXPECT_TRUE(h.scheduler().waiting().empty());
}

}  // namespace
}  // namespace locus::testing
