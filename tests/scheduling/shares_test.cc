// Accounts that share workers: whose stage is granted, what each may hold, and why one waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Matrix work_of(const std::string& owner, std::int64_t trials, const std::string& name = "") {
  Matrix matrix{.name = name.empty() ? "of-" + owner : name, .cells = {"a"}, .seeds = {}, .evaluate = false};
  // Seeds of its own, so that nobody shares a stage by accident.
  const auto first = static_cast<std::int64_t>(std::hash<std::string>{}(matrix.name) % 1'000'000) * 1000;
  for (std::int64_t i = 0; i < trials; ++i) matrix.seeds.push_back(first + i);
  matrix.owner = owner;
  return matrix;
}

std::vector<SlotOffer> cpus(int count) {
  std::vector<SlotOffer> slots;
  for (int i = 0; i < count; ++i) slots.push_back({"cpu", i, 1});
  return slots;
}

// Whose the stage is, by the experiment in its title: "of-ada/3 train, seed 3".
std::string owner_in(const std::optional<Grant>& grant) {
  return grant ? grant->title.substr(3, grant->title.find('/') - 3) : "nobody";
}

struct Shares : ::testing::Test {
  void join(int slots) {
    for (int i = 0; i < slots; ++i) free.push_back(i);
    h.join("w", "s", {}, Harness::default_revisions(), cpus(slots));
  }
  // Takes one slot.
  std::optional<Grant> take() {
    auto grant = h.ask("s", free);
    if (!grant) return grant;
    std::erase(free, grant->slots.front());
    running.push_back(*grant);
    return grant;
  }
  void finish(Grant grant) {
    h.succeed("s", grant);
    free.push_back(grant.slots.front());
    std::erase_if(running, [&](const Grant& each) { return each.stage_id == grant.stage_id; });
  }
  void pass(std::chrono::microseconds time) {
    for (; time > 5s; time -= 5s) tick(5s);
    tick(time);
  }
  void tick(std::chrono::microseconds time) {
    h.advance(time);
    std::vector<StatedAttempt> stated_ones;
    for (const Grant& grant : running) stated_ones.push_back(stated(grant));
    h.sync("s", stated_ones);
  }
  // Stages that wait for a bound of their account.
  std::int64_t bounded() {
    const auto queued = h.scheduler().queued(h.now(), [](StageId) { return false; });
    return std::count_if(queued.begin(), queued.end(), [](const QueuedStage& one) { return one.bounded; });
  }
  AccountView account(const std::string& name) {
    for (const AccountView& view : views = h.scheduler().accounts(h.now())) {
      if (view.row.name == name) return view;
    }
    return {};
  }

  Harness h;
  std::vector<int> free;
  std::vector<Grant> running;
  std::vector<AccountView> views;
};

// The order before there were accounts, over plain tuples.
using FormerKey = std::tuple<int, ExperimentId, int, std::int64_t, StageId>;

TEST(Order, IsTheFormerOneWhileNobodyHasAShare) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 draw(seed);
    Harness h({.min_run = us(20s), .reclaim_after = us(10s)});
    h.join("w", "s");
    std::set<FormerKey> queued;
    const auto note = [&](const std::string& experiment, int priority) {
      const ExperimentRow row = h.store().experiment(experiment).value();
      const auto trials = h.store().trials(row.id, -1, 1000).value();
      for (const TrialView& view : trials) {
        for (const TrialStageView& stage : view.stages) {
          const bool follows = stage.link.role == "evaluate";
          if (stage.stage.state == StageState::kQueued)
            queued.insert({-priority, row.id, follows ? 0 : 1, view.trial.ordinal, stage.stage.id});
        }
      }
    };
    std::map<std::string, int> priorities;
    for (int step = 0; step < 60; ++step) {
      if (draw() % 4 == 0) {
        Matrix matrix = work_of("owner-" + std::to_string(draw() % 3), 1 + draw() % 4, "e-" + std::to_string(step));
        matrix.evaluate = draw() % 2 == 0;
        matrix.priority = static_cast<int>(draw() % 3) - 1;
        priorities[matrix.name] = matrix.priority;
        h.submit(matrix);
        note(matrix.name, matrix.priority);
      }
      const auto grant = h.ask("s");
      ASSERT_EQ(grant.has_value(), !queued.empty());
      if (!grant) continue;
      ASSERT_EQ(grant->stage_id, std::get<4>(*queued.begin())) << "seed " << seed << ", step " << step;
      queued.erase(queued.begin());
      for (auto time = draw() % 8 == 0 ? 60s : 0s; time > 0s; time -= 5s) {
        h.advance(5s);
        ASSERT_THAT(*h.sync("s", {stated(*grant)}), ElementsAre(LeaseWish::kContinue)) << "nobody makes way";
      }
      h.succeed("s", *grant);
      const std::string experiment = grant->title.substr(0, grant->title.find('/'));
      note(experiment, priorities.at(experiment));
    }
    const auto usage = h.store().identity().usage().value();
    EXPECT_TRUE(usage.empty()) << "and nothing is charged";
  }
}

