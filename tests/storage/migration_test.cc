// A database of the first release is brought forward whole, or left as it was.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <sstream>

#include "core/base/sha256.h"
#include "core/experiment/load.h"
#include "storage/sqlite/store.h"
#include "tests/storage/faulty_vfs.h"
#include "tests/storage/world.h"

namespace locus::testing {
namespace {

// The first release is out: what its schema says is history.
constexpr char kFirstSchema[] = "b4874ba9c0cc7c8f577727203644bfd7d1ba6dfaf708c9055f6668e3f7e450f3";

std::string first_schema() {
  std::ifstream in(std::string(LOCUS_SOURCE_ROOT) + "/storage/migrations/0001_init.sql");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Database {
 public:
  explicit Database(const std::filesystem::path& file) { EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK); }
  ~Database() { sqlite3_close(db_); }
  void run(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error << " in " << sql;
    sqlite3_free(error);
  }
  std::vector<std::string> column(const std::string& sql, int number = 0) {
    std::vector<std::string> out;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    while (sqlite3_step(statement) == SQLITE_ROW)
      out.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, number)));
    sqlite3_finalize(statement);
    return out;
  }

 private:
  sqlite3* db_ = nullptr;
};

class FirstRelease : public ::testing::Test {
 protected:
  // Fills a store of today, then copies every row into tables of the first release, column by column.
  void SetUp() override {
    TempFolder today;
    {
      auto store = open_sqlite_store(today.path(), clock_);
      ASSERT_TRUE(store.ok()) << store.status();
      ASSERT_TRUE(apply(**store, world()).ok());
      ASSERT_TRUE(apply(**store, {grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, true}}).ok());
      ASSERT_TRUE((*store)->append(points_of(1, 1, 1, ramp(1, 5000)), kNow).ok());
      EndAttempt done = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
      done.results = {{{"top1", "test", "{}"}, "last", 0.25, 10}};
      done.outputs = {{"checkpoint", kShaA, 10}};
      ASSERT_TRUE(apply(**store, {done, grant(3, 1)}).ok());
      ASSERT_TRUE((*store)->append(points_of(3, 1, 1, ramp(1, 7)), kNow).ok());
      picture_ = picture(**store);
    }
    Database old(file());
    old.run(first_schema());
    old.run("ATTACH '" + (today.path() / "locus.db").string() + "' AS today");
    for (const std::string& table :
         old.column("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")) {
      std::string columns;
      for (const std::string& name : old.column("SELECT name FROM pragma_table_info('" + table + "')"))
        columns += (columns.empty() ? "" : ", ") + name;
      const std::string only = table == "migration" ? " WHERE number = 1" : "";
      old.run("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns + " FROM today." + table + only);
    }
    old.run("DETACH today");
    old.run("PRAGMA application_id=1280262997; PRAGMA user_version=1");  // "LOCU"
  }

  std::filesystem::path file() const { return folder_.path() / "locus.db"; }
  std::string version() { return Database(file()).column("PRAGMA user_version").at(0); }

  FaultyVfs vfs_;
  TempFolder folder_;
  FixedClock clock_;
  Json picture_;
};

TEST(FirstSchema, IsFrozen) { EXPECT_EQ(sha256_hex(first_schema()), kFirstSchema) << "write a new migration instead"; }

TEST_F(FirstRelease, IsBroughtForwardWithEveryRow) {
  EXPECT_EQ(version(), "1");
  {
    auto store = open_sqlite_store(folder_.path(), clock_);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(picture(**store), picture_);
    // And what is new works on what is old.
    EXPECT_TRUE(apply(**store, {AppendLog{3, 1, "session-a", 0, "hello\n"}, PinArtifact{kShaA, true}}).ok());
    EXPECT_EQ((*store)->log(3, 1, 0, 100)->text, "hello\n");
    EXPECT_EQ((*store)->references(3)->at(0).until_step, kToTheEnd);
    EXPECT_EQ(reason_of((*store)->search(1).status()), "SEARCH_NOT_FOUND");
    AppendDecisions begin{.experiment_id = 1, .expected = 0, .rows = {{.number = 1, .kind = "begin"}}};
    EXPECT_TRUE(apply(**store, {begin, ResolveTrials{.id = 1, .trial_stages = {{1, "train", 3, 20}}}}).ok());
    EXPECT_EQ((*store)->references(3)->at(0).until_step, 20);
    EXPECT_TRUE((*store)->check()->problems.empty());
  }
  EXPECT_EQ(version(), "14");
}

