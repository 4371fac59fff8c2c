// Series of other programs over the wire: kept, shown, let go of, and in no answer that ranks, compares or claims.
#include <gmock/gmock.h>

#include <set>

#include "core/experiment/foreign.h"
#include "server/authority/rpcs.h"
#include "tests/server/support/callers.h"
#include "tests/server/support/fake_worker.h"

namespace locus::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Better than anything measured, under the names of what is measured.
v1::ImportSeriesRequest better_run(const std::string& source = "runs/other") {
  v1::ImportSeriesRequest out;
  out.set_experiment("small");
  out.set_source(source);
  out.set_format("tensorboard");
  for (const char* split : {"validation", "test", "train"}) {
    auto* series = out.add_series();
    series->mutable_key()->set_metric("top1");
    series->mutable_key()->set_split(split);
    for (int step = 0; step < 100; ++step) {
      series->add_step(10 * step);
      series->add_value(step == 57 ? 99.97531 : 99.5);
    }
  }
  return out;
}

v1::ListForeignSeriesRequest of_metric(const std::string& metric, int max_points = 0) {
  v1::ListForeignSeriesRequest out;
  out.set_experiment("small");
  out.set_metric(metric);
  out.set_split("validation");
  out.set_max_points(max_points);
  return out;
}

double modest_score(const std::string& prior, std::int64_t seed, int) {
  return (prior == "violin" ? 83.0 : 80.0) + static_cast<double>(seed);
}