TEST_F(Shares, GiveTheNextDeviceToWhoHoldsLeast) {
  h.share({.name = "ada"});
  join(6);
  h.submit(work_of("ada", 20));
  h.submit(work_of("bob", 20));
  h.submit(work_of("eve", 20));
  std::multiset<std::string> owners;
  for (int i = 0; i < 6; ++i) owners.insert(owner_in(take()));
  for (const char* owner : {"ada", "bob", "eve"}) EXPECT_EQ(owners.count(owner), 2u) << owner;
}

TEST_F(Shares, GoByWeight) {
  h.share({.name = "ada", .weight = 3});
  join(8);
  h.submit(work_of("bob", 20));
  h.submit(work_of("ada", 20));
  std::multiset<std::string> owners;
  for (int i = 0; i < 8; ++i) owners.insert(owner_in(take()));
  EXPECT_EQ(owners.count("ada"), 6u);
  EXPECT_EQ(owners.count("bob"), 2u);
}

// 10,000 trials by one, then one by another.
TEST_F(Shares, LetALateComerHaveTheNextFreeDevice) {
  h.share({.name = "ada"});
  join(2);
  h.submit(work_of("ada", 900));
  take();
  take();
  h.submit(work_of("bob", 1));
  finish(running.front());
  EXPECT_EQ(owner_in(take()), "bob");
}

TEST_F(Shares, LeavePriorityToOrderWhatOneAccountHas) {
  h.share({.name = "ada"});
  join(3);
  Matrix hurried = work_of("ada", 1, "of-ada-hurried");
  hurried.priority = 1000;
  h.submit(work_of("bob", 5));
  h.submit(work_of("ada", 5));
  h.submit(hurried);
  std::vector<std::string> owners;
  for (int i = 0; i < 3; ++i) owners.push_back(owner_in(take()));
  EXPECT_THAT(owners, ElementsAre("ada-hurried", "bob", "ada"));
}

TEST_F(Shares, RememberWhatWasUsedAndForgetIt) {
  h.share({.name = "ada"});
  join(1);
  h.submit(work_of("ada", 5));
  take();
  pass(1h);
  finish(running.front());
  h.submit(work_of("bob", 5));
  EXPECT_EQ(owner_in(take()), "bob") << "who has used nothing";
  pass(30min);
  finish(running.front());
  EXPECT_EQ(owner_in(take()), "bob") << "who has used less";
  pass(1h);
  finish(running.front());
  EXPECT_EQ(owner_in(take()), "ada");
}

TEST_F(Shares, AreTheSameAfterARestart) {
  h.share({.name = "ada", .weight = 2, .devices = 5});
  join(4);
  h.submit(work_of("ada", 9));
  h.submit(work_of("bob", 9));
  for (int i = 0; i < 3; ++i) take();
  pass(10min);
  finish(running.back());
  const AccountView ada = account("ada"), bob = account("bob");
  h.restart();
  EXPECT_EQ(account("ada").holding, ada.holding);
  EXPECT_EQ(account("bob").holding, bob.holding);
  EXPECT_EQ(account("ada").row.devices, 5);
  EXPECT_NEAR(static_cast<double>(account("bob").used), static_cast<double>(bob.used), 3e6);
  EXPECT_EQ(account("ada").queued, ada.queued);
}

