// What the SQLite store promises beyond the contract: it survives, it guards its folder and file, it notices
// damage.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "storage/sqlite/migrations.h"
#include "storage/sqlite/store.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

// Runs SQL on a database no store has open.
void run_sql(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open() {
    auto opened = open_sqlite_store(folder_.path(), clock_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  absl::Status refusal() { return open_sqlite_store(folder_.path(), clock_).status(); }
  std::filesystem::path file() const { return folder_.path() / "locus.db"; }

  TempFolder folder_;
  FixedClock clock_;
};

void fill(Store& store) {
  ASSERT_TRUE(apply(store, world()).ok());
  ASSERT_TRUE(apply(store, {grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, true}}).ok());
  for (int i = 0; i < 4; ++i) {  // sealed and not yet sealed points
    ASSERT_TRUE(store.append(points_of(1, 1, i * 5000 + 1, ramp(i * 5000, 5000)), kNow).ok());
  }
  EndAttempt lost = end(1, 1, AttemptState::kLost, StageState::kQueued);
  lost.failure_class = FailureClass::kWorkerLost;
  lost.counts_as_fault = true;
  ASSERT_TRUE(apply(store, {lost, grant(1, 2, 10, kShaA), AppendEvent{"stages/1", "attempt-ended"}}).ok());
  ASSERT_TRUE(store.append(points_of(1, 2, 1, ramp(11, 3)), kNow).ok());
  EndAttempt done = end(3, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  done.results = {{{"top1", "test", "{}"}, "last", 0.1, 5}};
  done.outputs = {{"checkpoint", kShaB, 5}};
  ASSERT_TRUE(apply(store, {grant(3, 1), done}).ok());
}

TEST_F(SqliteStoreTest, SurvivesAReopenWithEverything) {
  auto store = open();
  fill(*store);
  const Json before = picture(*store);
  for (int i = 0; i < 2; ++i) {
    store.reset();
    store = open();
    EXPECT_EQ(picture(*store), before);
  }
}

TEST_F(SqliteStoreTest, LeavesNoLogBehindWhenClosed) {
  auto store = open();
  fill(*store);
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "locus.db-wal"));
}

TEST_F(SqliteStoreTest, MakesAMissingFolder) {
  auto opened = open_sqlite_store(folder_.path() / "a" / "b", clock_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "a" / "b" / "locus.db"));
}

TEST_F(SqliteStoreTest, RefusesASecondServerAndNamesTheProcessThatHasIt) {
  auto store = open();
  const absl::Status status = refusal();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reason_of(status), "DATA_FOLDER_IN_USE");
  EXPECT_NE(status.message().find("process id " + std::to_string(getpid())), std::string::npos) << status;
  store.reset();
  EXPECT_TRUE(refusal().ok());
}

TEST_F(SqliteStoreTest, RefusesAFolderItCannotMake) {
  std::ofstream(folder_.path() / "file") << "not a folder";
  for (const auto& path :
       {folder_.path() / "file", folder_.path() / "file" / "below", std::filesystem::path("/proc/locus-data")}) {
    const absl::Status status = open_sqlite_store(path, clock_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(reason_of(status), "DATA_FOLDER_UNUSABLE");
    EXPECT_NE(status.message().find(path.string()), std::string::npos) << status;
  }
}

TEST_F(SqliteStoreTest, RefusesAReadOnlyFolder) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  const uid_t before = geteuid();
  if (before == 0) {  // permissions do not bind the superuser
    ASSERT_EQ(seteuid(65534), 0);
  }
  const absl::Status status = refusal();
  ASSERT_EQ(seteuid(before), 0);
  EXPECT_EQ(reason_of(status), "DATA_FOLDER_UNUSABLE") << status;
  EXPECT_NE(status.message().find("Permission denied"), std::string::npos) << status;
}

TEST_F(SqliteStoreTest, RefusesANewerSchemaAndLeavesItAlone) {
  open().reset();
  run_sql(file(), "PRAGMA user_version=999");
  const absl::Status status = refusal();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reason_of(status), "DATA_FOLDER_UNUSABLE");
  EXPECT_NE(status.message().find("schema version 999"), std::string::npos) << status;
  run_sql(file(), "PRAGMA user_version=" + std::to_string(sqlite::migrations().size()));
  EXPECT_TRUE(refusal().ok());
}

