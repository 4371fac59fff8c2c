// The pivot table through the wire: pivots, comparisons, flags and refusals, number for number as computed by
// hand.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// At 28 pixels: none 70, 71, 72; learned-absolute 80, 82, 84; violin 83, 84, 88. At 42 all lose ten,
// validation is one above test.
double pivot_table_score(const std::string& prior, std::int64_t seed, int resolution) {
  static const std::map<std::string, std::vector<double>> kAt28 = {
      {"none", {70, 71, 72}}, {"learned-absolute", {80, 82, 84}}, {"violin", {83, 84, 88}}};
  const double base = kAt28.at(prior)[static_cast<std::size_t>(seed % 3)];
  return resolution == 0 ? base + 1 : resolution == 42 ? base - 10 : base;
}

class PivotTable : public ServerTest {
 protected:
  void SetUp() override {
    start();
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
  }
  void run(const Json& overrides = Json::object()) {
    submit(small_specification(overrides));
    worker_->run_all(pivot_table_score);
  }
  static v1::GetPaperTableRequest ask(const std::vector<std::string>& rows = {},
                                      const std::vector<std::string>& columns = {}) {
    v1::GetPaperTableRequest out;
    out.add_experiments("small");
    for (const auto& axis : rows) out.add_rows(axis);
    for (const auto& axis : columns) out.add_columns(axis);
    return out;
  }
  v1::PaperTable get(const v1::GetPaperTableRequest& request) {
    v1::PaperTable out;
    const grpc::Status status = analysis_->GetPaperTable(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::string refusal(const v1::GetPaperTableRequest& request, const std::string& field) {
    v1::PaperTable out;
    const grpc::Status status = analysis_->GetPaperTable(deadline().get(), request, &out);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(wire_error(status).field, field) << status.error_message();
    return status.error_message();
  }
  static std::vector<std::string> labels(const google::protobuf::RepeatedPtrField<v1::TableHeading>& headings) {
    std::vector<std::string> out;
    for (const auto& heading : headings) {
      std::string text;
      for (const auto& label : heading.labels()) text += (text.empty() ? "" : "|") + label;
      out.push_back(text);
    }
    return out;
  }
  static const v1::PaperCell& cell(const v1::PaperTable& table, int row, int column) {
    return table.cells(row * table.columns_size() + column);
  }

  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(PivotTable, ShowsPriorsByResolutionAsComputedByHand) {
  run();
  const v1::PaperTable out = get(ask({"prior"}, {"resolution"}));
  EXPECT_THAT(labels(out.rows()), ElementsAre("none", "learned-absolute", "violin"));
  EXPECT_THAT(labels(out.columns()), ElementsAre("28", "42"));
  EXPECT_EQ(out.columns(0).metric(), "top1");
  EXPECT_EQ(out.columns(0).direction(), "max");
  EXPECT_EQ(out.baseline(), "learned-absolute");
  EXPECT_TRUE(out.rows(1).baseline());
  EXPECT_EQ(out.test(), "sign-flip");
  EXPECT_EQ(out.correction(), "holm over 4 comparisons");
  EXPECT_EQ(out.matched(), "only the prior differs");

  const v1::PaperCell& violin = cell(out, 2, 0);
  EXPECT_EQ(violin.n(), 3);
  EXPECT_DOUBLE_EQ(violin.mean(), 85);
  EXPECT_NEAR(violin.std(), std::sqrt(7.0), 1e-12);
  EXPECT_NEAR(violin.high() - violin.mean(), 4.302652729911275 * std::sqrt(7.0 / 3), 1e-9);
  EXPECT_EQ(violin.pairs(), 3);
  EXPECT_DOUBLE_EQ(violin.difference(), 3);  // 3, 2, 4
  EXPECT_NEAR(violin.difference_std(), 1, 1e-12);
  EXPECT_DOUBLE_EQ(violin.p(), 0.25);
  EXPECT_DOUBLE_EQ(violin.p_floor(), 0.25);
  EXPECT_DOUBLE_EQ(violin.p_adjusted(), 1);
  EXPECT_FALSE(violin.significant());
  EXPECT_TRUE(violin.best());
  EXPECT_TRUE(cell(out, 1, 0).second());
  EXPECT_EQ(violin.trials_size(), 3);
  EXPECT_THAT(violin.values(0).trial(), HasSubstr("small/"));
  EXPECT_DOUBLE_EQ(cell(out, 2, 1).mean(), 75);
  EXPECT_TRUE(std::isnan(cell(out, 1, 0).difference()));

  ASSERT_EQ(out.summaries_size(), 3);
  EXPECT_EQ(out.summaries(2).row(), 2);
  EXPECT_EQ(out.summaries(2).columns(), 2);
  EXPECT_DOUBLE_EQ(out.summaries(2).mean(), 80);
  EXPECT_DOUBLE_EQ(out.summaries(2).mean_rank(), 1);
  EXPECT_DOUBLE_EQ(out.summaries(2).iqm(),
                   (74 + 78 + 83 + 84) / 4.0);  // of 73 74 78 83 84 88, one cut from each end
  EXPECT_EQ(out.summaries(2).columns_total(), 2);
  EXPECT_TRUE(std::isnan(out.summaries(2).iqm_low())) << "three seeds are too few for it";
  EXPECT_EQ(violin.test(), "sign-flip");
  EXPECT_THAT(out.warnings(0), HasSubstr("cannot go below p = 0.25"));
}

TEST_F(PivotTable, IsTheLeaderboardUnlessAskedOtherwise) {
  run();
  const v1::PaperTable out = get(ask());
  const v1::Table board = table("small");
  EXPECT_THAT(labels(out.rows()), ElementsAre("none", "learned-absolute", "violin"));
  ASSERT_EQ(out.columns_size(), 1);
  for (const v1::TableRow& row : board.rows()) {
    const auto names = labels(out.rows());
    const auto at = std::find(names.begin(), names.end(), row.label()) - names.begin();
    const v1::PaperCell& same = cell(out, static_cast<int>(at), 0);
    EXPECT_EQ(same.mean(), row.mean());
    EXPECT_EQ(same.std(), row.std());
    if (row.baseline()) continue;
    EXPECT_EQ(same.difference(), row.difference());
    EXPECT_EQ(same.difference_low(), row.difference_low());
    EXPECT_EQ(same.p(), row.p_sign_flip());
    EXPECT_EQ(same.p_adjusted(), row.p_holm());
  }
  bool said = false;
  for (const auto& warning : out.warnings()) said |= warning.find("results at resolution 28") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST_F(PivotTable, TurnsAroundAndFilters) {
  run();
  auto request = ask({"resolution"}, {"prior"});
  auto* where = request.add_where();
  where->set_axis("prior");
  where->add_values("violin");
  where->add_values("learned-absolute");
  const v1::PaperTable out = get(request);
  EXPECT_THAT(labels(out.rows()), ElementsAre("28", "42"));
  EXPECT_THAT(labels(out.columns()), ElementsAre("learned-absolute", "violin"));
  EXPECT_TRUE(out.columns(0).baseline());
  EXPECT_DOUBLE_EQ(cell(out, 1, 1).difference(), 3);
  where->clear_values();
  where->add_values("nobody");
  EXPECT_THAT(refusal(request, "where"), HasSubstr("choose among: none, learned-absolute, violin"));
}

TEST_F(PivotTable, AnswersWithItsFirstRowsAsTheyStandInTheWhole) {
  run();
  auto request = ask({"prior"}, {"resolution"});
  const v1::PaperTable whole = get(request);
  ASSERT_EQ(whole.rows_size(), 3);
  EXPECT_EQ(whole.rows_total(), 3);
  request.set_first_rows(2);
  const v1::PaperTable out = get(request);
  EXPECT_EQ(out.rows_total(), 3);
  EXPECT_EQ(labels(out.rows()), (std::vector<std::string>{labels(whole.rows())[0], labels(whole.rows())[1]}));
  ASSERT_EQ(out.cells_size(), 2 * whole.columns_size());
  for (int i = 0; i < out.cells_size(); ++i)
    EXPECT_EQ(out.cells(i).SerializeAsString(), whole.cells(i).SerializeAsString());
  EXPECT_EQ(out.summaries_size(), 2);
  request.set_format("csv");
  EXPECT_THAT(refusal(request, "first_rows"), HasSubstr("not a rendered table"));
  request = ask();
  request.set_first_rows(-1);
  refusal(request, "first_rows");
}

TEST_F(PivotTable, PutsSeveralMetricsInTheInnermostColumns) {
  run();
  auto request = ask({"prior"}, {"resolution"});
  request.add_metrics()->set_metric("top1");
  auto* validation = request.add_metrics();
  validation->set_metric("top1");
  validation->set_split("validation");
  request.add_metrics()->set_metric("parameters");
  const v1::PaperTable out = get(request);
  EXPECT_THAT(labels(out.columns()), ElementsAre("-|top1 (validation)", "-|parameters", "28|top1", "42|top1"));
  EXPECT_DOUBLE_EQ(cell(out, 2, 0).mean(), 86);
  EXPECT_DOUBLE_EQ(cell(out, 2, 1).mean(), 1200);
  EXPECT_FALSE(cell(out, 2, 1).best()) << "nobody declared which way parameters are better";
  EXPECT_EQ(out.correction(),
            "holm over 4 comparisons of top1, 2 comparisons of top1 (validation), 2 comparisons of parameters");
}

TEST_F(PivotTable, CountsASeedOnceWhenFactorsAreLeftOut) {
  run({{"matrix", {{"prior", {"none", "learned-absolute"}}, {"train.lr", {0.001, 0.003}}}}});
  const v1::PaperTable out = get(ask({"prior"}));
  EXPECT_EQ(cell(out, 1, 0).n(), 3) << "two learning rates are no further seeds";
  EXPECT_EQ(cell(out, 1, 0).trials_size(), 6);
  EXPECT_EQ(cell(out, 1, 0).values(0).trial(), "");
  EXPECT_EQ(cell(out, 0, 0).pairs(), 3);
  bool said = false;
  for (const auto& warning : out.warnings()) said |= warning.find("the mean over train.lr") != std::string::npos;
  EXPECT_TRUE(said);
  const v1::PaperTable apart = get(ask({"prior"}, {"train.lr"}));
  EXPECT_THAT(labels(apart.columns()), ElementsAre("0.001", "0.003"));
  EXPECT_DOUBLE_EQ(cell(apart, 0, 1).difference(), -11);
}

TEST_F(PivotTable, FlagsSeedsThatAreMissingOrFailed) {
  submit(small_specification());
  while (const auto work = worker_->acquire()) {
    if (work->prior == "violin" && work->seed == 2) {
      EXPECT_TRUE(worker_->fail(*work, "diverged", "the loss became NaN").ok());
      continue;
    }
    worker_->run(*work, pivot_table_score);
  }
  const v1::PaperTable out = get(ask({"prior"}));
  const v1::PaperCell& violin = cell(out, 2, 0);
  EXPECT_EQ(violin.n(), 2);
  EXPECT_THAT(violin.missing_seeds(), ElementsAre(2));
  EXPECT_THAT(violin.failed_seeds(), ElementsAre(2));
  EXPECT_THAT(violin.flags(), ElementsAre("missing-seeds", "failed-seeds"));
  EXPECT_EQ(violin.pairs(), 2);
  EXPECT_DOUBLE_EQ(violin.mean(), 83.5);
  EXPECT_THAT(out.warnings(0), HasSubstr("'violin' has no result for seed 2, failed: 2"));
}

TEST_F(PivotTable, ShowsWhatIsPlannedBeforeAnythingHasRun) {
  submit(small_specification());
  const v1::PaperTable out = get(ask({"prior"}, {}));
  ASSERT_EQ(out.cells_size(), 3);
  EXPECT_EQ(cell(out, 0, 0).n(), 0);
  EXPECT_THAT(cell(out, 0, 0).missing_seeds(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(std::isnan(cell(out, 0, 0).mean()));
}

TEST_F(PivotTable, NamesMixedDevicesAndMarksNothingThereUnderTheMatchedProtocol) {
  submit(small_specification(
      {{"matched", {{"except", {"prior"}}}}, {"replicates", {{"seed", {0, 1, 2, 3, 4, 5, 6, 7}}}}}));
  const std::string usual = worker_->environment;
  while (const auto work = worker_->acquire()) {
    const bool odd = work->prior == "violin" && work->grant.kind() == "train" && work->seed == 1;
    worker_->environment = odd ? R"({"device":"cuda:0","dtype":"float32","threads":1,"path":"explicit"})" : usual;
    worker_->run(*work, pivot_table_score);
  }
  const v1::PaperTable out = get(ask({"prior"}));
  EXPECT_LE(cell(out, 2, 0).p_adjusted(), 0.05);
  EXPECT_FALSE(cell(out, 2, 0).significant());
  EXPECT_THAT(cell(out, 2, 0).flags(), Contains("mixed-devices"));
  EXPECT_TRUE(cell(out, 0, 0).significant());
  EXPECT_EQ(cell(out, 0, 0).flags_size(), 0);
  bool said = false;
  for (const auto& warning : out.warnings())
    said |= warning.find("mixed device in train stages (cpu, cuda) of 1 cell") != std::string::npos &&
            warning.find("so none is marked there") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST_F(PivotTable, MarksNothingThatAnotherEngineTrained) {
  submit(small_specification({{"replicates", {{"seed", {0, 1, 2, 3, 4, 5, 6, 7}}}}}));
  while (const auto work = worker_->acquire()) {
    worker_->environment = work->prior == "violin" ? R"({"engine":"own"})" : "{}";
    worker_->run(*work, pivot_table_score);
  }
  const v1::PaperTable out = get(ask({"prior"}));
  EXPECT_TRUE(cell(out, 2, 0).p_adjusted() <= 0.05 && !cell(out, 2, 0).significant());
  EXPECT_THAT(cell(out, 2, 0).flags(), Contains("mixed-engine"));
}

TEST_F(PivotTable, AlignsSeveralExperimentsByTheirSettings) {
  run();
  submit(small_specification({{"name", "more"}, {"replicates", {{"seed", {3, 4, 5}}}}}));  // the same, other seeds
  worker_->run_all(pivot_table_score);
  auto request = ask();
  request.add_experiments("more");
  const v1::PaperTable together = get(request);
  EXPECT_EQ(together.rows_size(), 3);
  EXPECT_EQ(cell(together, 2, 0).n(), 6);
  EXPECT_EQ(together.matched(), "only the prior differs");
  request.add_columns("experiment");
  EXPECT_THAT(labels(get(request).columns()), ElementsAre("small", "more"));

  submit(small_specification(
      {{"name", "longer"}, {"train", {{"epochs", 4}}}, {"matrix", {{"prior", {"violin"}}}}, {"baseline", nullptr}}));
  worker_->run_all(pivot_table_score);
  v1::GetPaperTableRequest apart = ask();
  apart.add_experiments("longer");
  const v1::PaperTable averaged = get(apart);
  EXPECT_EQ(averaged.matched(), "besides the prior: train.epochs differs");
  apart.add_columns("train.epochs");
  const v1::PaperTable out = get(apart);
  EXPECT_THAT(labels(out.columns()), ElementsAre("2", "4"));
  EXPECT_EQ(cell(out, 2, 1).n(), 3);
  EXPECT_TRUE(std::isnan(cell(out, 2, 1).difference())) << "no baseline was trained that long";
}

TEST_F(PivotTable, ComparesByTheTestAskedForAndCountsSeeds) {
  run();
  auto request = ask({"prior"});
  request.set_test("paired-t");
  request.set_correction("none");
  request.set_detect(0.5);
  const v1::PaperTable out = get(request);
  EXPECT_NEAR(cell(out, 2, 0).p(), 1 - std::sqrt(27.0 / 29.0), 1e-9);
  EXPECT_EQ(cell(out, 2, 0).p_adjusted(), cell(out, 2, 0).p());
  EXPECT_TRUE(cell(out, 2, 0).significant());
  EXPECT_EQ(cell(out, 2, 0).seeds_needed(), 34);  // statsmodels: 33.37 for d = 0.5, 5 %, 80 %
  request.set_test("welch");
  EXPECT_THAT(cell(get(request), 2, 0).flags(), ElementsAre("unpaired"));
}

TEST_F(PivotTable, ReducesStoredCurvesWhereTheContractSays) {
  run();
  auto request = ask({"prior"});
  for (const char* reduce : {"mean", "at-step-20", "at-step-300"}) {
    auto* metric = request.add_metrics();
    metric->set_metric("loss");
    metric->set_split("train");
    metric->set_reduce(reduce);
  }
  const v1::PaperTable out = get(request);
  EXPECT_THAT(labels(out.columns()),
              ElementsAre("loss (train) mean", "loss (train) at-step-20", "loss (train) at-step-300"));
  EXPECT_DOUBLE_EQ(cell(out, 0, 0).mean(), 7.0 / 3);  // of 3, 2, 1 + seed
  EXPECT_DOUBLE_EQ(cell(out, 0, 1).mean(), 2);
  EXPECT_EQ(cell(out, 0, 2).n(), 0) << "training ended before";
  EXPECT_EQ(out.columns(0).direction(), "min");
}

TEST_F(PivotTable, ShowsTheBestModelsTestAndTheLastOnesBesideIt) {
  worker_->best_gain = 4;
  run({{"metric", {{"reduce", "best"}}}, {"stages", Json::parse(R"([{"evaluate": {"resolution": [28]}},
                                  {"evaluate": {"resolution": [28], "checkpoint": "last"}}])")}});
  auto request = ask({"prior"});
  request.add_metrics();
  auto* last = request.add_metrics();
  last->set_metric("top1"), last->set_reduce("last");
  request.add_metrics()->set_metric("parameters");
  const v1::PaperTable out = get(request);
  EXPECT_THAT(labels(out.columns()), ElementsAre("top1", "top1 last", testing::StartsWith("parameters")));
  EXPECT_EQ(out.columns(0).reduce(), "best");
  EXPECT_DOUBLE_EQ(cell(out, 2, 0).mean(), 89);
  EXPECT_EQ(cell(out, 2, 0).mean(), table("small").rows(0).mean());
  EXPECT_DOUBLE_EQ(cell(out, 2, 1).mean(), 85);
  EXPECT_DOUBLE_EQ(cell(out, 2, 2).mean(), 1200) << "a cost has no best model";
}

TEST_F(PivotTable, RendersWhatItAnswers) {
  run();
  auto request = ask({"prior"}, {"resolution"});
  request.set_format("text");
  EXPECT_THAT(get(request).rendered(), HasSubstr("85.00 \xC2\xB1 2.65"));
  request.set_format("latex");
  EXPECT_THAT(get(request).rendered(), HasSubstr("\\toprule"));
  request.set_format("pdf");
  EXPECT_THAT(refusal(request, "format"), HasSubstr("text, latex, markdown"));
}

TEST_F(PivotTable, RefusesWhatItCannotShow) {
  run();
  EXPECT_THAT(refusal(ask({"nothing"}), "rows"), HasSubstr("no axis 'nothing'; choose among: prior, dataset"));
  EXPECT_THAT(refusal(ask({"prior"}, {"prior"}), "rows"), HasSubstr("twice"));
  EXPECT_THAT(refusal(ask({"metric"}), "rows"), HasSubstr("stand in the columns"));
  auto request = ask();
  request.add_metrics()->set_metric("top9");
  EXPECT_THAT(refusal(request, "metrics"), HasSubstr("no metric 'top9'; did you mean 'top1'?"));
  request.mutable_metrics(0)->set_metric("top1");
  request.mutable_metrics(0)->set_reduce("top-3");
  EXPECT_THAT(refusal(request, "metrics.reduce"), HasSubstr("the test split is scored once"));
  request.mutable_metrics(0)->set_reduce("best");
  EXPECT_THAT(refusal(request, "metrics.reduce"), HasSubstr("no stage of these experiments tested"));
  request = ask();
  request.set_test("wilcoxon");
  EXPECT_THAT(refusal(request, "test"), HasSubstr("sign-flip, paired-t or welch"));
  request = ask();
  request.set_level(95);
  refusal(request, "level");
  request = ask();
  request.add_experiments("small");
  EXPECT_THAT(refusal(request, "experiments"), HasSubstr("named twice"));
  refusal(v1::GetPaperTableRequest(), "experiments");
}

TEST_F(PivotTable, AnswersOverHttpWithTheSameNumbers) {
  run();
  const auto answer = http().post("/api/v1/paper-table", R"({"experiments":["small"],"columns":["resolution"]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["cells"].size(), 6u);
  EXPECT_EQ(json["cells"][4]["mean"], 85.0);
  EXPECT_EQ(json["row_axes"][0], "prior");
  EXPECT_EQ(http().post("/api/v1/paper-table", R"({"experiments":["nobody"]})").status, 404);
}

}  // namespace
}  // namespace locus::test
