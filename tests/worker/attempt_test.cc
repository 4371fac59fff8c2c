// An attempt's folder: what the next daemon makes of it, and what a power cut may have left.
#include "worker/link/attempt.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class AttemptTest : public testing::Test {
 protected:
  std::shared_ptr<Attempt> create() {
    v1::StageGrant grant;
    grant.set_stage(7);
    grant.set_attempt(2);
    return *Attempt::create(root(), grant, {});
  }
  std::shared_ptr<Attempt> recover() { return *Attempt::recover(folder(), {}); }
  static void draw(Attempt& attempt) {
    v1::PointColumns points;
    points.add_series()->set_metric("loss");
    points.add_series_index(0);
    points.add_step(1);
    points.add_epoch(0);
    points.add_images(32);
    points.add_time_us(1);
    points.add_value(0.5);
    ASSERT_TRUE(attempt.outbox().append(points).ok());
  }
  static void succeed(Attempt& attempt) {
    v1::CompleteAttemptRequest outcome;
    outcome.set_outcome("succeeded");
    ASSERT_TRUE(attempt.finish(outcome, {}).ok());
  }
  static std::string outcome_of(Attempt& attempt) { return attempt.wait_for_work().outcome->outcome(); }
  fs::path root() const { return folder_ / "attempts"; }
  fs::path folder() const { return root() / "7-2"; }

  TemporaryFolder folder_;
};

TEST_F(AttemptTest, IsFoundAgainWithItsPointsAndItsOutcome) {
  {
    const auto attempt = create();
    draw(*attempt);
    succeed(*attempt);
    EXPECT_TRUE(attempt->settle().ok());
  }
  const auto found = recover();
  EXPECT_EQ(found->name(), "7/2");
  EXPECT_EQ(found->outbox().last_seq(), 1);
  EXPECT_EQ(outcome_of(*found), "succeeded");
}

TEST_F(AttemptTest, WithoutAnOutcomeHasLostItsWorker) {
  create().reset();
  const auto work = recover()->wait_for_work();
  EXPECT_EQ(work.outcome->outcome(), "failed");
  EXPECT_EQ(work.outcome->failure_class(), "worker-lost");
}

TEST_F(AttemptTest, DoesNotSucceedWithoutThePointsItHadDrawn) {
  {
    const auto attempt = create();
    draw(*attempt);
    succeed(*attempt);
  }
  fs::resize_file(folder() / "outbox", 0);
  EXPECT_EQ(outcome_of(*recover()), "failed");
  EXPECT_EQ(outcome_of(*recover()), "failed") << "and stays so";
}

TEST_F(AttemptTest, TakesAnEmptyOutcomeForNone) {
  create().reset();
  std::ofstream(folder() / "outcome").close();
  EXPECT_EQ(outcome_of(*recover()), "failed");
}

TEST_F(AttemptTest, WithAnEmptyGrantIsRefused) {
  create().reset();
  fs::resize_file(folder() / "grant", 0);
  EXPECT_FALSE(Attempt::recover(folder(), {}).ok());
}

TEST_F(AttemptTest, SettlesWhatIsOldEnoughAndOnlyOnce) {
  const auto attempt = create();
  EXPECT_TRUE(attempt->settle().ok());
  fs::remove(folder() / "grant");
  EXPECT_TRUE(attempt->settle().ok()) << "nothing has changed: nothing is touched";
  succeed(*attempt);
  fs::remove(folder() / "outcome");
  EXPECT_TRUE(attempt->settle(3'600'000'000).ok()) << "too young";
  EXPECT_FALSE(attempt->settle().ok());
  EXPECT_FALSE(attempt->settle().ok()) << "tried again";
}

TEST_F(AttemptTest, OfWhichTheServerHasAllIsNotSettledAnyMore) {
  const auto attempt = create();
  succeed(*attempt);
  attempt->remove_folder();
  EXPECT_TRUE(attempt->settle().ok());
}

}  // namespace
}  // namespace locus
