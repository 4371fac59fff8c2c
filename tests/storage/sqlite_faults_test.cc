// What the SQLite store does when the disk fails under it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "storage/sqlite/store.h"
#include "tests/storage/faulty_vfs.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

class SqliteFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    open();
    ASSERT_TRUE(apply(*store_, world()).ok());
    ASSERT_TRUE(apply(*store_, {grant(1, 1)}).ok());
  }

  void open() {
    auto opened = open_sqlite_store(folder_.path(), clock_, {2, vfs_.name()});
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = std::move(*opened);
  }

  void reopen() {
    store_.reset();
    open();
  }

  FaultyVfs vfs_;  // outlives the store
  TempFolder folder_;
  FixedClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteFaults, HasSyncedTheLogWheneverItAcknowledges) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(store_->append(points_of(1, 1, i * 10 + 1, ramp(i * 10, 10)), kNow).ok());
    EXPECT_TRUE(vfs_.log_is_synced());
    ASSERT_TRUE(apply(*store_, {AppendEvent{"s", "k"}}).ok());
    EXPECT_TRUE(vfs_.log_is_synced());
  }
}

TEST_F(SqliteFaults, RefusesWritesWhileTheDiskIsFullAndRecoversByItself) {
  const Json before = picture(*store_);
  vfs_.set_full(true);
  const auto append = store_->append(points_of(1, 1, 1, ramp(1, 100)), kNow);
  EXPECT_EQ(append.status().code(), absl::StatusCode::kResourceExhausted) << append.status();
  EXPECT_EQ(reason_of(append.status()), "STORAGE_FAILED");
  EXPECT_NE(append.status().message().find("free space"), std::string::npos);
  const absl::Status events = apply(*store_, {AppendEvent{"s", "k"}});
  EXPECT_EQ(events.code(), absl::StatusCode::kResourceExhausted) << events;
  EXPECT_EQ(picture(*store_), before);  // reads go on

  vfs_.set_full(false);
  EXPECT_EQ(store_->append(points_of(1, 1, 1, ramp(1, 100)), kNow).value(), 100);
  EXPECT_TRUE(apply(*store_, {AppendEvent{"s", "k"}}).ok());
  const Json after = picture(*store_);
  reopen();
  EXPECT_EQ(picture(*store_), after);
}

TEST_F(SqliteFaults, DecidesAgainUnderTheSameNumberWhatADiskThatWasFullDidNotTake) {
  const std::vector<Mutation> begun = {
      AppendDecisions{.experiment_id = 1, .expected = 0, .rows = {{.number = 1, .kind = "begin"}}},
      ResolveTrials{.id = 1, .trial_stages = {{1, "train", 3, 10}}}};
  const Json before = picture(*store_);
  vfs_.set_full(true);
  EXPECT_EQ(reason_of(apply(*store_, begun)), "STORAGE_FAILED");
  EXPECT_EQ(picture(*store_), before) << "neither the decision nor its effect";
  vfs_.set_full(false);
  const absl::Status again = apply(*store_, begun);
  EXPECT_TRUE(again.ok()) << again;
  reopen();
  EXPECT_EQ(store_->search(1)->decided, 1);
  EXPECT_EQ(store_->references(3)->at(0).until_step, 10);
}

TEST_F(SqliteFaults, AcknowledgesNothingAfterAFailedSyncUntilRestarted) {
  ASSERT_TRUE(store_->append(points_of(1, 1, 1, ramp(1, 10)), kNow).ok());
  const Json acknowledged = picture(*store_);
  vfs_.set_sync_fails(true);
  const auto failed = store_->append(points_of(1, 1, 11, ramp(11, 10)), kNow);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kUnavailable) << failed.status();
  EXPECT_EQ(reason_of(failed.status()), "STORAGE_FAILED");

  vfs_.set_sync_fails(false);  // a second sync would succeed, and prove nothing
  const auto later = store_->append(points_of(1, 1, 11, ramp(11, 10)), kNow);
  EXPECT_EQ(reason_of(later.status()), "STORAGE_FAILED");
  EXPECT_NE(later.status().message().find("restart the server"), std::string::npos) << later.status();
  EXPECT_EQ(reason_of(apply(*store_, {AppendEvent{"s", "k"}})), "STORAGE_FAILED");
  EXPECT_EQ(picture(*store_), acknowledged);

  reopen();
  const std::int64_t stored = store_->attempts(1).value()[0].acked_seq;
  EXPECT_GE(stored, 10);  // what was acknowledged is there; what was not may be
  EXPECT_EQ(store_->append(points_of(1, 1, stored + 1, ramp(stored + 1, 5)), kNow).value(), stored + 5);
}

// What is acknowledged of points while the disk fails at its `call`-th call, and what a store that is opened afterwards has of them.
struct Survived {
  std::int64_t acknowledged = 0, asked = 0, stored = 0;
  bool struck = false;
};

TEST_F(SqliteFaults, KeepsWhatItAcknowledgedWhicheverCallOfTheDiskFails) {
  store_.reset();  // its folder is what every try begins with
  const auto with_fault = [&](int call, bool once) {
    const TempFolder folder;
    std::filesystem::copy(folder_.path(), folder.path(), std::filesystem::copy_options::recursive);
    Survived out;
    {
      auto store = get(open_sqlite_store(folder.path(), clock_, {2, vfs_.name()}));
      vfs_.fail_call(call, once);
      for (int i = 0; i < 2; ++i) {
        out.asked = std::max(out.asked, out.acknowledged + 50);
        const auto seq = store->append(points_of(1, 1, out.acknowledged + 1, ramp(out.acknowledged + 1, 50)), kNow);
        if (seq.ok()) out.acknowledged = *seq;
        (void)apply(*store, {AppendEvent{"s", "k"}});
      }
    }
    out.struck = vfs_.heal();
    auto again = open_sqlite_store(folder.path(), clock_, {2, vfs_.name()});
    EXPECT_TRUE(again.ok()) << again.status();
    if (again.ok()) out.stored = get((*again)->attempts(1)).at(0).acked_seq;
    return out;
  };
  for (const bool once : {true, false}) {
    int call = 1;
    for (Survived seen = with_fault(call, once); seen.struck; seen = with_fault(++call, once)) {
      ASSERT_GE(seen.stored, seen.acknowledged) << "call " << call << (once ? " once" : " and all after it");
      ASSERT_LE(seen.stored, seen.asked) << "call " << call;
    }
    EXPECT_GT(call, 10) << "the disk was hardly asked for anything";
  }
}

TEST_F(SqliteFaults, RefusesEveryCallerOfATransactionThatCouldNotBeCommitted) {
  vfs_.set_full(true);
  // A refusal by a rule may rest on another caller's writes of the same transaction, so it is not given out
  // either.
  EXPECT_EQ(reason_of(apply(*store_, {AppendEvent{"s", "k"}})), "STORAGE_FAILED");
  vfs_.set_full(false);
  EXPECT_EQ(reason_of(apply(*store_, {SetExperimentState{9}})), "EXPERIMENT_NOT_FOUND");
}

}  // namespace
}  // namespace locus::testing
