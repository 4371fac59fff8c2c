// Datasets: who holds what a stage reads, and what a fault in it means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Data : ::testing::Test {
  Data() { h.submit({.cells = {"a"}, .dataset = "clothes"}); }

  // A worker that knows the dataset; `data`: what it says about holding it.
  bool join(const std::string& name, const std::string& session, const std::string& data) {
    WorkerRegistered event;
    event.name = name;
    event.session = session;
    event.host = "host";
    event.slots_json = "[]";
    event.slots = {{"cpu", 0, 1}};
    event.revisions = Harness::default_revisions();
    event.revisions["dataset/clothes"] = 1;
    event.data_json = data;
    if (!data.empty()) {
      event.datasets.emplace();
      if (data == kHeld) event.datasets->insert("clothes");
    }
    return h.announce(event);
  }
  void fail_data(const std::string& session) {
    const auto grant = h.ask(session);
    ASSERT_TRUE(grant) << session;
    ASSERT_TRUE(h.fail(session, *grant, FailureClass::kData, "its bytes hash to something else"));
  }
  // Long after every back-off, with every worker heard of.
  void later(const std::vector<std::string>& sessions) {
    for (int i = 0; i < 20; ++i) {
      h.advance(20s);
      for (const std::string& session : sessions) h.sync(session);
    }
  }

  static constexpr char kHeld[] = R"({"held":["clothes"],"missing":{}})";
  static constexpr char kMissing[] = R"({"held":[],"missing":{"clothes":"/nowhere/clothes/images is missing"}})";
  Harness h;
};

TEST_F(Data, IsAskedOfTheWorkerThatGetsTheStage) {
  join("without", "s", kMissing);
  EXPECT_FALSE(h.ask("s"));
  join("with", "t", kHeld);
  EXPECT_TRUE(h.ask("t"));
}

TEST_F(Data, ThatNoWorkerHoldsIsNamedWithWhatIsMissing) {
  join("without", "s", kMissing);
  EXPECT_THAT(h.explain(h.train("a")),
              AllOf(HasSubstr("no worker holds the dataset clothes"),
                    HasSubstr("on without /nowhere/clothes/images is missing"), HasSubstr("--data-root")));
  join("with", "t", kHeld);
  EXPECT_THAT(h.explain(h.train("a")), Not(HasSubstr("dataset")));
}

TEST_F(Data, IsHeldByAWorkerOfAFormerReleaseWhichSaysNothing) {
  join("old", "s", "");
  EXPECT_TRUE(h.ask("s"));
}

TEST_F(Data, ThatAppearsIsAnnouncedUnderTheSameSession) {
  join("w", "s", kMissing);
  EXPECT_FALSE(h.ask("s"));
  join("w", "s", kHeld);
  EXPECT_TRUE(h.ask("s"));
  EXPECT_EQ(h.worker("w").data_json, kHeld);
}

TEST_F(Data, OfACopyThatASpecificationNamesIsAskedOfWhoHoldsThatCopy) {
  h.submit({.name = "other", .cells = {"c"}, .dataset = "clothes@f00d"});
  const auto join_with = [&](const std::string& name, std::set<std::string> held) {
    WorkerRegistered event;
    event.name = event.session = name;
    event.host = "host";
    event.slots_json = "[]";
    event.slots = {{"cpu", 0, 1}};
    event.revisions = Harness::default_revisions();
    event.data_json = R"({"held":["clothes"],"missing":{}})";
    event.datasets = std::move(held);
    return h.announce(event);
  };
  join_with("another", {"clothes", "clothes@beef"});
  EXPECT_FALSE(h.ask("another"));
  EXPECT_THAT(h.explain(h.train("c")),
              AllOf(HasSubstr("no worker holds the dataset clothes with the manifest f00d"),
                    HasSubstr("on another is another copy"), HasSubstr("`locus data verify clothes`")));
  join_with("this", {"clothes", "clothes@f00d"});
  const auto grant = h.ask("this");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->stage_id, h.train("c").id);
}

TEST_F(Data, ThatIsBadOnOneWorkerIsLookedForOnAnother) {
  join("bad", "b", kHeld);
  join("good", "g", kHeld);
  fail_data("b");
  later({"b", "g"});
  EXPECT_FALSE(h.ask("b")) << "it waits for the other one, whoever asks first";
  const auto grant = h.ask("g");
  ASSERT_TRUE(grant);
  EXPECT_TRUE(h.succeed("g", *grant));
}

TEST_F(Data, ThatIsBadOnOneWorkerIsTriedThereAgainWhenTheOtherHasGone) {
  join("bad", "b", kHeld);
  join("good", "g", kHeld);
  fail_data("b");
  later({"b"});
  EXPECT_TRUE(h.ask("b"));
}

TEST_F(Data, ThatIsBadOnTheOnlyTwoWorkersFailsTheStage) {
  join("bad", "b", kHeld);
  join("worse", "w", kHeld);
  fail_data("b");
  later({"b", "w"});
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  fail_data("w");
  EXPECT_EQ(h.train("a").state, StageState::kFailed);
  EXPECT_THAT(h.train("a").reason, HasSubstr("failed 2 times; the last attempt met missing or damaged data"));
}

TEST_F(Data, ThatIsBadOnThreeOfManyWorkersFailsTheStage) {
  for (const char* name : {"w1", "w2", "w3", "w4"}) join(name, name, kHeld);
  for (const char* name : {"w1", "w2", "w3"}) {
    EXPECT_EQ(h.train("a").state, StageState::kQueued);
    fail_data(name);
    later({"w1", "w2", "w3", "w4"});
  }
  EXPECT_EQ(h.train("a").state, StageState::kFailed);
}

TEST_F(Data, DoesNotHoldUpTheStagesBehindTheOneThatAvoidsAWorker) {
  h.submit({.name = "other", .cells = {"b"}, .dataset = "clothes"});
  join("bad", "b", kHeld);
  join("good", "g", kHeld);
  fail_data("b");
  later({"b", "g"});
  EXPECT_EQ(h.ask("b")->stage_id, h.train("b").id);
}

}  // namespace
}  // namespace locus::testing