TEST_F(SqliteStoreTest, RefusesAnotherProgramsDatabase) {
  run_sql(file(), "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
  EXPECT_EQ(reason_of(refusal()), "DATA_FOLDER_UNUSABLE");
  EXPECT_NE(refusal().message().find("another program"), std::string::npos) << refusal();
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(file()) << std::string(8192, 'x');
  EXPECT_EQ(reason_of(refusal()), "DATA_FOLDER_UNUSABLE");
  EXPECT_NE(refusal().message().find("locus.db"), std::string::npos) << refusal();
}

TEST_F(SqliteStoreTest, RefusesADamagedFile) {
  auto store = open();
  fill(*store);
  store.reset();
  {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 1; page < 20; ++page) {  // every page's head but the first's
      stream.seekp(page * 4096);
      stream.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
  }
  const absl::Status status = refusal();
  EXPECT_EQ(reason_of(status), "DATA_FOLDER_UNUSABLE") << status;
  EXPECT_NE(status.message().find("restore a backup"), std::string::npos) << status;
}

TEST_F(SqliteStoreTest, NoticesAFlippedBitInStoredPoints) {
  auto store = open();
  fill(*store);
  store.reset();
  // As a bad disk would: inside a blob, where the database's own structure is not touched.
  run_sql(file(),
          "UPDATE chunk SET columns = CAST(substr(columns, 1, 100) || x'00' || substr(columns, 102) AS BLOB) "
          "WHERE id = 1");
  store = open();
  const auto points = store->points(1, {"loss", "train", "{}"}, 0);
  EXPECT_EQ(points.status().code(), absl::StatusCode::kDataLoss) << points.status();
  EXPECT_EQ(reason_of(points.status()), "STORAGE_FAILED");
  EXPECT_TRUE(store->append(points_of(1, 2, 4, ramp(14, 1)), kNow).ok());  // the rest lives
}

// A search of three decisions and a stage that has parked, then damage that the database itself does not see.
TEST_F(SqliteStoreTest, NoticesALogThatIsNotWholeAndAStageThatCannotBeParked) {
  {
    auto store = open();
    AppendDecisions begun{.experiment_id = 1, .expected = 0, .rows = {}};
    for (int number = 1; number <= 3; ++number) begun.rows.push_back({.number = number, .kind = "propose"});
    ASSERT_TRUE(apply(*store, world()).ok());
    ASSERT_TRUE(apply(*store, {begun, grant(1, 1), end(1, 1, AttemptState::kParked, StageState::kParked)}).ok());
    EXPECT_TRUE(store->check()->problems.empty());
  }
  const std::pair<const char*, const char*> damages[] = {
      {"DELETE FROM decision WHERE number = 2", "has 2 decisions up to number 3: some are missing"},
      {"DELETE FROM decision WHERE number = 1", "some are missing"},
      {"DELETE FROM decision WHERE number = 3", "ends at number 2, its search has it as 3"},
      {"DELETE FROM decision", "ends at number 0, its search has it as 3"},
      {"UPDATE search SET decided = 4", "ends at number 3, its search has it as 4"},
      {"UPDATE attempt SET state = 'succeeded'", "stage 1 is parked, but its newest attempt, 1, is succeeded"},
  };
  const std::filesystem::path whole = folder_.path() / "whole.db";
  std::filesystem::copy_file(file(), whole);
  for (const auto& [damage, told] : damages) {
    std::filesystem::copy_file(whole, file(), std::filesystem::copy_options::overwrite_existing);
    run_sql(file(), damage);
    std::vector<ArtifactRow> named;
    const auto report = check_sqlite_file(file(), &named);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->problems.size(), 1u) << damage;
    EXPECT_NE(report->problems[0].find(told), std::string::npos) << damage << ": " << report->problems[0];
  }
}

TEST_F(SqliteStoreTest, ChecksAFileFromBeforeThereWereSearches) {
  std::filesystem::copy_file(std::string(LOCUS_SOURCE_ROOT) + "/tests/storage/testdata/schema-6.db", file());
  std::vector<ArtifactRow> named;
  const auto report = check_sqlite_file(file(), &named);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->problems.empty());
  EXPECT_EQ(report->schema_version, 6);
}

TEST_F(SqliteStoreTest, RecordsWhenEachMigrationWasApplied) {
  open().reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT number, applied_us FROM migration", -1, &statement, nullptr), SQLITE_OK);
  for (std::size_t number = 1; number <= sqlite::migrations().size(); ++number) {
    ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
    EXPECT_EQ(sqlite3_column_int64(statement, 0), static_cast<std::int64_t>(number));
    EXPECT_EQ(sqlite3_column_int64(statement, 1), clock_.wall());
  }
  EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE);
  sqlite3_finalize(statement);
  sqlite3_close(db);
}

}  // namespace
}  // namespace locus::testing
