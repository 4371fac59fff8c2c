// A database that a release wrote, with a demonstration finished in it, is what it was: nothing of it is to be run
// again, and its tables show the numbers that the release itself showed. Of 6 it is the whole demonstration, of the others
// the small one (tools/keep-schema).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "core/experiment/plan/planner.h"
#include "server/analysis/leaderboard_query.h"
#include "server/analysis/outline_cache.h"
#include "storage/sqlite/store.h"
#include "tests/storage/world.h"

namespace locus::test {
namespace {

Json read_json(const std::string& path) {
  std::ifstream in(path);
  return Json::parse(in);
}

// "NaN" is how the release printed it.
double number(const Json& value) { return value.is_string() ? std::nan("") : value.get<double>(); }

void expect_same(double found, const Json& before, const std::string& what) {
  if (std::isnan(number(before))) {
    EXPECT_TRUE(std::isnan(found)) << what << " is " << found;
  } else {
    EXPECT_NEAR(found, number(before), 1e-9 * (1 + std::abs(number(before)))) << what;
  }
}

// Opens a copy of a fixture, and with it migrates it.
class FormerDatabase : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string version = std::to_string(GetParam());
    std::filesystem::copy_file(std::string(LOCUS_SOURCE_ROOT) + "/tests/storage/testdata/schema-" + version + ".db",
                               folder_.path() / "locus.db");
    auto store = open_sqlite_store(folder_.path(), clock_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    before_ =
        read_json(std::string(LOCUS_SOURCE_ROOT) + "/tests/server/testdata/schema-" + version + "-leaderboard.json");
  }

  testing::TempFolder folder_;
  testing::FixedClock clock_;
  std::unique_ptr<Store> store_;
  Json before_;  // its table, as the release printed it
};

TEST_P(FormerDatabase, IsWholeAndOfTodaysSchema) {
  const auto report = store_->check();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->problems.empty()) << report->problems.front();
  EXPECT_GE(report->schema_version, GetParam());
}

TEST_P(FormerDatabase, PlansAsAllDoneWithTheCatalogOfToday) {
  const auto row = store_->experiment(before_.at("experiment").get<std::string>());
  ASSERT_TRUE(row.ok()) << row.status();
  const auto catalog = Catalog::parse(read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json"));
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const auto plan = plan_experiment(Json::parse(row->spec_json), *catalog);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(row->stage_seconds, plan->stage_seconds);
  std::int64_t stages = 0;
  for (const PlannedTrial& trial : plan->trials) {
    for (const PlannedStage& planned : trial.stages) {
      const std::vector<std::string> identity = {planned.identity};
      const auto found = store_->stages_by_identity(identity);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_TRUE(found->contains(planned.identity)) << planned.config_json << " would be run again";
      const StageRow& stage = found->at(planned.identity);
      EXPECT_EQ(stage.state, StageState::kSucceeded);
      EXPECT_EQ(stage.config_json, planned.config_json);
      ASSERT_NE(stage.requirements, nullptr);
      EXPECT_EQ(stage.requirements->revisions, planned.requirements->revisions);
      EXPECT_EQ(stage.requirements->exclusive, planned.requirements->exclusive);
      ++stages;
    }
  }
  const auto counts = store_->counts(row->id);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->by_state, (std::map<StageState, std::int64_t>{{StageState::kSucceeded, stages}}));
}

TEST_P(FormerDatabase, ShowsTheTableThatItsReleaseShowed) {
  server::OutlineCache outlines(*store_);
  server::Leaderboards tables(*store_, outlines);
  v1::GetTableRequest request;
  request.set_experiment(before_.at("experiment").get<std::string>());
  const auto table = tables.get(request);
  ASSERT_TRUE(table.ok()) << table.status();
  const v1::Table& now = **table;
  EXPECT_EQ(now.metric(), before_.at("metric").get<std::string>());
  EXPECT_EQ(now.split(), before_.at("split").get<std::string>());
  EXPECT_EQ(now.labels(), before_.at("labels").get<std::string>());
  EXPECT_EQ(now.baseline(), before_.at("baseline").get<std::string>());
  ASSERT_EQ(static_cast<std::size_t>(now.rows_size()), before_.at("rows").size());
  for (int i = 0; i < now.rows_size(); ++i) {
    const v1::TableRow& row = now.rows(i);
    const Json& was = before_.at("rows")[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.label(), was.at("label").get<std::string>()) << "row " << i;
    EXPECT_EQ(row.n(), was.at("n").get<int>());
    EXPECT_EQ(row.baseline(), was.at("baseline").get<bool>());
    EXPECT_EQ(row.pairs(), was.at("pairs").get<int>());
    EXPECT_EQ(std::to_string(row.parameters()), was.at("parameters").get<std::string>());
    const std::pair<const char*, double> numbers[] = {{"mean", row.mean()},
                                                      {"std", row.std()},
                                                      {"ci_low", row.ci_low()},
                                                      {"ci_high", row.ci_high()},
                                                      {"difference", row.difference()},
                                                      {"difference_std", row.difference_std()},
                                                      {"p_sign_flip", row.p_sign_flip()},
                                                      {"p_t", row.p_t()},
                                                      {"p_holm", row.p_holm()},
                                                      {"ms_per_step", row.ms_per_step()},
                                                      {"selection", row.selection()}};
    for (const auto& [name, value] : numbers) expect_same(value, was.at(name), row.label() + ", " + name);
    ASSERT_EQ(static_cast<std::size_t>(row.values_size()), was.at("values").size());
    for (int v = 0; v < row.values_size(); ++v)
      expect_same(row.values(v).value(), was.at("values")[static_cast<std::size_t>(v)].at("value"), row.label());
  }
}

INSTANTIATE_TEST_SUITE_P(OfSchema, FormerDatabase, ::testing::Values(6, 10, 12, 13, 14),
                         [](const auto& schema) { return std::to_string(schema.param); });

}  // namespace
}  // namespace locus::test
