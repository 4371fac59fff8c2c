// Every HTTP address equals its call, answer for answer.
#include <google/protobuf/util/json_util.h>

#include "server/http/routes.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double http_routes_score(const std::string&, std::int64_t seed, int) {
  return seed == 2 ? std::numeric_limits<double>::quiet_NaN() : 80.0;
}

class HttpRoutes : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    const auto work = worker.acquire();
    ASSERT_TRUE(work.has_value());
    stage_ = std::to_string(work->grant.stage());
    worker.run(*work, http_routes_score);
    worker.run_all(http_routes_score);
  }

  // The JSON of an answer without what moves between two calls.
  static Json still(Json json) {
    json.erase("elapsed_seconds");
    json.erase("uptime_seconds");
    if (json.contains("experiments")) {
      for (Json& item : json["experiments"]) item.erase("elapsed_seconds");
    }
    if (json.contains("workers")) {
      for (Json& item : json["workers"]) item.erase("seen_time");
    }
    return json;
  }

  template <class Response, class Call>
  void expect_equal(const std::string& target, Call call) {
    Response response;
    const auto context = deadline();
    const grpc::Status status = call(context.get(), &response);
    ASSERT_TRUE(status.ok()) << target << ": " << status.error_message();
    const HttpAnswer answer = http().get(target);
    ASSERT_EQ(answer.status, 200) << target << ": " << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(still(answer.json()), still(Json::parse(server::to_json(response)))) << target;
  }

  std::string stage_;
};

TEST_F(HttpRoutes, AnswerAsTheirCalls) {
  const std::string base = "/api/v1/experiments/small";
  expect_equal<v1::Server>("/api/v1/server", [&](auto* c, auto* r) { return catalog_->GetServer(c, {}, r); });
  expect_equal<v1::Catalog>("/api/v1/catalog", [&](auto* c, auto* r) { return catalog_->GetCatalog(c, {}, r); });
  expect_equal<v1::Picture>("/api/v1/catalog/pictures/violin", [&](auto* c, auto* r) {
    v1::GetPictureRequest q;
    q.set_prior("violin");
    return catalog_->GetPicture(c, q, r);
  });
  expect_equal<v1::ListWorkersResponse>("/api/v1/workers",
                                        [&](auto* c, auto* r) { return workers_->ListWorkers(c, {}, r); });
  expect_equal<v1::ListExperimentsResponse>("/api/v1/experiments?page_size=1", [&](auto* c, auto* r) {
    v1::ListExperimentsRequest q;
    q.set_page_size(1);
    return experiments_->ListExperiments(c, q, r);
  });
  expect_equal<v1::Experiment>(base, [&](auto* c, auto* r) {
    v1::GetExperimentRequest q;
    q.set_name("small");
    return experiments_->GetExperiment(c, q, r);
  });
  expect_equal<v1::Table>(base + "/table?labels=%7B%22resolution%22:42%7D", [&](auto* c, auto* r) {
    v1::GetTableRequest q;
    q.set_experiment("small");
    q.set_labels(R"({"resolution":42})");
    return experiments_->GetTable(c, q, r);
  });
  expect_equal<v1::Curves>(base + "/curves?metric=loss&split=train&max_points=2", [&](auto* c, auto* r) {
    v1::GetCurvesRequest q;
    q.set_experiment("small");
    q.set_metric("loss");
    q.set_split("train");
    q.set_max_points(2);
    return experiments_->GetCurves(c, q, r);
  });
  expect_equal<v1::ListTrialsResponse>(base + "/trials?page_size=4", [&](auto* c, auto* r) {
    v1::ListTrialsRequest q;
    q.set_experiment("small");
    q.set_page_size(4);
    return experiments_->ListTrials(c, q, r);
  });
  expect_equal<v1::TrialDetail>(base + "/trials/5", [&](auto* c, auto* r) {
    v1::GetTrialRequest q;
    q.set_name("small/5");
    return experiments_->GetTrial(c, q, r);
  });
  expect_equal<v1::ListSeriesResponse>("/api/v1/stages/" + stage_ + "/series", [&](auto* c, auto* r) {
    v1::ListSeriesRequest q;
    q.set_stage(std::stoll(stage_));
    return metrics_->ListSeries(c, q, r);
  });
  expect_equal<v1::QuerySeriesResponse>("/api/v1/stages/" + stage_ + "/points?metric=loss&split=train",
                                        [&](auto* c, auto* r) {
                                          v1::QuerySeriesRequest q;
                                          q.set_stage(std::stoll(stage_));
                                          q.mutable_key()->set_metric("loss");
                                          q.mutable_key()->set_split("train");
                                          return metrics_->QuerySeries(c, q, r);
                                        });
}