std::size_t comparisons(const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find("=?"); at != std::string::npos; at = text.find("=?", at + 1)) ++count;
  return count;
}

// As `.lint fkey-indexes` of SQLite's shell: a row that goes must not have a whole table read for rows that refer to it.
TEST(NewestSchema, FindsTheRowsBehindEveryForeignKeyByAnIndex) {
  TempFolder folder;
  FixedClock clock;
  ASSERT_TRUE(open_sqlite_store(folder.path(), clock).ok());
  Database database(folder.path() / "locus.db");
  const auto keys = database.column(
      "SELECT t.name || ' WHERE ' || group_concat(k.\"from\" || '=?', ' AND ') FROM sqlite_schema t, "
      "pragma_foreign_key_list(t.name) k WHERE t.type = 'table' GROUP BY t.name, k.id");
  EXPECT_GT(keys.size(), 15u);
  for (const std::string& key : keys) {
    const std::string plan = database.column("EXPLAIN QUERY PLAN SELECT 1 FROM " + key, 3).at(0);
    EXPECT_TRUE(plan.starts_with("SEARCH ") && comparisons(plan) == comparisons(key))
        << key << " is answered by: " << plan << "; write a migration that adds an index";
  }
}

TEST_F(FirstRelease, DrawsCurvesThatWereSealedWithoutAPyramid) {
  auto store = open_sqlite_store(folder_.path(), clock_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(Database(file()).column("SELECT chunk_id FROM pyramid").empty());
  const SeriesKey key = (*store)->series(1)->at(0).key;
  const auto drawn = (*store)->points(1, key, 16);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_TRUE(drawn->reduced);
  EXPECT_EQ(drawn->points.front().step, 1);
  EXPECT_EQ(drawn->points.back().step, 5000);
  std::int64_t count = 0;
  for (const SeriesBlock& block : get((*store)->blocks(1, key, 9))) count += block.count;
  EXPECT_EQ(count, 5000);
}

// Configurations of every shape that the load is cut from.
constexpr const char* kConfigurations[][2] = {
    {"train",
     R"j({"dataset":{"digest":"d","id":"clothes","options":{"a":[1,2.5,1e-7]}},"inputs":{},"kind":"train","model":{"id":"vit","options":{"dim":64,"init_std":0.075,"pool":"c\\\"ls é"}},"recipe":{"id":"supervised","options":{"batch":32,"lr":0.003}},"seed":3,"stage":{"options":{"keep_best":"top1"}}})j"},
    {"evaluate",
     R"j({"dataset":{"id":"clothes","options":{}},"kind":"evaluate","model":{"id":"vit","options":{}},"recipe":{"id":"supervised","options":{"batch":32}},"stage":{"options":{"images":100,"positions":["native","interpolated"],"resolution":[28,42]}}})j"},
    {"evaluate",
     R"j({"dataset":{"id":"clothes"},"kind":"evaluate","model":{"id":"vit"},"stage":{"options":{"resolution":[]}}})j"},
    {"measure",
     R"j({"dataset":{"id":"clothes"},"exclusive":true,"kind":"measure","model":{"id":"vit"},"stage":{"options":{"round_ms":50.0}}})j"},
    {"train", R"j({"resolution":28})j"}};

TEST_F(FirstRelease, FindsRunsOfThePastByTheirLoad) {
  {
    Database old(file());
    for (int i = 0; i < static_cast<int>(std::size(kConfigurations)); ++i) {
      const std::string id = std::to_string(100 + i), kind = kConfigurations[i][0];
      old.run("INSERT INTO config VALUES ('c" + id + "', '" + kConfigurations[i][1] + "')");
      old.run("INSERT INTO stage VALUES (" + id + ", 'i" + id + "', '" + kind + "', 'c" + id +
              "', 0, 'succeeded', 'none', '', 1, 0, 0, 0)");
      old.run("INSERT INTO attempt VALUES (" + id +
              ", 1, 1, 's', '[0]', 'succeeded', 'none', '', 0, '', 0, 0, 1000, 4000, '{}')");
    }
  }
  auto store = open_sqlite_store(folder_.path(), clock_);
  ASSERT_TRUE(store.ok()) << store.status();
  for (int i = 0; i < static_cast<int>(std::size(kConfigurations)); ++i) {
    const auto runs = get((*store)->past_runs(load_of(kConfigurations[i][0], kConfigurations[i][1]), 10));
    ASSERT_FALSE(runs.empty()) << kConfigurations[i][1];
    EXPECT_EQ(runs.front().stage_id, 100 + i);
    EXPECT_EQ(runs.front().busy_us, 3000);
  }
}

