// What the SQLite store does when the disk fails under it.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <future>

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

TEST_F(SqliteFaults, AcknowledgesNothingWhileASyncLastsAndReadsGoOn) {
  const Json before = picture(*store_);
  vfs_.hold_syncs(true);
  auto append =
      std::async(std::launch::async, [this] { return store_->append(points_of(1, 1, 1, ramp(1, 10)), kNow); });
  vfs_.await_held_sync();
  EXPECT_EQ(picture(*store_), before) << "what may yet be lost is shown to nobody";
  EXPECT_EQ(append.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  vfs_.hold_syncs(false);
  EXPECT_EQ(append.get().value(), 10);
  EXPECT_NE(picture(*store_), before);
}

TEST_F(SqliteFaults, TakesADiskThatTurnsReadOnlyForABrokenOneAndGoesOnReading) {
  ASSERT_TRUE(store_->append(points_of(1, 1, 1, ramp(1, 10)), kNow).ok());
  const Json acknowledged = picture(*store_);
  vfs_.set_read_only(true);
  EXPECT_EQ(reason_of(store_->append(points_of(1, 1, 11, ramp(11, 10)), kNow).status()), "STORAGE_FAILED");
  const absl::Status later = apply(*store_, {AppendEvent{"s", "k"}});
  EXPECT_NE(later.message().find("restart the server"), std::string::npos) << later;
  EXPECT_EQ(picture(*store_), acknowledged);
  vfs_.set_read_only(false);
  reopen();
  EXPECT_EQ(picture(*store_), acknowledged);
  EXPECT_EQ(store_->append(points_of(1, 1, 11, ramp(11, 10)), kNow).value(), 20);
}

// Somebody who reads the file beside the server, and takes long.
class LongReader {
 public:
  explicit LongReader(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle_, "BEGIN; SELECT COUNT(*) FROM event", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~LongReader() { sqlite3_close_v2(handle_); }
  LongReader(const LongReader&) = delete;
  LongReader& operator=(const LongReader&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

TEST_F(SqliteFaults, ALongReaderKeepsTheLogGrowingOnlyWhileItReads) {
  constexpr std::uintmax_t kMiB = 1 << 20;
  const auto write_mib = [this](int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(apply(*store_, {AppendEvent{"s", "k", Json(std::string(kMiB, 'x')).dump()}}).ok());
  };
  const auto log_bytes = [this] { return std::filesystem::file_size(folder_.path() / "locus.db-wal"); };
  {
    const LongReader reader(folder_.path() / "locus.db");
    write_mib(12);
    EXPECT_GT(log_bytes(), 12 * kMiB) << "the reader held nothing up: it shows nothing";
  }
  write_mib(1);  // after which what the reader held is in the file
  const auto held = log_bytes();
  write_mib(20);
  EXPECT_LE(log_bytes(), held + 6 * kMiB) << "of 20 MiB that were written";
}

// What is acknowledged of points while the disk fails at its `call`-th call, and what a store that is opened afterwards has of them.
struct Survived {
  std::int64_t acknowledged = 0, asked = 0, stored = 0;
  bool struck = false;
  int interrupted = 0;  // openings that ended with the disk failing again, each at a later call than the one before
};

class SqliteCrash : public SqliteFaults {
 protected:
  // The disk fails at its `call`-th call, once or from then on; `again`: and at every call of what then opens the store.
  Survived with_fault(int call, bool once, bool again) {
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
    for (bool struck = again; struck; out.interrupted += struck ? 1 : 0) {
      vfs_.fail_call(out.interrupted + 1, /*once=*/false);
      (void)open_sqlite_store(folder.path(), clock_, {2, vfs_.name()});
      struck = vfs_.heal();
    }
    auto opened = open_sqlite_store(folder.path(), clock_, {2, vfs_.name()});
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) out.stored = get((*opened)->attempts(1)).at(0).acked_seq;
    return out;
  }
};

TEST_F(SqliteCrash, KeepsWhatItAcknowledgedWhicheverCallOfTheDiskFails) {
  store_.reset();  // its folder is what every try begins with
  for (const bool once : {true, false}) {
    int call = 1;
    for (Survived seen = with_fault(call, once, false); seen.struck; seen = with_fault(++call, once, false)) {
      ASSERT_GE(seen.stored, seen.acknowledged) << "call " << call << (once ? " once" : " and all after it");
      ASSERT_LE(seen.stored, seen.asked) << "call " << call;
    }
    EXPECT_GT(call, 10) << "the disk was hardly asked for anything";
  }
}

TEST_F(SqliteCrash, KeepsItWhenTheDiskFailsAgainAtEveryCallOfTheRecovery) {
  store_.reset();
  constexpr int kEvery = 4;  // call that the first crash is at: every recovery takes hundreds of openings
  int call = 1, deepest = 0;
  for (Survived seen = with_fault(call, false, true); seen.struck; seen = with_fault(call += kEvery, false, true)) {
    ASSERT_GE(seen.stored, seen.acknowledged)
        << "call " << call << ", " << seen.interrupted << " recoveries broken off";
    ASSERT_LE(seen.stored, seen.asked) << "call " << call;
    deepest = std::max(deepest, seen.interrupted);
  }
  EXPECT_GT(deepest, 10) << "a recovery hardly asks the disk for anything";
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