TEST_F(HttpRoutes, PlanAndCreateAsTheirCalls) {
  const Json other = small_specification({{"name", "other"}, {"train", {{"epochs", 3}}}});  // nothing of it ran
  const HttpAnswer planned = http().post("/api/v1/experiments:plan", Json{{"spec_json", other.dump()}}.dump());
  ASSERT_EQ(planned.status, 200) << planned.body;
  v1::PlanExperimentRequest request;
  request.set_spec_json(other.dump());
  v1::Plan plan;
  ASSERT_TRUE(experiments_->PlanExperiment(deadline().get(), request, &plan).ok());
  EXPECT_EQ(planned.json(), Json::parse(server::to_json(plan)));
  const HttpAnswer created = http().post("/api/v1/experiments", Json{{"spec_json", other.dump()}}.dump());
  ASSERT_EQ(created.status, 200) << created.body;
  EXPECT_EQ(created.json()["created"], true);
  EXPECT_EQ(http().post("/api/v1/experiments/other:cancel", "").json()["state"], "cancelled");
}

TEST_F(HttpRoutes, CancelPauseAndResumeAsTheirCalls) {
  const Json other = small_specification({{"name", "other"}, {"train", {{"epochs", 3}}}});
  ASSERT_EQ(http().post("/api/v1/experiments", Json{{"spec_json", other.dump()}}.dump()).status, 200);
  EXPECT_EQ(http().post("/api/v1/experiments/other:pause", "{}").status, 200);
  EXPECT_EQ(http().post("/api/v1/experiments/other:resume", "").status, 200);
  EXPECT_EQ(http().post("/api/v1/experiments/small:pause", "").json()["error"]["details"][0]["reason"], "WRONG_STATE");
  EXPECT_EQ(http().post("/api/v1/experiments/nobody:pause", "").json()["error"]["details"][0]["reason"],
            "EXPERIMENT_NOT_FOUND");
}

TEST_F(HttpRoutes, PrintNaNAndLongIntegersAsStrings) {
  const Json table = http().get("/api/v1/experiments/small/table").json();
  bool seen = false;
  for (const Json& row : table["rows"]) seen = seen || row["difference"] == "NaN";
  EXPECT_TRUE(seen);
  EXPECT_TRUE(table["rows"][0]["parameters"].is_string());
}

TEST_F(HttpRoutes, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(http().get("/api/v1/nothing").status, 404);
  EXPECT_EQ(http().get("/api/v1/nothing").json()["error"]["details"][0]["reason"], "ROUTE_NOT_FOUND");
  EXPECT_EQ(http().get("/api/v1/experiments/nobody").status, 404);
  const HttpAnswer unknown = http().get("/api/v1/experiments?page_sise=3");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.body.find("page_sise"), std::string::npos);
  EXPECT_EQ(http().get("/api/v1/experiments?page_size=many").status, 400);
  EXPECT_EQ(http().get("/api/v1/experiments/small/trials/-1").status, 400);
  EXPECT_EQ(http().get("/api/v1/experiments/small/trials/99").json()["error"]["details"][0]["reason"],
            "TRIAL_NOT_FOUND");
  const HttpAnswer method = http().send("DELETE", "/api/v1/experiments/small", "", {});
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.at("allow"), "GET");
  EXPECT_EQ(http().post("/api/v1/experiments", "{\"spec\": 1}").status, 400);
  EXPECT_EQ(http().post("/api/v1/experiments", "nonsense").status, 400);
}

TEST_F(HttpRoutes, RefuseABodyThatTheyWouldNotRead) {
  const HttpAnswer lost = http().post("/api/v1/experiments/small:delete", R"({"dry_run": true})");
  EXPECT_EQ(lost.status, 400);
  EXPECT_NE(lost.body.find("takes no body"), std::string::npos) << lost.body;
  EXPECT_EQ(http().get("/api/v1/experiments/small").status, 200) << "and nothing was deleted";
  EXPECT_EQ(http().post("/api/v1/experiments/small:delete?dry_run=true", " {} ").json()["deleted"], false);
}

TEST_F(HttpRoutes, RefuseNullInABody) {
  const std::string address = "/api/v1/experiments/small:annotate";
  const HttpAnswer refused = http().post(address, R"({"add_tags": ["kept"], "remove_tags": null})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["details"][1]["field_violations"][0]["field"], "remove_tags") << refused.body;
  EXPECT_EQ(http().post(address, R"({"add_tags": [null]})").status, 400);
  EXPECT_EQ(http().post(address, R"({"note": "null"})").json()["note"], "null");
}

TEST_F(HttpRoutes, SayWhetherTheServerLivesAndIsReady) {
  EXPECT_EQ(http().get("/healthz").body, "ok\n");
  EXPECT_EQ(http().get("/readyz").status, 200);
}

}  // namespace
}  // namespace locus::test
