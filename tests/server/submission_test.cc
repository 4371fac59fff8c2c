// Plans and submissions through the wire: what is there already, what is new, what is refused.
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

class Submission : public ServerTest {
 protected:
  void SetUp() override { start(); }
  grpc::Status try_submit(const std::string& spec, bool replace = false) {
    v1::CreateExperimentRequest request;
    request.set_spec_json(spec);
    request.set_replace(replace);
    v1::CreateExperimentResponse response;
    return experiments_->CreateExperiment(deadline().get(), request, &response);
  }
  v1::Plan plan(const Json& specification) {
    v1::PlanExperimentRequest request;
    request.set_spec_json(specification.dump());
    v1::Plan out;
    EXPECT_TRUE(experiments_->PlanExperiment(deadline().get(), request, &out).ok());
    return out;
  }
  std::vector<v1::Trial> trials(const std::string& name, int page = 2) {
    std::vector<v1::Trial> out;
    v1::ListTrialsRequest request;
    request.set_experiment(name);
    request.set_page_size(page);
    do {
      v1::ListTrialsResponse response;
      EXPECT_TRUE(experiments_->ListTrials(deadline().get(), request, &response).ok());
      for (const auto& trial : response.trials()) out.push_back(trial);
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return out;
  }
};

double submission_score(const std::string&, std::int64_t seed, int) { return 80.0 + static_cast<double>(seed); }

TEST_F(Submission, PlansWithoutStoringAnything) {
  const v1::Plan planned = plan(small_specification());
  EXPECT_EQ(planned.cells(), 3);
  EXPECT_EQ(planned.trials(), 9);
  EXPECT_EQ(planned.stages_total(), 18);
  EXPECT_EQ(planned.stages_to_run(), 18);
  EXPECT_EQ(planned.trials_added(), 9);
  EXPECT_FALSE(planned.exists());
  ASSERT_EQ(planned.kinds_size(), 2);
  EXPECT_EQ(planned.kinds(0).kind(), "evaluate");
  EXPECT_EQ(planned.kinds(0).total(), 9);
  v1::ListExperimentsResponse list;
  ASSERT_TRUE(experiments_->ListExperiments(deadline().get(), {}, &list).ok());
  EXPECT_EQ(list.experiments_size(), 0);
}

TEST_F(Submission, StoresAnExperimentOnce) {
  const auto first = submit(small_specification());
  EXPECT_TRUE(first.created());
  EXPECT_EQ(first.trials_added(), 9);
  EXPECT_EQ(first.stages_to_run(), 18);
  EXPECT_EQ(first.experiment().state(), "active");
  EXPECT_EQ(first.experiment().cells(), 3);
  EXPECT_EQ(first.experiment().primary_metric(), "top1");
  EXPECT_EQ(first.experiment().dataset(), "fashion-mnist");
  const auto again = submit(small_specification());
  EXPECT_FALSE(again.created());
  EXPECT_EQ(again.trials_added(), 0);
  EXPECT_EQ(again.experiment().revision(), first.experiment().revision());
}

TEST_F(Submission, AnswersARepeatedRequestIdWithTheSameExperiment) {
  v1::CreateExperimentRequest request;
  request.set_spec_json(small_specification().dump());
  request.set_request_id("6b0b7a0e-0000-4000-8000-000000000001");
  v1::CreateExperimentResponse first, second;
  ASSERT_TRUE(experiments_->CreateExperiment(deadline().get(), request, &first).ok());
  request.set_spec_json("whatever came through");
  ASSERT_TRUE(experiments_->CreateExperiment(deadline().get(), request, &second).ok());
  EXPECT_EQ(second.experiment().name(), first.experiment().name());
  EXPECT_EQ(second.experiment().trials(), 9);
}

TEST_F(Submission, ExtendsByASeedAndRunsOnlyWhatIsNew) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  EXPECT_EQ(worker.run_all(submission_score), 18);
  EXPECT_EQ(experiment("small").state(), "completed");
  const auto before = trials("small");

