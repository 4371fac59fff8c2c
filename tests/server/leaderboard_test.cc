// The table through the wire, number for number as computed by hand; curves likewise.
#include <cmath>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// At 28 pixels: none 70, 71, 72; learned-absolute 80, 82, 84; violin 83, 84, 88. At 42 all lose ten;
// validation is one above test.
double leaderboard_score(const std::string& prior, std::int64_t seed, int resolution) {
  static const std::map<std::string, std::vector<double>> kAt28 = {
      {"none", {70, 71, 72}}, {"learned-absolute", {80, 82, 84}}, {"violin", {83, 84, 88}}};
  const double base = kAt28.at(prior)[static_cast<std::size_t>(seed)];
  return resolution == 0 ? base + 1 : resolution == 42 ? base - 10 : base;
}

class Leaderboard : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(Leaderboard, EqualsTheHandComputation) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  ASSERT_EQ(worker.run_all(leaderboard_score), 18);
  const v1::Table out = table("small");
  EXPECT_EQ(out.metric(), "top1");
  EXPECT_EQ(out.split(), "test");
  EXPECT_EQ(out.labels(), R"({"resolution":28})");
  EXPECT_EQ(out.direction(), "max");
  EXPECT_EQ(out.baseline(), "learned-absolute");
  EXPECT_EQ(out.seeds(), 3);
  EXPECT_EQ(out.matched(), "only the prior differs");
  ASSERT_EQ(out.warnings_size(), 1);
  EXPECT_NE(out.warnings(0).find("cannot go below p = 0.25"), std::string::npos) << out.warnings(0);
  ASSERT_EQ(out.rows_size(), 3);

  const v1::TableRow& best = out.rows(0);
  EXPECT_EQ(best.label(), "violin");
  EXPECT_EQ(best.n(), 3);
  EXPECT_DOUBLE_EQ(best.mean(), 85.0);
  EXPECT_NEAR(best.std(), std::sqrt(7.0), 1e-12);
  EXPECT_NEAR(best.ci_high() - best.mean(), 4.302652729911275 * std::sqrt(7.0) / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(best.pairs(), 3);
  EXPECT_DOUBLE_EQ(best.difference(), 3.0);  // 3, 2, 4
  EXPECT_NEAR(best.difference_std(), 1.0, 1e-12);
  EXPECT_DOUBLE_EQ(best.p_sign_flip(), 0.25);
  EXPECT_DOUBLE_EQ(best.p_floor(), 0.25);
  EXPECT_NEAR(best.p_t(), 1 - std::sqrt(27.0 / 29.0), 1e-9);  // t = 3 sqrt 3 on two degrees of freedom
  EXPECT_DOUBLE_EQ(best.p_holm(), 0.5);                       // twice 0.25
  EXPECT_EQ(best.parameters(), 1200);
  EXPECT_EQ(best.parameters_added(), 200);
  EXPECT_DOUBLE_EQ(best.ms_per_step(), 11.0);  // mean of 10, 11, 12
  EXPECT_EQ(best.baseline_label(), "learned-absolute");
  EXPECT_DOUBLE_EQ(best.baseline_mean(), 82.0);
  EXPECT_DOUBLE_EQ(best.selection(), 86.0);
  ASSERT_EQ(best.values_size(), 3);
  EXPECT_EQ(best.values(0).trial().rfind("small/", 0), 0u);

  EXPECT_EQ(out.rows(1).label(), "learned-absolute");
  EXPECT_TRUE(out.rows(1).baseline());
  EXPECT_TRUE(std::isnan(out.rows(1).difference()));
  EXPECT_EQ(out.rows(2).label(), "none");
  EXPECT_DOUBLE_EQ(out.rows(2).difference(), -11.0);
  EXPECT_EQ(out.rows(2).parameters_added(), 0);

  ASSERT_EQ(out.label_sets_size(), 2);
  EXPECT_EQ(out.label_sets(1), R"({"resolution":42})");
  ASSERT_EQ(out.sweep_size(), 3);
  ASSERT_EQ(out.sweep(0).points_size(), 2);
  EXPECT_DOUBLE_EQ(out.sweep(0).points(1).x(), 42.0);
  EXPECT_DOUBLE_EQ(out.sweep(0).points(1).mean(), 75.0);
  EXPECT_EQ(out.sweep(0).points(1).n(), 3);
}

