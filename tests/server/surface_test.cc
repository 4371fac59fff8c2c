// What people do with experiments beyond submitting them: explain, read logs, rerun, compare, export.
#include <gmock/gmock.h>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::HasSubstr;

double score(const std::string& prior, std::int64_t seed, int) {
  return (prior == "none" ? 70.0 : 80.0) + static_cast<double>(seed);
}

class Surface : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
    ASSERT_TRUE(worker_->register_with().ok());
  }
  void start() {
    ServerTest::start();
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
  }
  v1::Explanation explain(const std::string& trial) {
    v1::ExplainRequest request;
    request.set_trial(trial);
    v1::Explanation out;
    EXPECT_TRUE(experiments_->Explain(deadline().get(), request, &out).ok());
    return out;
  }
  v1::ReadLogResponse log(const v1::ReadLogRequest& request) {
    v1::ReadLogResponse out;
    const grpc::Status status = experiments_->ReadLog(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::string trial_of(const Assigned& work) {
    v1::ListTrialsRequest request;
    request.set_experiment("small");
    v1::ListTrialsResponse trials;
    EXPECT_TRUE(experiments_->ListTrials(deadline().get(), request, &trials).ok());
    for (const auto& trial : trials.trials()) {
      for (const auto& stage : trial.stages()) {
        if (stage.stage() == work.grant.stage()) return trial.name();
      }
    }
    return "";
  }

  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(Surface, ExplainsEveryStateOfATrial) {
  const auto running = worker_->acquire();
  ASSERT_TRUE(running);
  const std::string trial = trial_of(*running);
  EXPECT_THAT(explain(trial).sentence(), HasSubstr("runs as attempt 1 on one"));
  const auto waiting = explain(trial == "small/0" ? "small/1" : "small/0");
  EXPECT_EQ(waiting.state(), "queued");
  EXPECT_THAT(waiting.sentence(), HasSubstr("the slot of one, the only worker that can run it, is busy"));
  ASSERT_TRUE(worker_->fail(*running, "diverged", "the loss is NaN at step 3").ok());
  const auto failed = explain(trial);
  EXPECT_EQ(failed.state(), "failed");
  EXPECT_THAT(failed.sentence(), HasSubstr("diverged: the loss is NaN at step 3"));
  EXPECT_THAT(failed.stages(0).remedy(), HasSubstr("learning rate"));
  EXPECT_EQ(failed.stages(1).state(), "cancelled");
  EXPECT_THAT(failed.stages(1).sentence(), HasSubstr("which it needs, is failed"));
  v1::ExplainRequest both;
  both.set_trial(trial);
  both.set_stage(running->grant.stage());
  v1::Explanation none;
  EXPECT_EQ(wire_error(experiments_->Explain(deadline().get(), both, &none)).field, "stage");
}

TEST_F(Surface, KeepsWhatATrainerPrintsAndReadsItByOffset) {
  const auto work = worker_->acquire();
  std::int64_t next = 0;
  ASSERT_TRUE(worker_->report_log(*work, 0, "epoch 1\n", &next).ok());
  EXPECT_EQ(next, 8);
  ASSERT_TRUE(worker_->report_log(*work, 0, "epoch 1\n").ok());       // sent again
  ASSERT_TRUE(worker_->report_log(*work, 4, "h 1\nepoch 2\n").ok());  // overlaps
  const grpc::Status gap = worker_->report_log(*work, 99, "x");
  EXPECT_EQ(gap.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(wire_error(gap).reason, "SEQUENCE_GAP");
  v1::ReadLogRequest request;
  request.set_trial(trial_of(*work));
  auto read = log(request);
  EXPECT_EQ(read.text(), "epoch 1\nepoch 2\n");
  EXPECT_EQ(read.attempt(), 1);
  EXPECT_FALSE(read.ended());
  request.set_offset(read.next_offset());
  worker_->run(*work, score);
  ASSERT_TRUE(worker_->report_log(*work, 16, "done \xc3\xa9\n").ok());  // the end comes after the outcome
  read = log(request);
  EXPECT_EQ(read.text(), "done \xc3\xa9\n");
  EXPECT_TRUE(read.ended());
  EXPECT_EQ(read.state(), "succeeded");
  request.set_offset(-4);
  EXPECT_EQ(log(request).text(), " \xc3\xa9\n");
  request.set_offset(16);
  request.set_max_bytes(6);  // ends inside a character: it comes with what follows
  request.set_role("train");
  read = log(request);
  EXPECT_EQ(read.text(), "done ");
  EXPECT_EQ(read.next_offset(), 21);
  FakeWorker stranger(channel_, "two");
  ASSERT_TRUE(stranger.register_with().ok());
  EXPECT_EQ(wire_error(stranger.report_log(*work, 24, "lies")).reason, "STALE_ATTEMPT");
}

TEST_F(Surface, LogsKeepTheirLastMebibyte) {
  const auto work = worker_->acquire();
  const std::string piece(200'000, 'x');
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(worker_->report_log(*work, i * 200'000, piece).ok());
  v1::ReadLogRequest request;
  request.set_stage(work->grant.stage());
  const auto read = log(request);
  EXPECT_EQ(read.total(), 1'600'000);
  EXPECT_EQ(read.offset(), 1'600'000 - (1 << 20));
  EXPECT_EQ(read.text().size(), 1u << 20);
}

TEST_F(Surface, ShowsATrialInFull) {
  const auto work = worker_->acquire();
  worker_->run(*work, score);
  v1::GetTrialRequest request;
  request.set_name(trial_of(*work));
  v1::TrialDetail detail;
  ASSERT_TRUE(experiments_->GetTrial(deadline().get(), request, &detail).ok());
  EXPECT_EQ(detail.experiment(), "small");
  EXPECT_TRUE(Json::parse(detail.assignment_json()).is_object());
  const auto& stage = detail.stages(0);
  EXPECT_EQ(stage.kind(), "train");
  EXPECT_EQ(stage.state(), "succeeded");
  EXPECT_EQ(stage.explanation(), "succeeded in attempt 1");
  EXPECT_EQ(Json::parse(stage.config_json())["kind"], "train");
  ASSERT_EQ(stage.attempts_size(), 1);
  EXPECT_EQ(stage.attempts(0).device(), "cpu");
  EXPECT_EQ(stage.attempts(0).path(), "explicit");
  EXPECT_EQ(stage.attempts(0).worker(), "one");
  ASSERT_EQ(stage.checkpoints_size(), 1);
  EXPECT_EQ(stage.checkpoints(0).role(), "output");
  EXPECT_TRUE(stage.checkpoints(0).present());
  EXPECT_GT(stage.checkpoints(0).bytes(), 0);
  EXPECT_EQ(detail.stages(1).inputs(0).from_stage(), stage.stage());
  EXPECT_EQ(detail.stages(1).inputs(0).sha256(), stage.outputs(0).sha256());
}

TEST_F(Surface, RerunsWhatFailed) {
  const auto work = worker_->acquire();
  ASSERT_TRUE(worker_->fail(*work, "diverged", "NaN").ok());
  v1::RerunExperimentRequest request;
  request.set_name(trial_of(*work));
  v1::RerunExperimentResponse response;
  ASSERT_TRUE(experiments_->RerunExperiment(deadline().get(), request, &response).ok());
  EXPECT_EQ(response.stages(), 2);
  EXPECT_THAT(response.trials(), testing::ElementsAre(request.name()));
  EXPECT_EQ(response.experiment().name(), "small");
  EXPECT_EQ(worker_->run_all(score), 18);
  EXPECT_EQ(experiment("small").state(), "completed");
  request.set_name("small");
  ASSERT_TRUE(experiments_->RerunExperiment(deadline().get(), request, &response).ok());
  EXPECT_EQ(response.stages(), 0);
  request.set_name("nobody/0");
  EXPECT_EQ(wire_error(experiments_->RerunExperiment(deadline().get(), request, &response)).reason,
            "EXPERIMENT_NOT_FOUND");
}

TEST_F(Surface, DeletesAfterSayingWhatWouldGo) {
  worker_->run_all(score);
  submit(small_specification({{"name", "other"}, {"matrix", {{"prior", {"learned-absolute"}}}}}));
  v1::DeleteExperimentRequest request;
  request.set_name("small");
  request.set_dry_run(true);
  v1::DeleteExperimentResponse dry, done;
  ASSERT_TRUE(experiments_->DeleteExperiment(deadline().get(), request, &dry).ok());
  EXPECT_FALSE(dry.deleted());
  EXPECT_EQ(dry.trials(), 9);
  EXPECT_EQ(dry.stages(), 12);
  EXPECT_EQ(dry.stages_kept(), 6);
  EXPECT_THAT(dry.kept_for(), testing::ElementsAre("other"));
  EXPECT_EQ(dry.points(), 6 * 3);
  EXPECT_EQ(dry.artifacts(), 6);
  EXPECT_GT(dry.bytes(), 0);
  EXPECT_EQ(experiment("small").state(), "completed") << "a dry run changes nothing";
  request.set_dry_run(false);
  ASSERT_TRUE(experiments_->DeleteExperiment(deadline().get(), request, &done).ok());
  EXPECT_TRUE(done.deleted());
  dry.set_deleted(true);
  EXPECT_EQ(done.SerializeAsString(), dry.SerializeAsString()) << "what was said is what went";
  v1::Experiment gone;
  v1::GetExperimentRequest get;
  get.set_name("small");
  EXPECT_EQ(wire_error(experiments_->GetExperiment(deadline().get(), get, &gone)).reason, "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(experiment("other").state(), "completed") << "it shares the stages that stayed";
  v1::CheckReport report;
  ASSERT_TRUE(v1::AdminService::NewStub(channel_)->Check(deadline().get(), {}, &report).ok());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.artifacts(), 3);
}

TEST_F(Surface, RefusesToDeleteWhatIsUnfinishedUnlessForced) {
  const auto work = worker_->acquire();
  v1::DeleteExperimentRequest request;
  request.set_name("small");
  v1::DeleteExperimentResponse response;
  const grpc::Status refused = experiments_->DeleteExperiment(deadline().get(), request, &response);
  EXPECT_EQ(wire_error(refused).reason, "WRONG_STATE");
  EXPECT_THAT(refused.error_message(), HasSubstr("18 stages of experiment small are not finished"));
  request.set_force(true);
  ASSERT_TRUE(experiments_->DeleteExperiment(deadline().get(), request, &response).ok());
  EXPECT_FALSE(worker_->acquire());
  EXPECT_EQ(worker_->report(*work, "loss", "train", {1}).reason(), "STALE_ATTEMPT");
}

TEST_F(Surface, ComparesCellsBySettingResultAndSeed) {
  worker_->run_all(score);
  v1::CompareRequest request;
  request.add_items("small/cells/0");
  request.add_items("small/cells/1");
  v1::Comparison out;
  const grpc::Status status = experiments_->Compare(deadline().get(), request, &out);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(out.items_size(), 2);
  EXPECT_EQ(out.items(0).kind(), "cell");
  EXPECT_EQ(out.items(0).values_size(), 3);
  ASSERT_EQ(out.paired_size(), 1);
  EXPECT_EQ(out.paired(0).n(), 3);
  const double expected = out.items(1).values(0).value() - out.items(0).values(0).value();
  EXPECT_DOUBLE_EQ(out.paired(0).mean(), expected);
  EXPECT_DOUBLE_EQ(out.paired(0).std(), 0);
  EXPECT_DOUBLE_EQ(out.paired(0).p_floor(), 0.25);
  ASSERT_EQ(out.differing_size(), 1) << "a prior is one setting, however many options and stages it has";
  EXPECT_EQ(out.differing(0).path(), "prior");
  EXPECT_EQ(out.differing(0).values(0), "none");
  EXPECT_EQ(out.differing(0).values(1), "learned-absolute");
  EXPECT_EQ(out.items(0).title(), "none");
  EXPECT_EQ(out.items(1).title(), "learned-absolute");
  EXPECT_GT(out.common_size(), 5);
  for (const auto& setting : out.common()) EXPECT_EQ(setting.values_json(0), setting.values_json(1));
  EXPECT_GT(out.results_size(), 2);
}

TEST_F(Surface, ComparesNoRevisionsThatOnlySayWhatIsUsed) {
  worker_->run_all(score);
  v1::CompareRequest request;
  request.add_items("small/cells/0");
  request.add_items("small/cells/2");
  v1::Comparison out;
  ASSERT_TRUE(experiments_->Compare(deadline().get(), request, &out).ok());
  for (const auto* settings : {&out.common(), &out.differing()}) {
    for (const auto& setting : *settings)
      EXPECT_EQ(setting.path().find("revisions."), std::string::npos) << setting.path();
  }
}

TEST_F(Surface, CallsATrialOfATrialABadName) {
  v1::GetTrialRequest request;
  v1::TrialDetail out;
  for (const char* name : {"small/0/1", "small//1", "/0", "small/", "small/x", "small/-1"}) {
    request.set_name(name);
    EXPECT_EQ(wire_error(experiments_->GetTrial(deadline().get(), request, &out)).reason, "INVALID_NAME") << name;
  }
}

TEST_F(Surface, TellsAWorkerTheLimitOfAnAttempt) {
  EXPECT_EQ(worker_->acquire()->grant.limit_seconds(), 0);
  submit(small_specification(
      {{"name", "hurried"}, {"priority", 5}, {"train", {{"lr", 0.5}}}, {"limits", {{"stage_seconds", 77}}}}));
  FakeWorker second(channel_, "two");
  ASSERT_TRUE(second.register_with().ok());
  EXPECT_EQ(second.acquire()->grant.limit_seconds(), 77);
}

TEST_F(Surface, ComparesTrialsAndRefusesNonsense) {
  worker_->run_all(score);
  v1::CompareRequest request;
  v1::Comparison out;
  request.add_items("small/0");
  EXPECT_EQ(wire_error(experiments_->Compare(deadline().get(), request, &out)).field, "items");
  request.add_items("small/1");
  ASSERT_TRUE(experiments_->Compare(deadline().get(), request, &out).ok());
  EXPECT_EQ(out.items(0).kind(), "trial");
  EXPECT_EQ(out.items(0).trials_size(), 1);
  request.set_items(1, "small/cells/77");
  EXPECT_EQ(wire_error(experiments_->Compare(deadline().get(), request, &out)).reason, "TRIAL_NOT_FOUND");
  request.set_items(1, "nonsense");
  EXPECT_EQ(wire_error(experiments_->Compare(deadline().get(), request, &out)).reason, "INVALID_NAME");
}

TEST_F(Surface, ExportsEverythingAsLinesThatSayTheirType) {
  worker_->run_all(score);
  v1::ExportExperimentRequest request;
  request.set_name("small");
  const auto context = deadline();
  const auto reader = experiments_->ExportExperiment(context.get(), request);
  std::string text;
  for (v1::ExportExperimentResponse part; reader->Read(&part);) text += part.chunk();
  ASSERT_TRUE(reader->Finish().ok());
  std::map<std::string, int> types;
  std::int64_t points = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    ++types[json["type"]];
    if (json["type"] == "points") points += static_cast<std::int64_t>(json["value"].size());
  }
  EXPECT_EQ(types["experiment"], 1);
  EXPECT_EQ(types["cell"], 3);
  EXPECT_EQ(types["trial"], 9);
  EXPECT_EQ(types["stage"], 18);
  EXPECT_EQ(types["attempt"], 18);
  EXPECT_EQ(types["points"], 9);
  EXPECT_EQ(points, 27);
  EXPECT_EQ(types["end"], 1);
  request.set_name("nobody");
  const auto missing = deadline();
  const auto refused = experiments_->ExportExperiment(missing.get(), request);
  v1::ExportExperimentResponse nothing;
  EXPECT_FALSE(refused->Read(&nothing));
  EXPECT_EQ(wire_error(refused->Finish()).reason, "EXPERIMENT_NOT_FOUND");
}

TEST_F(Surface, LeavesACompletedExperimentAlone) {
  worker_->run_all(score);
  ASSERT_EQ(experiment("small").state(), "completed");
  v1::CancelExperimentRequest cancel;
  cancel.set_name("small");
  v1::PauseExperimentRequest pause;
  pause.set_name("small");
  v1::Experiment after;
  for (const grpc::Status& refused : {experiments_->CancelExperiment(deadline().get(), cancel, &after),
                                      experiments_->PauseExperiment(deadline().get(), pause, &after)}) {
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(wire_error(refused).reason, "WRONG_STATE");
    EXPECT_THAT(refused.error_message(), HasSubstr("every stage of experiment small has ended"));
  }
  EXPECT_EQ(experiment("small").state(), "completed");
}

TEST_F(Surface, PausesAnExperimentWhoseFirstCellsAllFailAlikeAndSaysSo) {
  submit(small_specification({{"name", "broken"}, {"priority", 9}, {"replicates", {{"seed", {7}}}}}));
  for (int i = 0; i < 3; ++i) {
    const auto work = worker_->acquire();
    ASSERT_TRUE(work);
    ASSERT_TRUE(worker_->fail(*work, "data", "no dataset at /data").ok());
  }
  const auto paused = experiment("broken");
  EXPECT_EQ(paused.state(), "paused");
  EXPECT_THAT(paused.reason(), HasSubstr("met missing or damaged data: no dataset at /data"));
  EXPECT_THAT(explain("broken/0").sentence(), HasSubstr("all failed alike"));
}

}  // namespace
}  // namespace locus::test