  const Json more = small_specification({{"replicates", {{"seed", {0, 1, 2, 3}}}}});
  const v1::Plan planned = plan(more);
  EXPECT_TRUE(planned.exists());
  EXPECT_EQ(planned.trials_added(), 3);
  EXPECT_EQ(planned.trials_removed(), 0);
  EXPECT_EQ(planned.stages_done(), 18);
  EXPECT_EQ(planned.stages_to_run(), 6);
  const auto extended = submit(more);
  EXPECT_FALSE(extended.created());
  EXPECT_EQ(extended.trials_added(), 3);
  EXPECT_EQ(extended.stages_to_run(), 6);
  const auto after = trials("small");
  ASSERT_EQ(after.size(), 12u);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].name(), before[i].name());
    EXPECT_EQ(after[i].seed(), before[i].seed());
    EXPECT_EQ(after[i].cell_label(), before[i].cell_label());
  }
  for (std::size_t i = before.size(); i < after.size(); ++i) EXPECT_EQ(after[i].seed(), 3);
  EXPECT_EQ(worker.run_all(submission_score), 6);
  v1::Server server;
  ASSERT_TRUE(catalog_->GetServer(deadline().get(), {}, &server).ok());
  EXPECT_EQ(server.attempts_started(), 24);
}

TEST_F(Submission, SharesStagesBetweenExperiments) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  worker.run_all(submission_score);
  const auto other = submit(small_specification({{"name", "other"}}));
  EXPECT_TRUE(other.created());
  EXPECT_EQ(other.stages_done(), 18);
  EXPECT_EQ(other.experiment().state(), "completed");
  EXPECT_EQ(worker.run_all(submission_score), 0);
}

TEST_F(Submission, RefusesToDropTrialsUnlessToldTo) {
  submit(small_specification());
  const Json fewer = small_specification({{"replicates", {{"seed", {0, 1}}}}});
  const grpc::Status refused = try_submit(fewer.dump());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(wire_error(refused).reason, "EXPERIMENT_EXISTS");
  EXPECT_NE(refused.error_message().find("--replace"), std::string::npos);
  EXPECT_EQ(experiment("small").trials(), 9);

  const auto replaced = submit(fewer, /*replace=*/true);
  EXPECT_EQ(replaced.trials_removed(), 3);
  EXPECT_EQ(replaced.experiment().trials(), 6);
  int retired = 0;
  for (const auto& trial : trials("small")) retired += trial.retired() ? 1 : 0;
  EXPECT_EQ(retired, 3);

  submit(small_specification());  // they come back under the ordinals they had
  const auto back = trials("small");
  ASSERT_EQ(back.size(), 9u);
  for (const auto& trial : back) EXPECT_FALSE(trial.retired());
}

TEST_F(Submission, RefusesToChangeWhatTrialsRunUnlessToldTo) {
  submit(small_specification());
  Json other = small_specification();
  other["train"]["epochs"] = other["train"]["epochs"].get<int>() + 1;
  const grpc::Status refused = try_submit(other.dump());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(wire_error(refused).reason, "EXPERIMENT_EXISTS");
  EXPECT_NE(refused.error_message().find("change what 9 of its trials run"), std::string::npos);

  const auto replaced = submit(other, /*replace=*/true);
  EXPECT_EQ(replaced.trials_changed(), 9);
  EXPECT_EQ(replaced.trials_removed(), 0);
}

TEST_F(Submission, TakesAnotherStageOfTheSameTrialsAsAnExtension) {
  submit(small_specification());
  Json more = small_specification();
  more["stages"].push_back({{"evaluate", {{"resolution", {35}}}}});
  const auto extended = submit(more);
  EXPECT_EQ(extended.trials_changed(), 0);
  EXPECT_EQ(extended.stages_to_run(), 27);
}

struct BadSpecification {
  std::string name, spec, reason, field;
  grpc::StatusCode code;
  friend std::ostream& operator<<(std::ostream& out, const BadSpecification& bad) { return out << bad.name; }
};

class RefusedSpecification : public Submission, public testing::WithParamInterface<BadSpecification> {};

TEST_P(RefusedSpecification, NamesReasonAndFieldOnBothSidesAndStoresNothing) {
  const BadSpecification& bad = GetParam();
  const grpc::Status status = try_submit(bad.spec);
  EXPECT_EQ(status.error_code(), bad.code) << status.error_message();
  EXPECT_EQ(wire_error(status).reason, bad.reason) << status.error_message();
  EXPECT_EQ(wire_error(status).field, bad.field) << status.error_message();

  const HttpAnswer answer = http().post("/api/v1/experiments", Json{{"spec_json", bad.spec}}.dump());
  EXPECT_GE(answer.status, 400);
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["message"], status.error_message());
  EXPECT_EQ(error["details"][0]["reason"], bad.reason);
  EXPECT_EQ(error["details"][0]["domain"], "locus.v1");
  if (!bad.field.empty()) {
    EXPECT_EQ(error["details"][1]["field_violations"][0]["field"], bad.field);
  }

  v1::ListExperimentsResponse list;
  ASSERT_TRUE(experiments_->ListExperiments(deadline().get(), {}, &list).ok());
  EXPECT_EQ(list.experiments_size(), 0);
  v1::WatchEventsRequest everything;
  const auto context = deadline();
  auto stream = experiments_->WatchEvents(context.get(), everything);
  FakeWorker witness(channel_, "witness");  // its registration is the first event there is
  ASSERT_TRUE(witness.register_with().ok());
  v1::WatchEventsResponse events;
  ASSERT_TRUE(stream->Read(&events));
  ASSERT_GT(events.events_size(), 0);
  EXPECT_EQ(events.events(0).subject(), "workers/witness");
  context->TryCancel();
}