TEST_F(Leaderboard, ItsFirstRowIsTheBestOfTheExperimentInEveryList) {
  submit(small_specification());
  EXPECT_FALSE(experiment("small").has_best()) << "nothing has a result yet";
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  int ran = 0;
  while (const auto work = worker.acquire()) {
    worker.run(*work, leaderboard_score);
    ++ran;
    const v1::TableRow first = table("small").rows(0);  // after every stage: what is kept must not be stale
    v1::ListExperimentsResponse list;
    ASSERT_TRUE(experiments_->ListExperiments(deadline().get(), {}, &list).ok());
    for (const v1::Experiment& one : {experiment("small"), list.experiments(0)}) {
      ASSERT_EQ(one.has_best(), first.n() > 0);
      if (first.n() == 0) continue;
      EXPECT_EQ(one.best().label(), first.label());
      EXPECT_EQ(one.best().cell(), first.cell());
      EXPECT_EQ(one.best().n(), first.n());
      EXPECT_DOUBLE_EQ(one.best().mean(), first.mean());
      EXPECT_EQ(std::isnan(one.best().std()), std::isnan(first.std()));
    }
  }
  EXPECT_EQ(ran, 18);
  const v1::BestRow best = experiment("small").best();
  EXPECT_EQ(best.label(), "violin");
  EXPECT_DOUBLE_EQ(best.mean(), 85.0);
  EXPECT_NEAR(best.std(), std::sqrt(7.0), 1e-12);
  EXPECT_EQ(best.metric(), "top1");
  // A submission that takes its cell away changes the best at once.
  submit(small_specification({{"matrix", {{"prior", {"none", "learned-absolute"}}}}}), /*replace=*/true);
  EXPECT_EQ(experiment("small").best().label(), "learned-absolute");
}

TEST_F(Leaderboard, AnswersForAnotherLabelSetAndSplit) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(leaderboard_score);
  v1::GetTableRequest request;
  request.set_experiment("small");
  request.set_labels(R"({ "resolution": 42.0 })");  // canonical form is the server's business
  v1::Table at42;
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &at42).ok());
  EXPECT_EQ(at42.labels(), R"({"resolution":42})");
  EXPECT_DOUBLE_EQ(at42.rows(0).mean(), 75.0);
  request.clear_labels();
  request.set_split("validation");
  v1::Table validation;
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &validation).ok());
  EXPECT_EQ(validation.labels(), "{}");
  EXPECT_DOUBLE_EQ(validation.rows(0).mean(), 86.0);
  request.clear_split();
  request.set_labels(R"({"resolution":43})");
  v1::Table nothing;
  const grpc::Status slip = experiments_->GetTable(deadline().get(), request, &nothing);
  EXPECT_EQ(wire_error(slip).field, "labels");
  EXPECT_NE(slip.error_message().find("no resolution '43'; did you mean '42'? (known: 28, 42)"), std::string::npos)
      << slip.error_message();
  request.set_labels("[1]");
  v1::Table refused;
  EXPECT_EQ(wire_error(experiments_->GetTable(deadline().get(), request, &refused)).field, "labels");
}

TEST_F(Leaderboard, NamesTheBaselineOfEveryRow) {
  submit(small_specification({{"matrix", {{"prior", {"none", "learned-absolute"}}, {"train.lr", {0.001, 0.003}}}}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  v1::GetTableRequest early;
  early.set_experiment("small");
  early.set_labels(R"({"resolution":42})");
  v1::Table planned;
  EXPECT_TRUE(experiments_->GetTable(deadline().get(), early, &planned).ok()) << "planned, if not measured yet";
  worker.run_all(leaderboard_score);
  const v1::Table out = table("small");
  EXPECT_EQ(out.baseline(), "learned-absolute, same train.lr");
  std::map<std::string, const v1::TableRow*> rows;
  for (const v1::TableRow& row : out.rows()) rows[row.label()] = &row;
  for (const std::string lr : {"lr=0.001", "lr=0.003"}) {
    const v1::TableRow &none = *rows.at("none, " + lr), &baseline = *rows.at("learned-absolute, " + lr);
    EXPECT_EQ(none.baseline_label(), "learned-absolute, " + lr);
    EXPECT_EQ(none.baseline_cell(), baseline.cell());
    EXPECT_EQ(none.baseline_mean(), baseline.mean());
    EXPECT_EQ(baseline.baseline_label(), "");
  }
}

TEST_F(Leaderboard, AnswersWithItsFirstRowsAsTheyStandInTheWhole) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(leaderboard_score);
  v1::Table expected = table("small");
  ASSERT_EQ(expected.rows_size(), 3);
  EXPECT_EQ(expected.rows_total(), 3);
  expected.mutable_rows()->RemoveLast();
  expected.mutable_sweep()->RemoveLast();
  v1::GetTableRequest request;
  request.set_experiment("small");
  request.set_first_rows(2);
  v1::Table out;
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &out).ok());
  EXPECT_EQ(out.SerializeAsString(), expected.SerializeAsString());
  request.set_first_rows(9);
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &out).ok());
  EXPECT_EQ(out.SerializeAsString(), table("small").SerializeAsString());
  request.set_first_rows(-1);
  EXPECT_EQ(wire_error(experiments_->GetTable(deadline().get(), request, &out)).field, "first_rows");
}

