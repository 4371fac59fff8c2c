// One number everywhere: leaderboard, paper table, figures' data, comparison and export of an experiment with
// failed, unpaired and non-finite cells; and settings side by side.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "core/statistics/table.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double score(const std::string& prior, std::int64_t seed, int resolution) {
  if (prior == "none" && seed == 1) return std::numeric_limits<double>::quiet_NaN();
  const double base = prior == "violin" ? 83.1 : 80.3;
  return base + 0.7 * static_cast<double>(seed * seed) - (resolution == 42 ? 10 : 0);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b));
}

class Agreement : public ServerTest {
 protected:
  // At lr 0.003 the baseline has only seed 2 and violin only the others, so they share none.
  void SetUp() override {
    start();
    submit(small_specification(
        {{"matrix", {{"prior", {"none", "learned-absolute", "violin"}}, {"train.lr", {0.001, 0.003}}}}}));
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    while (const auto work = worker.acquire()) {
      const bool fast = work->config["recipe"]["options"].value("lr", 0.0) == 0.003;
      const bool fails =
          fast && (work->prior == "violin" ? work->seed == 2 : work->prior != "none" && work->seed < 2);
      if (fails && work->grant.kind() == "train") {
        ASSERT_TRUE(worker.fail(*work, "diverged", "the loss became NaN").ok());
      } else {
        worker.run(*work, score);
      }
    }
    for (int cell = 0; cell < 6; ++cell) compared_.add_items("small/cells/" + std::to_string(cell));
    ASSERT_TRUE(experiments_->Compare(deadline().get(), compared_, &comparison_).ok());
    read_export();
  }

  v1::PaperTable paper(const std::string& metric) {
    v1::GetPaperTableRequest request;
    request.add_experiments("small");
    request.add_rows("prior");
    request.add_rows("train.lr");
    request.add_metrics()->set_metric(metric);
    v1::PaperTable out;
    EXPECT_TRUE(analysis_->GetPaperTable(deadline().get(), request, &out).ok());
    return out;
  }

  // Of a leaderboard's row: both label by prior and learning rate.
  static const v1::PaperCell& same_row(const v1::PaperTable& table, const v1::TableRow& row) {
    for (int i = 0; i < table.rows_size(); ++i) {
      if (table.rows(i).labels(0) + ", lr=" + table.rows(i).labels(1) == row.label()) return table.cells(i);
    }
    ADD_FAILURE() << row.label();
    return table.cells(0);
  }

  const v1::ComparedResult& compared(const std::string& metric, const std::string& labels) const {
    for (const v1::ComparedResult& one : comparison_.results()) {
      if (one.key().metric() == metric && one.key().labels() == labels) return one;
    }
    ADD_FAILURE() << metric << " " << labels;
    return comparison_.results(0);
  }

  // Values by metric with labels, by cell.
  void read_export() {
    v1::ExportExperimentRequest request;
    request.set_name("small");
    request.set_without_points(true);
    const auto context = deadline();
    const auto reader = experiments_->ExportExperiment(context.get(), request);
    std::string text;
    for (v1::ExportExperimentResponse part; reader->Read(&part);) text += part.chunk();
    std::map<std::int64_t, int> cells;  // of stages
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line);
      if (json.contains("stages") && json.contains("seed")) {
        for (const auto& [role, stage] : json["stages"].items()) cells[stage.get<std::int64_t>()] = json["cell"];
      }
      if (!json.contains("reducer")) continue;
      const Json& value = json["value"];
      const std::string key = json["metric"].get<std::string>() + canonical_json(json["labels"]);
      exported_[key][cells.at(json["stage"])].push_back(
          value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
    }
  }

  v1::CompareRequest compared_;
  v1::Comparison comparison_;
  std::map<std::string, std::map<int, std::vector<double>>> exported_;
};

TEST_F(Agreement, OfMeansDeviationsIntervalsAndCounts) {
  const v1::Table board = table("small");
  const v1::PaperTable pivot = paper("top1");
  ASSERT_EQ(board.rows_size(), 6);
  const v1::ComparedResult& result = compared("top1", R"({"resolution":28})");
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    const v1::PaperCell& cell = same_row(pivot, row);
    EXPECT_EQ(cell.n(), row.n());
    EXPECT_TRUE(same(cell.mean(), row.mean()));
    EXPECT_TRUE(same(cell.std(), row.std()));
    EXPECT_TRUE(same(cell.low(), row.ci_low()));
    EXPECT_TRUE(same(cell.high(), row.ci_high()));
    EXPECT_EQ(cell.missing_seeds_size(), row.missing_seeds_size());
    EXPECT_EQ(result.n(row.cell()), row.n());
    EXPECT_TRUE(same(result.mean(row.cell()), row.mean()));
    EXPECT_TRUE(same(result.std(row.cell()), row.std()));
    const SampleSummary exported = summarize_sample(exported_[R"(top1{"resolution":28})"][row.cell()], 0.95);
    EXPECT_EQ(exported.n, row.n());
    EXPECT_TRUE(same(exported.mean, row.mean()));
  }
}