class ForeignSeriesTest : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
  }
  grpc::Status import(const v1::ImportSeriesRequest& request, v1::ForeignImport* out) {
    return metrics_->ImportSeries(deadline().get(), request, out);
  }
  std::string refused(const v1::ImportSeriesRequest& request) {
    v1::ForeignImport ignored;
    return wire_error(import(request, &ignored)).reason;
  }
  v1::ListForeignSeriesResponse list(const v1::ListForeignSeriesRequest& request) {
    v1::ListForeignSeriesResponse out;
    const grpc::Status status = metrics_->ListForeignSeries(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::ListForeignSeriesResponse all() {
    v1::ListForeignSeriesRequest request;
    request.set_experiment("small");
    return list(request);
  }
};

TEST_F(ForeignSeriesTest, AreKeptOnceByTheirDigestWhateverTheirFileIsCalled) {
  v1::ForeignImport first, again, other;
  ASSERT_TRUE(import(better_run(), &first).ok());
  EXPECT_THAT(first.digest(), SizeIs(64));
  EXPECT_FALSE(first.existing());
  ASSERT_TRUE(import(better_run("copied"), &again).ok());
  EXPECT_TRUE(again.existing());
  EXPECT_EQ(again.digest(), first.digest());
  EXPECT_EQ(again.source(), "runs/other");
  v1::ImportSeriesRequest changed = better_run();
  changed.mutable_series(0)->set_value(0, 99.25);
  ASSERT_TRUE(import(changed, &other).ok());
  EXPECT_NE(other.digest(), first.digest());
  EXPECT_THAT(all().imports(), SizeIs(2));
  v1::ImportSeriesRequest reordered = better_run();
  reordered.mutable_series()->SwapElements(0, 2);
  ASSERT_TRUE(import(reordered, &again).ok());
  EXPECT_TRUE(again.existing()) << "the order of series says nothing";
}

TEST_F(ForeignSeriesTest, AreGivenByMetricWithTheirPointsThinnedAsAskedFor) {
  v1::ForeignImport ignored;
  ASSERT_TRUE(import(better_run(), &ignored).ok());
  const v1::ListForeignSeriesResponse whole = list(of_metric("top1")), thin = list(of_metric("top1", 20));
  ASSERT_THAT(whole.imports(), SizeIs(1));
  ASSERT_THAT(whole.imports(0).series(), SizeIs(1)) << "of the other splits none";
  EXPECT_THAT(whole.imports(0).series(0).step(), SizeIs(100));
  EXPECT_FALSE(whole.imports(0).series(0).reduced());
  const auto& thinned = thin.imports(0).series(0);
  EXPECT_LE(thinned.step_size(), 20);
  EXPECT_TRUE(thinned.reduced());
  EXPECT_EQ(thinned.points(), 100);
  EXPECT_THAT(thinned.value(), ::testing::Contains(99.97531)) << "the spike survives";
  EXPECT_THAT(list(of_metric("loss")).imports(), SizeIs(0));
  const v1::ListForeignSeriesResponse names = all();
  ASSERT_THAT(names.imports(0).series(), SizeIs(3));
  EXPECT_THAT(names.imports(0).series(0).step(), SizeIs(0)) << "no metric was named";
}

TEST_F(ForeignSeriesTest, AreLetGoOfByTheirDigest) {
  v1::ForeignImport first, gone;
  ASSERT_TRUE(import(better_run(), &first).ok());
  v1::RemoveImportRequest request;
  request.set_experiment("small");
  request.set_digest(first.digest());
  ASSERT_TRUE(metrics_->RemoveImport(deadline().get(), request, &gone).ok());
  EXPECT_EQ(gone.source(), "runs/other");
  EXPECT_THAT(all().imports(), SizeIs(0));
  EXPECT_EQ(wire_error(metrics_->RemoveImport(deadline().get(), request, &gone)).reason, "SERIES_NOT_FOUND");
}

TEST_F(ForeignSeriesTest, AreRefusedWhereTheyBreakTheirForm) {
  v1::ImportSeriesRequest request = better_run();
  request.set_experiment("absent");
  EXPECT_EQ(refused(request), "EXPERIMENT_NOT_FOUND");
  for (const std::string& source : {std::string(), std::string(201, 'x'), std::string("a\nb")})
    EXPECT_EQ(refused(better_run(source)), "INVALID_ARGUMENT") << source;
  const auto with = [](const std::function<void(v1::ImportSeriesRequest&)>& change) {
    v1::ImportSeriesRequest out = better_run();
    change(out);
    return out;
  };
  EXPECT_EQ(refused(with([](auto& r) { r.set_format("Tensor Board"); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { r.clear_series(); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { r.mutable_series(0)->mutable_step()->RemoveLast(); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { r.mutable_series(0)->add_time_us(1); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { r.mutable_series(0)->set_step(0, -1); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { r.mutable_series(0)->set_step(1, 0); })), "INVALID_ARGUMENT");
  EXPECT_EQ(refused(with([](auto& r) { *r.add_series() = r.series(0); })), "INVALID_ARGUMENT") << "twice";
  EXPECT_EQ(refused(with([](auto& r) { r.mutable_series(0)->mutable_key()->clear_metric(); })), "INVALID_ARGUMENT");
  const auto points = [](auto& r) {
    for (std::int64_t i = 0; i <= kForeignPointsMost; ++i)
      r.mutable_series(0)->add_step(1'000 + i), r.mutable_series(0)->add_value(1);
  };
  EXPECT_EQ(refused(with(points)), "LIMIT_EXCEEDED");
  EXPECT_THAT(all().imports(), SizeIs(0)) << "nothing of them was kept";
}

// Every reading call that shows measurements, as its HTTP address.
const std::map<std::string, std::vector<std::string>> kAnswers = {
    {"AnalysisService/GetPaperTable", {"/api/v1/paper-table"}},
    {"AnalysisService/ListClaims", {"/api/v1/claims?experiment=small"}},
    {"ExperimentService/Compare", {"/api/v1/compare?items=small/cells/0&items=small/cells/1"}},
    {"ExperimentService/Explain", {"/api/v1/experiments/small/trials/0/explanation"}},
    {"ExperimentService/ExportExperiment", {"/api/v1/experiments/small/export"}},
    {"ExperimentService/GetCurves",
     {"/api/v1/experiments/small/curves?metric=top1&split=validation",
      "/api/v1/experiments/small/curves?metric=top1&split=test",
      "/api/v1/experiments/small/curves?metric=loss&split=train"}},
    {"ExperimentService/GetExperiment", {"/api/v1/experiments/small"}},
    {"ExperimentService/GetTable", {"/api/v1/experiments/small/table"}},
    {"ExperimentService/GetTrial", {"/api/v1/experiments/small/trials/0"}},
    {"ExperimentService/ListExperiments", {"/api/v1/experiments"}},
    {"ExperimentService/ListTrials", {"/api/v1/experiments/small/trials?metrics=top1"}},
    {"ExperimentService/ReadLog", {"/api/v1/experiments/small/trials/0/log"}},
    {"MetricService/ListSeries", {"/api/v1/stages/1/series"}},
    {"MetricService/QuerySeries", {"/api/v1/stages/1/points?metric=loss&split=train"}},
    {"SearchService/GetBestSoFar", {"/api/v1/experiments/small/search/best"}},
    {"SearchService/GetImportance", {"/api/v1/experiments/small/search/importance"}},
    {"SearchService/GetSearch", {"/api/v1/experiments/small/search"}},
    {"SearchService/ListDecisions", {"/api/v1/experiments/small/search/decisions"}},
};

// What they answer now, by address. The experiment has no search.
std::map<std::string, std::string> answers(const HttpClient& http) {
  std::map<std::string, std::string> out;
  for (const auto& [rpc, targets] : kAnswers) {
    for (const std::string& target : targets) {
      const bool posted = target == "/api/v1/paper-table";
      const HttpAnswer answer =
          posted ? http.post(target, R"({"experiments": ["small"], "format": "json"})") : http.get(target);
      EXPECT_TRUE(answer.status == 200 || rpc.starts_with("SearchService/")) << target << ": " << answer.body;
      out[target] = answer.body;
    }
  }
  return out;
}

TEST_F(ForeignSeriesTest, ChangeNoAnswerThatShowsRanksComparesOrClaimsWhatWasMeasured) {
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  ASSERT_EQ(worker.run_all(modest_score), 18);
  const auto before = answers(http());
  EXPECT_THAT(before.at("/api/v1/experiments/small/table"), HasSubstr("\"mean\":84"));
  v1::ForeignImport ignored;
  ASSERT_TRUE(import(better_run(), &ignored).ok());
  const auto after = answers(http());
  for (const auto& [target, body] : after) {
    EXPECT_EQ(body, before.at(target)) << target;
    EXPECT_EQ(body.find("99.97531"), std::string::npos) << target;
  }
}

TEST(ForeignAnswers, AreCheckedInEveryCallThatShowsMeasurements) {
  const std::set<std::string> others = {"ExperimentService/PlanExperiment", "ExperimentService/WatchEvents",
                                        "MetricService/ListForeignSeries"};
  std::set<std::string> readers, checked(others);
  for (const server::RpcRule& rule : server::kRpcRules) {
    const std::string rpc(rule.rpc), service = rpc.substr(0, rpc.find('/'));
    const bool shows = service == "AnalysisService" || service == "ExperimentService" || service == "MetricService" ||
                       service == "SearchService";
    if (shows && rule.subject.empty()) readers.insert(rpc);
  }
  for (const auto& [rpc, targets] : kAnswers) checked.insert(rpc);
  EXPECT_EQ(readers, checked) << "a new call is checked, too";
}

class ForeignOwnership : public CallersTest {};

TEST_F(ForeignOwnership, IsThatOfTheExperimentAndEveryDeedIsInTheAudit) {
  start_asking();
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  const std::string target = "/api/v1/experiments/small/foreign";
  const std::string body =
      R"({"source": "x", "format": "csv", "series": [{"key": {"metric": "loss"}, "step": [1], "value": [2]}]})";
  EXPECT_EQ(reason(post_as("eve", target, body)), "NOT_PERMITTED");
  EXPECT_EQ(reason(post_as("viewer", target, body)), "NOT_PERMITTED");
  const HttpAnswer taken = post_as("ada", target, body);
  ASSERT_EQ(taken.status, 200) << taken.body;
  const Json import = Json::parse(taken.body);
  EXPECT_EQ(import["imported_by"], "ada");
  EXPECT_EQ(get_as("viewer", target).status, 200);
  const std::string remove = target + "/" + import["digest"].get<std::string>() + ":remove";
  EXPECT_EQ(reason(post_as("eve", remove)), "NOT_PERMITTED");
  EXPECT_EQ(post_as("ada", remove).status, 200);
  std::set<std::string> deeds;
  for (const AuditRow& row : audit()) {
    if (row.rpc.starts_with("MetricService/") && row.outcome == "ok") deeds.insert(row.principal + " " + row.rpc);
  }
  EXPECT_THAT(deeds, ElementsAre("ada MetricService/ImportSeries", "ada MetricService/RemoveImport"));
}

}  // namespace
}  // namespace locus::test