TEST_F(Leaderboard, FlagsMissingSeedsAndNeverAveragesThemAway) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  while (const auto work = worker.acquire()) {
    if (work->prior == "violin" && work->seed == 2) {
      EXPECT_TRUE(worker
                      .complete(*work,
                                [](v1::CompleteAttemptRequest& request) {
                                  request.set_outcome("failed");
                                  request.set_failure_class("diverged");
                                  request.set_reason("the loss became NaN");
                                })
                      .ok());
      continue;
    }
    worker.run(*work, leaderboard_score);
  }
  const v1::Table out = table("small");
  const v1::TableRow& row = out.rows(0);
  EXPECT_EQ(row.label(), "violin");
  EXPECT_EQ(row.n(), 2);
  ASSERT_EQ(row.missing_seeds_size(), 1);
  EXPECT_EQ(row.missing_seeds(0), 2);
  EXPECT_DOUBLE_EQ(row.mean(), 83.5);
  EXPECT_EQ(row.pairs(), 2);
  ASSERT_GE(out.warnings_size(), 1);
}

TEST_F(Leaderboard, WarnsOfMixedEnvironments) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const std::string usual = worker.environment;
  while (const auto work = worker.acquire()) {
    const bool odd = work->prior == "violin" && work->grant.kind() == "train";
    worker.environment = odd ? R"({"device":"cuda","dtype":"float32","threads":1,"path":"explicit"})" : usual;
    worker.run(*work, leaderboard_score);
  }
  const v1::Table out = table("small");
  ASSERT_EQ(out.warnings_size(), 2);
  EXPECT_NE(out.warnings(1).find("mixed device in train stages (cpu, cuda)"), std::string::npos) << out.warnings(1);
}

TEST_F(Leaderboard, AveragesCurvesAtTheStepsSeedsShare) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(leaderboard_score);
  v1::GetCurvesRequest request;
  request.set_experiment("small");
  request.set_metric("loss");
  request.set_split("train");
  v1::Curves out;
  ASSERT_TRUE(experiments_->GetCurves(deadline().get(), request, &out).ok());
  ASSERT_EQ(out.cells_size(), 3);
  EXPECT_EQ(out.trials_size(), 9);
  const v1::CellCurve& cell = out.cells(0);
  ASSERT_EQ(cell.step_size(), 3);
  EXPECT_EQ(cell.step(2), 30);
  EXPECT_DOUBLE_EQ(cell.mean(2), 2.0);  // 1, 2, 3
  EXPECT_DOUBLE_EQ(cell.std(2), 1.0);
  EXPECT_EQ(cell.n(2), 3);
  ASSERT_EQ(out.available_size(), 1);
  EXPECT_EQ(out.available(0).metric(), "loss");
}

TEST_F(Leaderboard, ShowsTheBestModelsTestWhereTheContractReportsIt) {
  submit(small_specification({{"metric", {{"reduce", "best"}}}}));
  FakeWorker worker(channel_, "one");
  worker.best_gain = 4;
  ASSERT_TRUE(worker.register_with().ok());
  ASSERT_EQ(worker.run_all(leaderboard_score), 18);
  const v1::Table out = table("small");
  EXPECT_EQ(out.split(), "test");
  EXPECT_EQ(out.reduce(), "best");
  EXPECT_EQ(out.selects_on(), "validation");
  EXPECT_EQ(out.rows(0).label(), "violin");
  EXPECT_DOUBLE_EQ(out.rows(0).mean(), 89.0) << "85 of the last, 4 more of the best";
  EXPECT_DOUBLE_EQ(out.rows(0).selection(), 90.0) << "the validation that chose it: 86 of the last";
  EXPECT_DOUBLE_EQ(out.sweep(0).points(1).mean(), 79.0);
  EXPECT_DOUBLE_EQ(experiment("small").best().mean(), 89.0);
  v1::GetTableRequest request;
  request.set_experiment("small");
  request.set_split("validation");
  v1::Table validation;
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &validation).ok());
  EXPECT_DOUBLE_EQ(validation.rows(0).mean(), 90.0);
  v1::CompareRequest compare;
  compare.add_items("small/cells/1");
  compare.add_items("small/cells/2");
  v1::Comparison sides;
  ASSERT_TRUE(experiments_->Compare(deadline().get(), compare, &sides).ok());
  EXPECT_DOUBLE_EQ(sides.items(1).values(0).value(), 87.0) << "83 + 4";
}

