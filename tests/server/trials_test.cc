// The list of trials with their results, and the look of cells wherever they are named.
#include <cmath>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double trials_score(const std::string& prior, std::int64_t seed, int resolution) {
  const double base = prior == "violin" ? 80 : prior == "none" ? 60 : 70;
  return base + static_cast<double>(seed) + (resolution == 42 ? -10 : resolution == 0 ? 1 : 0);
}

class Trials : public ServerTest {
 protected:
  void SetUp() override { start(); }

  void run_all() {
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    worker.run_all(trials_score);
  }
  v1::ListTrialsResponse list(const std::vector<std::string>& metrics, int page_size = 0,
                              const std::string& token = "") {
    v1::ListTrialsRequest request;
    request.set_experiment("small");
    request.set_page_size(page_size);
    request.set_page_token(token);
    for (const std::string& metric : metrics) request.add_metrics(metric);
    v1::ListTrialsResponse out;
    const grpc::Status status = experiments_->ListTrials(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::string refused_field(const std::vector<std::string>& metrics) {
    v1::ListTrialsRequest request;
    request.set_experiment("small");
    for (const std::string& metric : metrics) request.add_metrics(metric);
    v1::ListTrialsResponse out;
    return wire_error(experiments_->ListTrials(deadline().get(), request, &out)).field;
  }
};

TEST_F(Trials, CarryWhatTheExperimentReportsUnlessAskedOtherwise) {
  submit(small_specification());
  v1::ListTrialsResponse out = list({});
  ASSERT_EQ(out.columns_size(), 1);
  EXPECT_EQ(out.columns(0).key().metric(), "top1");
  EXPECT_EQ(out.columns(0).key().split(), "test");
  ASSERT_EQ(out.trials_size(), 9);
  for (const v1::Trial& trial : out.trials()) {
    ASSERT_EQ(trial.values_size(), 1);
    EXPECT_TRUE(std::isnan(trial.values(0))) << "nothing has run";
  }
  run_all();
  out = list({});
  EXPECT_EQ(out.columns(0).key().labels(), R"({"resolution":28})");
  EXPECT_EQ(out.columns(0).direction(), "max");
  EXPECT_EQ(out.columns(0).reduce(), "last");
  for (const v1::Trial& trial : out.trials()) {
    EXPECT_DOUBLE_EQ(trial.values(0), trials_score(trial.cell_label(), trial.seed(), 28)) << trial.name();
  }
}

TEST_F(Trials, CarryEveryMetricAskedForOnEveryPage) {
  submit(small_specification());
  run_all();
  const std::vector<std::string> metrics = {"top1/validation", R"(top1/test/{"resolution":42})"};
  std::string token;
  int seen = 0;
  do {
    const v1::ListTrialsResponse page = list(metrics, 4, token);
    ASSERT_EQ(page.columns_size(), 2);
    EXPECT_EQ(page.columns(1).key().labels(), R"({"resolution":42})");
    for (const v1::Trial& trial : page.trials()) {
      ASSERT_EQ(trial.values_size(), 2);
      EXPECT_DOUBLE_EQ(trial.values(0), trials_score(trial.cell_label(), trial.seed(), 0));
      EXPECT_DOUBLE_EQ(trial.values(1), trials_score(trial.cell_label(), trial.seed(), 42));
      ++seen;
    }
    token = page.next_page_token();
  } while (!token.empty());
  EXPECT_EQ(seen, 9);
}

TEST_F(Trials, SayWhichResultsThereAreAndWhatTheirCellsHold) {
  submit(small_specification());
  run_all();
  const v1::ListTrialsResponse out = list({});
  std::set<std::string> known;
  for (const v1::SeriesKey& key : out.available()) known.insert(key.metric() + "/" + key.split() + "/" + key.labels());
  EXPECT_TRUE(known.contains(R"(top1/test/{"resolution":42})"));
  EXPECT_TRUE(known.contains("top1/validation/{}"));
  ASSERT_EQ(out.cells_size(), 3) << "each cell once, however many seeds it has";
  EXPECT_EQ(out.cells(2).label(), "violin");
  EXPECT_NE(out.cells(2).assignment_json().find("violin"), std::string::npos);
}

TEST_F(Trials, RefuseMetricsThatAreNotThereOrTooMany) {
  submit(small_specification());
  EXPECT_EQ(refused_field({"top1", "tpo1"}), "metric");
  EXPECT_EQ(refused_field({"top1/tset"}), "split");
  EXPECT_EQ(refused_field({"top1/test/resolution"}), "labels");
  EXPECT_EQ(refused_field(std::vector<std::string>(17, "top1")), "metrics");
}

class LookOfCells : public Trials {
 protected:
  std::map<std::string, std::pair<int, int>> looks(const std::string& name) {
    std::map<std::string, std::pair<int, int>> out;
    const v1::Table found = table(name);
    for (const v1::TableRow& row : found.rows()) out[row.label()] = {row.look().hue(), row.look().variant()};
    return out;
  }
};

TEST_F(LookOfCells, IsThePriorsInEveryExperiment) {
  submit(small_specification());
  const auto three = looks("small");
  submit(small_specification({{"name", "turned"}, {"matrix", {{"prior", {"violin", "none"}}}}, {"baseline", nullptr}}));
  const auto two = looks("turned");
  EXPECT_EQ(two.at("violin"), three.at("violin"));
  EXPECT_EQ(two.at("none"), three.at("none"));
  EXPECT_NE(two.at("none").first, two.at("violin").first);
}

TEST_F(LookOfCells, OfACombinationIsThatOfThePriorAdded) {
  const Json both = Json::array({"learned-absolute", "violin"});
  submit(small_specification({{"matrix", {{"prior", Json::array({"learned-absolute", "violin", both})}}}}));
  std::map<int, int> cells;  // by hue
  for (const auto& [label, look] : looks("small")) ++cells[look.first];
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[looks("small").at("violin").first], 2);
}

TEST_F(LookOfCells, TellsCellsOfOnePriorApart) {
  submit(small_specification(
      {{"matrix", {{"prior", {"none", "violin"}}, {"train.lr", {0.001, 0.003}}}}, {"baseline", nullptr}}));
  std::set<std::pair<int, int>> seen;
  std::set<int> hues;
  for (const auto& [label, look] : looks("small")) {
    seen.insert(look);
    hues.insert(look.first);
  }
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(hues.size(), 2u);
}

TEST_F(LookOfCells, DiffersByCellWhereThePriorDoesNot) {
  submit(small_specification(
      {{"matrix", {{"prior", Json::array({"violin"})}, {"train.lr", {0.001, 0.003, 0.01}}}}, {"baseline", nullptr}}));
  std::set<int> hues;
  for (const auto& [label, look] : looks("small")) hues.insert(look.first);
  EXPECT_EQ(hues.size(), 3u);
}

TEST_F(LookOfCells, IsTheSameInEveryAnswerThatNamesTheCell) {
  submit(small_specification());
  run_all();
  std::map<int, std::string> expected;
  const v1::Table rows = table("small");
  for (const v1::TableRow& row : rows.rows()) expected[row.cell()] = row.look().SerializeAsString();
  EXPECT_EQ(std::set<std::string>({expected[0], expected[1], expected[2]}).size(), 3u);
  for (const v1::SweepSeries& series : rows.sweep())
    EXPECT_EQ(series.look().SerializeAsString(), expected[series.cell()]);
  v1::GetCurvesRequest curves;
  curves.set_experiment("small");
  curves.set_metric("loss");
  curves.set_split("train");
  v1::Curves drawn;
  ASSERT_TRUE(experiments_->GetCurves(deadline().get(), curves, &drawn).ok());
  ASSERT_EQ(drawn.cells_size(), 3);
  for (const v1::CellCurve& curve : drawn.cells()) EXPECT_EQ(curve.look().SerializeAsString(), expected[curve.cell()]);
  const v1::ListTrialsResponse listed = list({});
  for (const v1::Trial& trial : listed.trials()) EXPECT_EQ(trial.look().SerializeAsString(), expected[trial.cell()]);
  v1::CompareRequest compare;
  compare.add_items("small/cells/2");
  compare.add_items("small/0");
  v1::Comparison sides;
  ASSERT_TRUE(experiments_->Compare(deadline().get(), compare, &sides).ok());
  for (const v1::ComparedItem& item : sides.items()) EXPECT_EQ(item.look().SerializeAsString(), expected[item.cell()]);
  EXPECT_EQ(experiment("small").best().look().SerializeAsString(), expected[experiment("small").best().cell()]);
  v1::GetPaperTableRequest paper;
  paper.add_experiments("small");
  paper.add_rows("prior");
  v1::PaperTable printed;
  ASSERT_TRUE(analysis_->GetPaperTable(deadline().get(), paper, &printed).ok());
  ASSERT_EQ(printed.rows_size(), 3);
  for (int row = 0; row < 3; ++row) EXPECT_EQ(printed.rows(row).look().SerializeAsString(), expected[row]);
}

}  // namespace
}  // namespace locus::test
