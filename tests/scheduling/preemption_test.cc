// Who makes way for whom while accounts have shares, and what it costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/scheduling/support/sharing.h"

namespace locus::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Preemption : ::testing::Test, Sharing {};

TEST_F(Preemption, MakesRoomForUrgentWorkAtOnce) {
  begin(2);
  submit("ada", 2);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  const StageRow urgent = h.train("a", last);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1)) << "one is enough";
  EXPECT_THAT(h.explain(urgent), HasSubstr("waits for stage " + std::to_string(stopping[0].stage_id) +
                                           " on w to checkpoint and stop (since 22:13 UTC; after 60 s it is ended"));
  const std::string by =
      "pre-empted by stage " + std::to_string(urgent.id) + " (train) of account bob, which is urgent and found no room";
  EXPECT_THAT(h.explain(row_of(stopping[0].stage_id)), HasSubstr("saved and stopped: " + by + " (since 22:13 UTC)"));
  const Grant victim = stopping[0];
  stop(victim);
  const auto next = h.ask("s", free);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->stage_id, urgent.id) << "whoever made way comes after";
  const StageRow row = row_of(victim.stage_id);
  EXPECT_EQ(row.failure_class, FailureClass::kPreempted);
  EXPECT_EQ(row.failures + row.faults, 0);
  EXPECT_EQ(row.reason, by);
  EXPECT_THAT(h.explain(row), HasSubstr("its last attempt ended: " + by));
  h.succeed("s", *next);
  EXPECT_EQ(h.ask("s", free)->resume_step, 5) << "it goes on where it was";
}

TEST_F(Preemption, EndsWhoDoesNotStopInTime) {
  begin(1);
  submit("ada", 1);
  fill();
  h.checkpoint("s", running[0], 3);
  submit("bob", 1, ServiceClass::kUrgent);
  pass(55s);
  EXPECT_THAT(stopping, SizeIs(1));
  EXPECT_EQ(row_of(running[0].stage_id).state, StageState::kRunning);
  pass(15s);
  const StageRow row = row_of(running[0].stage_id);
  EXPECT_EQ(row.state, StageState::kQueued);
  EXPECT_EQ(row.failure_class, FailureClass::kPreempted);
  EXPECT_EQ(row.failures + row.faults, 0);
  EXPECT_EQ(h.ask("s", {0})->stage_id, h.train("a", last).id);
}

TEST_F(Preemption, HappensOnlyWhileAccountsHaveShares) {
  begin(1);
  h.unshare("ada");
  h.unshare("bob");
  submit("ada", 1, ServiceClass::kScavenge);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  pass_until_asked(1200s);
  EXPECT_THAT(stopping, IsEmpty());
}

TEST_F(Preemption, NeverHappensWithinAnAccount) {
  begin(1);
  submit("ada", 1, ServiceClass::kScavenge);
  fill();
  submit("ada", 1, ServiceClass::kUrgent);
  pass_until_asked(1200s);
  EXPECT_THAT(stopping, IsEmpty());
}

TEST_F(Preemption, LeavesAloneWhatRunsAlone) {
  begin(1);
  Matrix matrix{.name = "costs", .cells = {"a"}, .evaluate = false, .measure = true, .train = false, .owner = "ada"};
  h.submit(matrix);
  fill();
  ASSERT_THAT(running, SizeIs(1));
  submit("bob", 1, ServiceClass::kUrgent);
  pass_until_asked(1200s);
  EXPECT_THAT(stopping, IsEmpty());
}

TEST_F(Preemption, OfScavengedWorkWaitsUntilItHasRunForAWhile) {
  begin(1);
  submit("ada", 1, ServiceClass::kScavenge);
  fill();
  submit("bob", 1);
  pass_until_asked(590s);
  EXPECT_THAT(stopping, IsEmpty());
  pass(20s);
  EXPECT_THAT(stopping, SizeIs(1));
}

TEST_F(Preemption, IsNotAskedForWhileAFreeSlotOnlyWaitsToBeOffered) {
  begin(2);
  submit("ada", 1, ServiceClass::kScavenge);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  pass_until_asked(1200s);
  EXPECT_THAT(stopping, IsEmpty());
}