std::string spec_with(const Json& overrides) { return small_specification(overrides).dump(); }

INSTANTIATE_TEST_SUITE_P(
    Bad, RefusedSpecification,
    testing::Values(BadSpecification{"UnknownPrior", spec_with({{"matrix", {{"prior", {"none", "learned-absolut"}}}}}),
                                     "UNKNOWN_PRIOR", "matrix.prior[1]", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"UnknownKey", spec_with({{"epochs", 3}}), "UNKNOWN_KEY", "epochs",
                                     grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"WrongType", spec_with({{"train", {{"epochs", "two"}}}}), "WRONG_TYPE",
                                     "train.epochs", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"HeadsNotDividingWidth", spec_with({{"model", {{"heads", 5}}}}),
                                     "CONSTRAINT_VIOLATED", "model.heads", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"EmptyMatrix", spec_with({{"matrix", {{"prior", Json::array()}}}}), "EMPTY_MATRIX",
                                     "matrix.prior", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"NotJson", "{\"version\": 1,", "INVALID_SPECIFICATION", "",
                                     grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"KeyTwice", R"({"version": 1, "name": "a", "name": "b"})", "INVALID_SPECIFICATION",
                                     "", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"NestedWithoutEnd", std::string(100'000, '[') + std::string(100'000, ']'),
                                     "INVALID_SPECIFICATION", "", grpc::StatusCode::INVALID_ARGUMENT},
                    BadSpecification{"TooLong", std::string((1 << 20) + 1, ' '), "LIMIT_EXCEEDED", "spec_json",
                                     grpc::StatusCode::RESOURCE_EXHAUSTED},
                    BadSpecification{"Empty", "", "MISSING_KEY", "spec_json", grpc::StatusCode::INVALID_ARGUMENT}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_F(Submission, RefusesMoreTrialsThanAnExperimentMayHold) {
  Json seeds = Json::array();
  for (int i = 0; i < 40'000; ++i) seeds.push_back(i);
  const grpc::Status status = try_submit(spec_with({{"replicates", {{"seed", seeds}}}}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(wire_error(status).reason, "TOO_MANY_TRIALS");
}

TEST_F(Submission, CancelsPausesAndResumesIdempotently) {
  submit(small_specification());
  v1::PauseExperimentRequest pause;
  pause.set_name("small");
  v1::Experiment out;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(experiments_->PauseExperiment(deadline().get(), pause, &out).ok());
    EXPECT_EQ(out.state(), "paused");
  }
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  EXPECT_FALSE(worker.acquire().has_value());
  v1::ResumeExperimentRequest resume;
  resume.set_name("small");
  ASSERT_TRUE(experiments_->ResumeExperiment(deadline().get(), resume, &out).ok());
  EXPECT_EQ(out.state(), "active");
  EXPECT_TRUE(worker.acquire().has_value());
  v1::CancelExperimentRequest cancel;
  cancel.set_name("small");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(experiments_->CancelExperiment(deadline().get(), cancel, &out).ok());
    EXPECT_EQ(out.state(), "cancelled");
  }
  EXPECT_FALSE(worker.acquire().has_value());
  cancel.set_name("nobody");
  const grpc::Status missing = experiments_->CancelExperiment(deadline().get(), cancel, &out);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(wire_error(missing).reason, "EXPERIMENT_NOT_FOUND");
}

TEST_F(Submission, RefusesAPageTokenOfAnotherList) {
  submit(small_specification());
  v1::ListTrialsRequest request;
  request.set_experiment("small");
  request.set_page_token("experiment:3");
  v1::ListTrialsResponse response;
  const grpc::Status status = experiments_->ListTrials(deadline().get(), request, &response);
  EXPECT_EQ(wire_error(status).reason, "PAGE_TOKEN_INVALID");
  EXPECT_EQ(wire_error(status).field, "page_token");
}

}  // namespace
}  // namespace locus::test