TEST_F(Agreement, OfCosts) {
  const v1::Table board = table("small");
  const v1::PaperTable pace = paper("ms_per_step"), size = paper("parameters");
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    EXPECT_TRUE(same(same_row(pace, row).mean(), row.ms_per_step()));
    EXPECT_TRUE(same(same_row(pace, row).std(), row.ms_per_step_std()));
    EXPECT_TRUE(same(compared("ms_per_step", "{}").mean(row.cell()), row.ms_per_step()));
    EXPECT_TRUE(same(compared("ms_per_step", "{}").std(row.cell()), row.ms_per_step_std()));
    EXPECT_TRUE(same(summarize_sample(exported_["ms_per_step{}"][row.cell()], 0.95).mean, row.ms_per_step()));
    EXPECT_EQ(same_row(size, row).mean(), static_cast<double>(row.parameters()));
    EXPECT_EQ(compared("parameters", "{}").mean(row.cell()), static_cast<double>(row.parameters()));
  }
}

TEST_F(Agreement, OfDifferencesAndWhatIsNotMarked) {
  const v1::Table board = table("small");
  const v1::PaperTable pivot = paper("top1");
  int paired = 0;
  for (const v1::TableRow& row : board.rows()) {
    SCOPED_TRACE(row.label());
    const v1::PaperCell& cell = same_row(pivot, row);
    EXPECT_EQ(cell.pairs(), row.pairs());
    EXPECT_FALSE(cell.significant());
    if (row.pairs() == 0) continue;
    ++paired;
    EXPECT_EQ(cell.test(), std::isnan(cell.p()) ? "" : "sign-flip");
    EXPECT_TRUE(same(cell.difference(), row.difference()));
    EXPECT_TRUE(same(cell.p(), row.p_sign_flip()));
    EXPECT_TRUE(same(cell.p_adjusted(), row.p_holm()));
  }
  EXPECT_EQ(paired, 3) << "violin at 0.003 shares no seed with the baseline";
  EXPECT_EQ(board.correction(), pivot.correction());
  EXPECT_EQ(pivot.baseline(), "learned-absolute, same train.lr");
  EXPECT_EQ(board.baseline(), pivot.baseline());
}

class Comparing : public ServerTest {};

TEST_F(Comparing, WritesSettingsUnderThePathsThatSpecificationsUse) {
  start();
  submit(small_specification());
  submit(small_specification({{"name", "fast"},
                              {"train", {{"lr", 0.01}}},
                              {"matrix", Json::parse(R"({"prior": [{"violin": {"sigma": 0.1}}]})")},
                              {"baseline", nullptr}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(score);
  v1::CompareRequest request;
  request.add_items("small/8");
  request.add_items("fast/2");
  v1::Comparison out;
  ASSERT_TRUE(experiments_->Compare(deadline().get(), request, &out).ok());
  std::map<std::string, std::string> differing;
  for (const auto& setting : out.differing()) differing[setting.path()] = setting.values(1);
  EXPECT_THAT(differing, testing::ElementsAre(testing::Pair("prior", "violin (sigma=0.1)"),
                                              testing::Pair("train.lr", "0.01")));
  ASSERT_EQ(out.differing(0).parts_size(), 1);
  EXPECT_EQ(out.differing(0).parts(0).path(), "prior.violin.sigma");
  EXPECT_EQ(out.differing(0).parts(0).values_json(1), "0.1");
  EXPECT_EQ(out.items(1).title(), "violin (sigma=0.1), lr=0.01");
  std::set<std::string> common;
  for (const auto& setting : out.common()) common.insert(setting.path());
  EXPECT_THAT(common, testing::IsSupersetOf({"dataset", "model.dim", "train.epochs", "evaluate.resolution", "seed"}));
  request.set_metric("top9");
  EXPECT_EQ(wire_error(experiments_->Compare(deadline().get(), request, &out)).field, "metric");
}

}  // namespace
}  // namespace locus::test