TEST_F(Shares, ChargeAStageThatTwoWantInEqualParts) {
  h.share({.name = "ada"});
  join(1);
  Matrix first = work_of("ada", 1, "same"), second = first;
  second.name = "same-again";
  second.owner = "bob";
  h.submit(first);
  h.submit(second);
  ASSERT_TRUE(take());
  EXPECT_EQ(account("ada").holding, 500);
  EXPECT_EQ(account("bob").holding, 500);
  finish(running.front());
  EXPECT_EQ(account("ada").holding, 0);
  EXPECT_FALSE(take()) << "it is granted once";
}

TEST_F(Shares, CountADeviceThatIsNoProcessorTenfold) {
  h.share({.name = "ada"});
  h.join("w", "s", {}, Harness::default_revisions(), {{"cuda", 0, 1}});
  h.submit(work_of("ada", 1));
  ASSERT_TRUE(h.ask("s"));
  EXPECT_EQ(account("ada").holding, 10'000);
}

TEST_F(Shares, CountEverySlotOfADeviceForWhatRunsAlone) {
  h.share({.name = "ada"});
  join(3);
  Matrix costs = work_of("ada", 1);
  costs.measure = true;
  costs.train = false;
  h.submit(costs);
  ASSERT_TRUE(take());
  EXPECT_EQ(account("ada").holding, 3000);
}

TEST_F(Shares, NeverGoBeyondABound) {
  h.share({.name = "ada", .devices = 2});
  join(4);
  h.submit(work_of("ada", 9));
  EXPECT_TRUE(take());
  EXPECT_TRUE(take());
  EXPECT_FALSE(take());
  const StageRow waiting = h.train("a", work_of("ada", 9).seeds.back());
  EXPECT_THAT(h.explain(waiting), HasSubstr("account ada may hold 2 devices at a time by weight (devices), holds 2"));
  h.submit(work_of("bob", 9));
  EXPECT_EQ(owner_in(take()), "bob") << "whom it does not bind";
  finish(running.front());
  EXPECT_EQ(owner_in(take()), "ada");
}

TEST_F(Shares, BoundWhatIsUsedWithinThirtyDays) {
  h.share({.name = "ada", .device_hours = 1});
  join(1);
  h.submit(work_of("ada", 9));
  take();
  pass(61min);
  finish(running.front());
  EXPECT_FALSE(take());
  const StageRow waiting = h.train("a", work_of("ada", 9).seeds.back());
  EXPECT_THAT(h.explain(waiting), HasSubstr("1 device-hours within 30 days (device_hours), and has used 1"));
}

// A weight, a bound or a share that changes while work runs.
TEST_F(Shares, HoldFromTheNextGrantOn) {
  join(4);
  h.submit(work_of("ada", 9));
  for (int i = 0; i < 3; ++i) take();
  EXPECT_TRUE(h.share({.name = "ada", .devices = 1}));
  EXPECT_EQ(account("ada").holding, 3000) << "what runs goes on, and counts";
  EXPECT_FALSE(take());
  EXPECT_THAT(*h.sync("s", {stated(running.front())}), ElementsAre(LeaseWish::kContinue));
  EXPECT_TRUE(h.unshare("ada"));
  EXPECT_TRUE(take());
  EXPECT_FALSE(h.unshare("ada"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kAccountNotFound);
  EXPECT_FALSE(h.share({.name = "ada", .weight = 0}));
  EXPECT_EQ(h.last_reason(), ErrorReason::kInvalidArgument);
}

TEST_F(Shares, NeedNoAccountsForUrgentWorkToComeFirst) {
  join(1);
  Matrix scavenged = work_of("ada", 1, "scavenged"), urgent = work_of("ada", 1, "urgent");
  scavenged.service_class = ServiceClass::kScavenge;
  scavenged.priority = 1000;
  urgent.service_class = ServiceClass::kUrgent;
  urgent.priority = -1000;
  h.submit(scavenged);
  h.submit(work_of("ada", 1, "normal"));
  h.submit(urgent);
  EXPECT_THAT(h.explain(h.train("a", scavenged.seeds[0])), HasSubstr("it is next, after the urgent ones"));
  std::vector<std::string> order;
  for (int i = 0; i < 3; ++i) {
    order.push_back(take()->title);
    finish(running.front());
  }
  EXPECT_THAT(order, ElementsAre(HasSubstr("urgent"), HasSubstr("normal"), HasSubstr("scavenged")));
}

TEST_F(Shares, SayWhoseTurnItIs) {
  h.share({.name = "ada", .weight = 2});
  join(1);
  h.submit(work_of("bob", 2));
  take();
  h.submit(work_of("ada", 3));
  const StageRow last = h.train("a", work_of("ada", 3).seeds.back());
  EXPECT_THAT(h.explain(last), HasSubstr("2 stages of account ada are before it"));
  EXPECT_THAT(h.explain(last), Not(HasSubstr("comes first")));
  const StageRow other = h.train("a", work_of("bob", 2).seeds.back());
  EXPECT_THAT(h.explain(other), HasSubstr("it is next of account bob; account ada holds 0 devices with a weight of 2 "
                                          "and comes first, bob holds 1 device with a weight of 1"));
  EXPECT_EQ(account("ada").queued, 3u);
  EXPECT_EQ(views.front().row.name, "ada") << "in the order of turns";
}

TEST_F(Shares, KeepNoDeviceForWhatItsBoundForbids) {
  h.share({.name = "ada", .devices = 1});
  join(2);
  Matrix costs = work_of("ada", 1);
  costs.measure = true;
  costs.train = false;
  h.submit(costs);
  h.submit(work_of("bob", 2));
  EXPECT_EQ(owner_in(take()), "bob");
  EXPECT_EQ(owner_in(take()), "bob");
}

TEST_F(Shares, TellWhatWaitsForABoundFromWhatWaitsForADevice) {
  h.submit(work_of("ada", 5));
  EXPECT_EQ(bounded(), 0) << "nobody has a share";
  h.share({.name = "ada", .devices = 3});
  h.submit(work_of("bob", 2));
  EXPECT_EQ(bounded(), 2) << "three could run, and those of bob";
  join(8);
  while (take()) {
  }
  EXPECT_EQ(bounded(), 2);
  finish(running.front());
  EXPECT_EQ(bounded(), 1);
}

TEST_F(Shares, CountAgainstABoundWhatTheDevicesOfAPoolWeighThatHasEnded) {
  h.share({.name = "ada", .devices = 25});
  h.submit(work_of("ada", 5));
  h.join("gpus", "g", {}, Harness::default_revisions(), {{"cuda", 0, 1}, {"cuda", 1, 1}, {"cuda", 2, 1}});
  EXPECT_EQ(bounded(), 3) << "a GPU weighs 10";
  h.advance(120s);
  EXPECT_EQ(h.worker("gpus").state, WorkerState::kOffline);
  EXPECT_EQ(bounded(), 3);
}

// With everybody backlogged holdings follow the weights within one device, and every account's work begins.
TEST_F(Shares, StayFairThroughRandomLoads) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 draw(seed);
    Harness fresh;
    h = std::move(fresh);
    free.clear();
    running.clear();
    join(8);
    const std::vector<std::string> owners = {"ada", "bob", "eve"};
    std::map<std::string, std::int64_t> weights;
    for (const std::string& owner : owners) {
      weights[owner] = 1 + draw() % 3;
      h.share({.name = owner, .weight = weights[owner]});
      h.submit(work_of(owner, 200));
    }
    for (int step = 0; step < 150; ++step) {
      while (take()) {
      }
      for (const std::string& a : owners) {
        for (const std::string& b : owners) {
          // Nobody could hand one over and be no worse off.
          EXPECT_LE((account(a).holding - 1000) * weights[b], (account(b).holding + 1000) * weights[a])
              << a << " and " << b << ", seed " << seed;
        }
      }
      tick(std::chrono::seconds(1 + draw() % 4));
      finish(running[draw() % running.size()]);
    }
  }
}

}  // namespace
}  // namespace locus::testing