TEST_F(FirstRelease, KnowsWhatItsStagesAskAndHowLongTheyMayTake) {
  const std::string configurations[] = {
      R"j({"kind":"train","revisions":{"prior/none":1,"prior/violin":2}})j",
      R"j({"exclusive":true,"kind":"measure","revisions":{"prior/none":1,"prior/violin":2}})j",
      R"j({"kind":"train","revisions":{"prior/none":1,"prior/violin":2},"seed":1})j", R"j({"kind":"train"})j"};
  {
    Database old(file());
    for (int i = 0; i < 4; ++i) {
      const std::string id = std::to_string(100 + i);
      old.run("INSERT INTO config VALUES ('c" + id + "', '" + configurations[i] + "')");
      old.run("INSERT INTO stage VALUES (" + id + ", 'i" + id + "', 'train', 'c" + id +
              "', 0, 'queued', 'none', '', 0, 0, 0, 0)");
    }
    const std::string specifications[] = {R"({"limits":{"stage_seconds":60},"version":1})", R"({"limits":{}})",
                                          R"({"limits":{"stage_seconds":"60"}})", R"({"stage_seconds":60})", "{"};
    for (int i = 0; i < 5; ++i) {
      const std::string id = std::to_string(10 + i);
      old.run("INSERT INTO experiment VALUES (" + id + ", 'e" + id + "', '', '" + specifications[i] +
              "', 1, 'active', 0, 'digest', 0)");
    }
  }
  auto store = open_sqlite_store(folder_.path(), clock_);
  ASSERT_TRUE(store.ok()) << store.status();
  const StageRequirements both{.revisions = {{"prior/none", 1}, {"prior/violin", 2}}};
  EXPECT_EQ(*(*store)->stage(100)->requirements, both);
  EXPECT_TRUE((*store)->stage(101)->requirements->exclusive);
  EXPECT_EQ(*(*store)->stage(102)->requirements, both);
  EXPECT_EQ((*store)->stage(103)->requirements, nullptr);
  EXPECT_EQ((*store)->experiment(10)->stage_seconds, 60);
  for (int id = 11; id < 15; ++id) EXPECT_EQ((*store)->experiment(id)->stage_seconds, 0) << id;
  EXPECT_EQ(Database(file()).column("SELECT COUNT(*) FROM requirement").at(0), "2") << "each is kept once";
}

TEST(NewestSchema, FindsRunsOfThePastByAnIndex) {
  TempFolder folder;
  FixedClock clock;
  ASSERT_TRUE(open_sqlite_store(folder.path(), clock).ok());
  Database database(folder.path() / "locus.db");
  const auto plan = database.column(
      "EXPLAIN QUERY PLAN SELECT s.id FROM stage s WHERE s.load_id = (SELECT id FROM load WHERE text = 'x') "
      "AND s.state = 'succeeded' ORDER BY s.id DESC LIMIT 5",
      3);
  EXPECT_EQ(plan.at(0), "SEARCH s USING INDEX stage_by_load (load_id=?)");
  for (const std::string& step : plan) EXPECT_EQ(step.find("TEMP B-TREE"), std::string::npos) << step;
}

TEST_F(FirstRelease, IsLeftAsItWasWhenTheDiskIsFull) {
  vfs_.set_full(true);
  const auto refused = open_sqlite_store(folder_.path(), clock_, {2, vfs_.name()});
  EXPECT_EQ(reason_of(refused.status()), "DATA_FOLDER_UNUSABLE") << refused.status();
  EXPECT_EQ(version(), "1");
  EXPECT_TRUE(
      Database(file()).column("SELECT name FROM sqlite_schema WHERE name IN ('attempt_log', 'pyramid')").empty());
  vfs_.set_full(false);
  auto store = open_sqlite_store(folder_.path(), clock_, {2, vfs_.name()});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(picture(**store), picture_);
}

}  // namespace
}  // namespace locus::testing