TEST_F(Preemption, GivesAnAccountItsShareBackAndNoMore) {
  begin(4);
  submit("ada", 6);
  fill();
  ASSERT_THAT(running, SizeIs(4));
  pass(900s);
  submit("bob", 6);
  pass(295s);
  EXPECT_THAT(stopping, IsEmpty()) << "it has not waited for long";
  pass(20s);
  ASSERT_THAT(stopping, SizeIs(1)) << "of what one stage needs";
  EXPECT_THAT(h.explain(row_of(stopping[0].stage_id)),
              HasSubstr("of account bob, which has waited for 6 min: bob holds 0 of a share of 2 devices, ada 4 of a "
                        "share of 2 devices"));
  stop(stopping[0]);
  fill();
  pass_until_asked(900s);
  ASSERT_THAT(stopping, SizeIs(1));
  stop(stopping[0]);
  fill();
  pass_until_asked(3600s);
  EXPECT_THAT(stopping, IsEmpty()) << "each holds two of four";
  int held = 0;
  for (const AccountView& account : h.scheduler().accounts(h.now())) held += account.holding == 2000 ? 1 : 0;
  EXPECT_EQ(held, 2);
}

TEST_F(Preemption, TakesNoOddSlotForWhichAnAccountWouldRiseAboveItsShare) {
  begin(3);
  submit("ada", 4);
  fill();
  pass(900s);
  submit("bob", 4);
  pass_until_asked(900s);
  ASSERT_THAT(stopping, SizeIs(1));
  stop(stopping[0]);
  fill();
  pass_until_asked(3600s);
  EXPECT_THAT(stopping, IsEmpty()) << "with two of three it would be above its share, and they would take turns";
}

TEST_F(Preemption, TakesWhatLosesLeastThenTheYoungest) {
  begin(3);
  submit("ada", 3);
  fill();
  for (const Grant& grant : running) steps[grant.stage_id] = 10;
  pass(100s);
  for (const Grant& grant : running) steps[grant.stage_id] = 110;
  h.checkpoint("s", running[1], 100);
  pass(10s);
  submit("bob", 1, ServiceClass::kUrgent);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1));
  EXPECT_EQ(stopping[0].stage_id, running[1].stage_id);
}

TEST_F(Preemption, TakesScavengedWorkBeforeNormal) {
  begin(2);
  submit("ada", 1);
  fill();
  submit("eve", 1, ServiceClass::kScavenge);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1));
  EXPECT_EQ(stopping[0].stage_id, running[1].stage_id);
}

TEST_F(Preemption, OfASlotHappensOnlyNowAndThen) {
  begin(1);
  submit("ada", 1);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  pass(10s);
  stop(stopping.at(0));
  fill();
  ASSERT_THAT(running, SizeIs(1));
  h.succeed("s", running[0]);
  running.clear(), free = {0};
  fill();
  ASSERT_THAT(running, SizeIs(1)) << "what made way goes on";
  submit("bob", 1, ServiceClass::kUrgent);
  pass_until_asked(570s);
  EXPECT_THAT(stopping, IsEmpty());
  pass(40s);
  EXPECT_THAT(stopping, SizeIs(1));
}

TEST_F(Preemption, EmptiesAllSlotsOfAGangAtOnce) {
  begin(4);
  submit("ada", 3);
  fill();
  submit("bob", 1, ServiceClass::kUrgent, 3);
  const StageRow gang = h.train("a", last);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(2)) << "one slot is free";
  const std::vector<Grant> victims = stopping;
  for (const Grant& victim : victims) stop(victim);
  EXPECT_EQ(h.ask("s", free)->stage_id, gang.id);
}

TEST_F(Preemption, KeepsWhatItEmptiesForAGangFromOthersMeanwhile) {
  h.join("v", "v", {}, Harness::default_revisions(), {{"cpu", 0, 1}, {"cpu", 1, 1}});
  begin(2);
  submit("bob", 1);
  ASSERT_TRUE(h.ask("v", {0, 1})) << "v has a slot free, and its own account's work on the other";
  submit("ada", 2);
  fill();
  submit("bob", 1, ServiceClass::kUrgent, 2);
  const StageRow gang = h.train("a", last);
  submit("eve", 1);
  pass(10s);
  const std::vector<Grant> victims = stopping;
  ASSERT_THAT(victims, SizeIs(2));
  stop(victims[0]);
  EXPECT_FALSE(h.ask("s", free)) << "it is kept, although v is as far from empty now";
  stop(victims[1]);
  EXPECT_EQ(h.ask("s", free)->stage_id, gang.id);
}