TEST_F(Leaderboard, NeverShowsOneModelsTestForTheOthers) {
  const Json last = {{"evaluate", {{"checkpoint", "last"}, {"resolution", Json::array({28})}}}};
  submit(small_specification({{"metric", {{"reduce", "best"}}}, {"stages", Json::array({last})}}));
  FakeWorker worker(channel_, "one");
  worker.best_gain = 4;
  ASSERT_TRUE(worker.register_with().ok());
  while (const auto work = worker.acquire()) {
    const bool best = work->config["stage"]["options"].value("checkpoint", "") == "best";
    if (best) {
      EXPECT_TRUE(worker.fail(*work, "code", "kept from ending").ok());
    } else {
      worker.run(*work, leaderboard_score);
    }
  }
  const v1::Table out = table("small");
  for (const v1::TableRow& row : out.rows()) EXPECT_EQ(row.n(), 0) << row.label();
}

// The whole validation split is scored at the end alone; the curve stands under the images it used.
class ReducedCurve : public Leaderboard {
 protected:
  // The mean of "violin" when every training reports 70, 80, 60 + seed at steps 10, 20, 30.
  double mean(const Json& reduce) {
    const std::string name = "curve-" + std::to_string(++submitted_);
    submit(small_specification({{"name", name},
                                {"train", {{"validation_images", 1000}, {"batch", 32 + submitted_}}},
                                {"stages", Json::array()},
                                {"metric", {{"reports", "validation"}, {"reduce", reduce}}}}));
    FakeWorker worker(channel_, name);
    EXPECT_TRUE(worker.register_with().ok());
    while (const auto work = worker.acquire()) {
      const double seed = static_cast<double>(work->seed);
      worker.report(*work, "top1", "validation", {70, 80, 60 + seed}, 1, R"({"images":1000})");
      worker.report(*work, "top1", "validation", {50}, 4);
      EXPECT_TRUE(worker
                      .complete(*work,
                                [&](v1::CompleteAttemptRequest& request) {
                                  request.set_last_seq(4);
                                  *request.add_results() = result("top1", "validation", "", 50);
                                })
                      .ok());
    }
    const v1::Table out = table(name);
    EXPECT_EQ(out.rows(0).n(), 3) << reduce;
    const bool selects = reduce == "best" || reduce.contains("top");
    EXPECT_EQ(out.selects_on(), selects ? "validation" : "") << reduce;
    return out.rows(0).mean();
  }
  int submitted_ = 0;
};

TEST_F(ReducedCurve, IsOneNumberByTheContract) {
  EXPECT_DOUBLE_EQ(mean("best"), 80);
  EXPECT_DOUBLE_EQ(mean({{"top", 2}}), 75);
  EXPECT_DOUBLE_EQ(mean({{"at_step", 30}}), 61) << "60, 61, 62";
  EXPECT_DOUBLE_EQ(mean({{"at_step", 29}}), 80);
  EXPECT_DOUBLE_EQ(mean("mean"), (70 + 80 + 61) / 3.0);
  EXPECT_DOUBLE_EQ(mean("last"), 50) << "of the whole split";
}

TEST_F(Leaderboard, KeepsTheBestModelAsAnOutputThatIsListed) {
  submit(small_specification({{"metric", {{"reduce", "best"}}}}));
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(leaderboard_score);
  v1::ListArtifactsRequest request;
  request.set_name("small/0");
  v1::ListArtifactsResponse out;
  ASSERT_TRUE(artifacts_->ListArtifacts(deadline().get(), request, &out).ok());
  int kept = 0;
  for (const v1::Artifact& artifact : out.artifacts()) {
    if (artifact.slot() != "best-checkpoint") continue;
    ++kept;
    EXPECT_EQ(artifact.step(), 50);
    EXPECT_TRUE(artifact.present());
  }
  EXPECT_EQ(kept, 1);
}

TEST_F(Leaderboard, EstimatesTheTimeLeftOnlyFromWhatHasFinished) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  EXPECT_EQ(experiment("small").eta_seconds(), -1);
  auto work = worker.acquire();
  ASSERT_TRUE(work.has_value());
  worker.run(*work, leaderboard_score);
  work = worker.acquire();
  ASSERT_TRUE(work.has_value());
  const v1::Experiment running = experiment("small");
  EXPECT_GE(running.eta_seconds(), 1);
  ASSERT_EQ(running.running_size(), 1);
  EXPECT_EQ(running.running(0).worker(), "one");
  EXPECT_EQ(running.running(0).stage(), work->grant.stage());
  worker.run(*work, leaderboard_score);
  worker.run_all(leaderboard_score);
  const v1::Experiment done = experiment("small");
  EXPECT_EQ(done.state(), "completed");
  EXPECT_EQ(done.eta_seconds(), 0);
  EXPECT_EQ(done.trials_done(), 9);
}

}  // namespace
}  // namespace locus::test