TEST_F(Preemption, OfAGangFreesAllItsSlots) {
  begin(3);
  submit("ada", 1, ServiceClass::kNormal, 3);
  fill();
  ASSERT_THAT(running, SizeIs(1));
  submit("bob", 3, ServiceClass::kUrgent);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1));
  stop(stopping[0]);
  fill();
  EXPECT_THAT(running, SizeIs(3));
  for (const Grant& grant : running) EXPECT_EQ(grant.slots.size(), 1u);
}

TEST_F(Preemption, OfAGangWaitsUntilItsAccountKeepsItsShareWithoutAllOfIt) {
  begin(4);
  submit("ada", 1, ServiceClass::kNormal, 3);
  submit("ada", 1);
  fill();
  ASSERT_THAT(running, SizeIs(2));
  pass(900s);
  submit("bob", 4);
  pass_until_asked(900s);
  ASSERT_THAT(stopping, SizeIs(1));
  EXPECT_THAT(stopping[0].slots, SizeIs(1)) << "without the gang it would hold one where its share is two";
  stop(stopping[0]);
  fill();
  pass_until_asked(3600s);
  EXPECT_THAT(stopping, IsEmpty());
}

TEST_F(Preemption, StopsNobodyWithoutWhomItWouldDo) {
  begin(3);
  submit("ada", 1);
  fill();
  pass(5s);
  submit("ada", 1, ServiceClass::kScavenge, 2);
  fill();
  ASSERT_THAT(running, SizeIs(2));
  submit("bob", 1, ServiceClass::kUrgent, 2);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1));
  EXPECT_THAT(stopping[0].slots, SizeIs(2));
}

TEST_F(Preemption, IsAskedForAgainAfterARestart) {
  begin(1);
  submit("ada", 1);
  fill();
  submit("bob", 1, ServiceClass::kUrgent);
  pass(10s);
  ASSERT_THAT(stopping, SizeIs(1));
  h.restart();
  h.join("w", "s", {stated(running[0])}, Harness::default_revisions(), {{"cpu", 0, 1}});
  stopping.clear();
  pass(10s);
  EXPECT_THAT(stopping, SizeIs(1));
  pass(40s);
  EXPECT_EQ(row_of(running[0].stage_id).state, StageState::kRunning) << "with as much time as before";
  pass(15s);
  EXPECT_EQ(row_of(running[0].stage_id).state, StageState::kQueued);
}

// Work of three accounts with weights, classes and sizes that are drawn; none of it ends. Who was stopped for whom.
std::set<std::pair<StageId, StageId>> exchanges_of(std::mt19937& draw) {
  const auto between = [&](int low, int high) { return std::uniform_int_distribution(low, high)(draw); };
  Sharing world;
  world.h = Harness({.min_run = us(60s), .reclaim_after = us(30s), .preempt_every = us(20s)});
  world.begin(between(2, 6));
  for (const char* name : {"ada", "bob", "eve"})
    world.h.share({.name = name, .weight = between(1, 3), .may_be_urgent = true});
  std::set<std::pair<StageId, StageId>> stopped_for;
  const std::string mark = "pre-empted by stage ";
  for (int step = 0; step < 100; ++step) {
    if (step < 40 && between(0, 5) == 0) {
      const ServiceClass classes[] = {ServiceClass::kNormal, ServiceClass::kNormal, ServiceClass::kUrgent,
                                      ServiceClass::kScavenge};
      const char* owners[] = {"ada", "bob", "eve"};
      world.submit(owners[between(0, 2)], between(1, 4), classes[between(0, 3)], between(1, 3));
    }
    world.fill();
    world.pass(5s);
    const std::vector<Grant> victims = world.stopping;
    for (const Grant& victim : victims) {
      world.stop(victim);
      const std::string reason = world.row_of(victim.stage_id).reason;
      EXPECT_TRUE(reason.starts_with(mark)) << reason;
      stopped_for.insert({victim.stage_id, std::stoll(reason.substr(mark.size()))});
    }
  }
  return stopped_for;
}

TEST(Preemptions, NeverStopTwoStagesForEachOtherInTurn) {
  std::mt19937 draw(20260301);
  std::size_t exchanges = 0;
  for (int round = 0; round < 60; ++round) {
    const auto stopped_for = exchanges_of(draw);
    exchanges += stopped_for.size();
    for (const auto& [victim, by] : stopped_for)
      EXPECT_FALSE(stopped_for.contains({by, victim})) << "round " << round << ": stages " << victim << " and " << by;
  }
  EXPECT_GT(exchanges, 60u) << "otherwise it shows nothing";
}

}  // namespace
}  // namespace locus::testing
