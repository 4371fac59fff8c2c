// What a worker may and may not do: registration, long polls, points, checkpoints, completion, and the fence
// around each write.
#include <future>

#include "core/base/sha256.h"
#include "server/application/memory.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double worker_protocol_score(const std::string&, std::int64_t, int) { return 80.0; }

class WorkerProtocol : public ServerTest {
 protected:
  void SetUp() override { start(); }
};

TEST_F(WorkerProtocol, RefusesAnotherProtocolVersionNamingBoth) {
  FakeWorker worker(channel_, "old");
  for (const int other : {0, 1, 4, 99}) {  // 1: it would train past every stop point
    const grpc::Status status =
        worker.register_with([&](v1::RegisterWorkerRequest& request) { request.set_protocol_version(other); });
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(wire_error(status).reason, "UNSUPPORTED_VERSION");
    EXPECT_EQ(wire_error(status).field, "protocol_version");
    EXPECT_NE(status.error_message().find("protocol version " + std::to_string(other) + " and"), std::string::npos);
    EXPECT_NE(status.error_message().find("server version 3, from 2 on"), std::string::npos) << status.error_message();
  }
  EXPECT_TRUE(worker.register_with([](v1::RegisterWorkerRequest& request) { request.set_protocol_version(2); }).ok());
  EXPECT_TRUE(worker.register_with([](v1::RegisterWorkerRequest& request) { request.set_protocol_version(3); }).ok());
}

TEST_F(WorkerProtocol, TakesDevicesTogetherOfAWorkerThatSaysItCan) {
  submit(small_specification({{"placement", {{"devices", 2}}}}));
  FakeWorker worker(channel_, "gpus");
  const auto reason = [&](const std::string& device, const std::function<void(v1::RegisterWorkerRequest&)>& says) {
    EXPECT_TRUE(worker
                    .register_with([&](v1::RegisterWorkerRequest& request) {
                      request.clear_slots();
                      for (const int index : {0, 1}) {
                        v1::Slot& slot = *request.add_slots();
                        slot.set_device(device), slot.set_index(index), slot.set_threads(1);
                      }
                      says(request);
                    })
                    .ok());
    v1::ExplainRequest why;
    why.set_trial("small/0");
    v1::Explanation answer;
    EXPECT_TRUE(experiments_->Explain(deadline().get(), why, &answer).ok());
    return answer.ShortDebugString();
  };
  const auto nothing = [](v1::RegisterWorkerRequest&) {};
  const std::string several = "takes 2 devices of one worker together", none = "waits for a larger worker";
  EXPECT_NE(reason("cpu", nothing).find(several), std::string::npos) << "as before there was such a word";
  EXPECT_NE(reason("cuda", nothing).find(none), std::string::npos);
  EXPECT_NE(reason("cpu", [](v1::RegisterWorkerRequest& request) { request.mutable_together(); }).find(none),
            std::string::npos);
  const auto can = [](v1::RegisterWorkerRequest& request) { request.mutable_together()->add_devices("cuda"); };
  EXPECT_NE(reason("cuda", can).find(several), std::string::npos);
  const std::string cannot = reason("cuda", [](v1::RegisterWorkerRequest& request) {
    (*request.mutable_together()->mutable_missing())["cuda"] = "cannot do that: no library";
  });
  EXPECT_NE(cannot.find("gpus has 2 and cannot do that: no library"), std::string::npos) << cannot;
}

TEST_F(WorkerProtocol, TellsAnUnknownSessionToRegister) {
  FakeWorker worker(channel_, "unknown");
  grpc::Status status;
  EXPECT_FALSE(worker.acquire({}, &status).has_value());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(wire_error(status).reason, "WORKER_NOT_FOUND");
  v1::SyncLeasesResponse wishes;
  EXPECT_EQ(wire_error(worker.sync({}, &wishes)).reason, "WORKER_NOT_FOUND");
}

TEST_F(WorkerProtocol, KeepsTheNameOfAWorkerThatLivesAndSaysWhoHasIt) {
  const auto living_at = [](const std::string& instance) {
    return [instance](v1::RegisterWorkerRequest& request) { request.set_instance(instance); };
  };
  FakeWorker holder(channel_, "gpu-1"), other(channel_, "gpu-1"), again(channel_, "gpu-1");
  ASSERT_TRUE(holder.register_with(living_at("folder-1@boot")).ok());
  const grpc::Status refused = other.register_with(living_at("folder-2@boot"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(wire_error(refused).reason, "WORKER_NAME_TAKEN");
  EXPECT_EQ(wire_error(refused).field, "name");
  EXPECT_NE(refused.error_message().find("on host host, registered"), std::string::npos) << refused.error_message();
  v1::SyncLeasesResponse wishes;
  EXPECT_TRUE(holder.sync({}, &wishes).ok());
  EXPECT_TRUE(again.register_with(living_at("folder-1@boot")).ok()) << "it has outlived the holder";
  EXPECT_TRUE(other
                  .register_with([](v1::RegisterWorkerRequest& request) {
                    request.set_instance("folder-2@boot");
                    request.set_take_over(true);
                  })
                  .ok());
}

TEST_F(WorkerProtocol, GrantsOnlyWhatAWorkersDatasetsAllowAndShowsThem) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  const auto without = [](v1::RegisterWorkerRequest& request) {
    (*request.mutable_data()->mutable_missing())["fashion-mnist"] = "/nowhere/fashion-mnist is missing";
  };
  ASSERT_TRUE(worker.register_with(without).ok());
  EXPECT_FALSE(worker.acquire());
  v1::ListWorkersResponse list;
  ASSERT_TRUE(workers_->ListWorkers(deadline().get(), {}, &list).ok());
  EXPECT_EQ(list.workers(0).data().missing().at("fashion-mnist"), "/nowhere/fashion-mnist is missing");
  v1::ExplainRequest why;
  why.set_trial("small/0");
  v1::Explanation explanation;
  ASSERT_TRUE(experiments_->Explain(deadline().get(), why, &explanation).ok());
  EXPECT_NE(explanation.DebugString().find("no worker holds the dataset fashion-mnist"), std::string::npos)
      << explanation.DebugString();
  ASSERT_TRUE(worker
                  .register_with(
                      [](v1::RegisterWorkerRequest& request) { request.mutable_data()->add_datasets("fashion-mnist"); })
                  .ok());
  EXPECT_TRUE(worker.acquire());
}

TEST_F(WorkerProtocol, GrantsOnlyWhatAWorkersRevisionsMatch) {
  submit(small_specification());
  FakeWorker worker(channel_, "behind");
  ASSERT_TRUE(worker
                  .register_with([](v1::RegisterWorkerRequest& request) {
                    (*request.mutable_revisions())["prior/violin"] = 7;
                    request.mutable_revisions()->erase("prior/none");
                  })
                  .ok());
  int granted = 0;
  while (const auto work = worker.acquire()) {
    EXPECT_EQ(work->prior, "learned-absolute");
    worker.run(*work, worker_protocol_score);
    ++granted;
  }
  EXPECT_EQ(granted, 6);
}

// Measurements say it of trainings.
TEST(Memory, OfTrainingsIsLearnedFromMeasurements) {
  StageRow measurement;
  measurement.kind = "measure";
  measurement.config_json = R"({"kind":"measure","dataset":{"id":"d"},"model":{"id":"vit"},"priors":[]})";
  const auto training = [](int batch) {
    const std::string options = "{\"batch\":" + std::to_string(batch) + ",\"lr\":0.1}";
    return R"({"kind":"train","dataset":{"id":"d"},"model":{"id":"vit"},"priors":[],"recipe":{"options":)" + options +
           "}}";
  };
  v1::CompleteAttemptRequest ended;
  EXPECT_FALSE(server::MemoryDesk::tells(ended));
  ended.set_environment_json(R"({"device":"cuda:1"})");
  *ended.add_results() = result("peak_memory_bytes", "", R"({"batch":8})", 80);
  *ended.add_results() = result("peak_memory_bytes", "", R"({"batch":16})", 150);
  *ended.add_results() = result("flops", "", R"({"batch":16})", 1e9);
  EXPECT_TRUE(server::MemoryDesk::tells(ended));
  server::MemoryDesk desk;
  desk.learn(measurement, ended);
  EXPECT_EQ(desk.needed("cuda", training(8)), 80);
  EXPECT_EQ(desk.needed("cuda", training(16)), 150);
  EXPECT_EQ(desk.needed("cuda", training(32)), 0);
  EXPECT_EQ(desk.needed("cpu", training(8)), 0);
  ended.mutable_results(0)->set_value(70);
  ended.mutable_results(1)->set_value(1e300);
  desk.learn(measurement, ended);
  EXPECT_EQ(desk.needed("cuda", training(8)), 80) << "the most of what is known";
  EXPECT_EQ(desk.needed("cuda", training(16)), 150) << "nobody has so much";
}

TEST_F(WorkerProtocol, AnswersALongPollWhenWorkArrives) {
  FakeWorker worker(channel_, "patient");
  ASSERT_TRUE(worker.register_with().ok());
  auto waiting = std::async(std::launch::async, [&] { return worker.acquire(std::chrono::seconds(20)); });
  submit(small_specification());
  EXPECT_TRUE(waiting.get().has_value());
}

TEST_F(WorkerProtocol, HoldsNoThreadForLongPolls) {
  std::vector<std::unique_ptr<FakeWorker>> workers;
  std::vector<std::future<std::optional<Assigned>>> waiting;
  for (int i = 0; i < 24; ++i) {  // more than the server has threads
    workers.push_back(std::make_unique<FakeWorker>(channel_, "w" + std::to_string(i)));
    ASSERT_TRUE(workers.back()->register_with().ok());
    waiting.push_back(
        std::async(std::launch::async, [w = workers.back().get()] { return w->acquire(std::chrono::seconds(20)); }));
  }
  submit(small_specification({{"replicates", {{"seed", {0, 1, 2, 3, 4, 5, 6, 7}}}}}));
  int granted = 0;
  for (auto& wait : waiting) granted += wait.get().has_value() ? 1 : 0;
  EXPECT_EQ(granted, 24);
}

TEST_F(WorkerProtocol, RepeatsAGrantForTheSameRequest) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  v1::AcquireStageRequest request;
  request.set_session(worker.session);
  request.set_request_id("the same");
  request.add_free_slots(0);
  v1::AcquireStageResponse first, second;
  ASSERT_TRUE(workers_->AcquireStage(deadline().get(), request, &first).ok());
  ASSERT_TRUE(workers_->AcquireStage(deadline().get(), request, &second).ok());
  EXPECT_EQ(first.grant().stage(), second.grant().stage());
  EXPECT_EQ(first.grant().attempt(), second.grant().attempt());
}

TEST_F(WorkerProtocol, StoresResentPointsOnceAndNamesGaps) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(worker.report(*work, "loss", "train", {3, 2}).acked_seq(), 2);
  EXPECT_EQ(worker.report(*work, "loss", "train", {3, 2}).acked_seq(), 2);
  const auto gap = worker.report(*work, "loss", "train", {1}, 9);
  EXPECT_EQ(gap.reason(), "SEQUENCE_GAP");
  EXPECT_EQ(gap.acked_seq(), 2);
  v1::QuerySeriesRequest query;
  query.set_stage(work->grant.stage());
  query.mutable_key()->set_metric("loss");
  query.mutable_key()->set_split("train");
  v1::QuerySeriesResponse points;
  ASSERT_TRUE(metrics_->QuerySeries(deadline().get(), query, &points).ok());
  EXPECT_EQ(points.value_size(), 2);
}

TEST_F(WorkerProtocol, RefusesCompletionUntilEveryPointIsStored) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  worker.report(*work, "loss", "train", {3, 2});
  const auto status = worker.complete(*work, [](v1::CompleteAttemptRequest& request) { request.set_last_seq(3); });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(wire_error(status).reason, "SEQUENCE_GAP");
}

TEST_F(WorkerProtocol, CompletesTwiceWithOneEffect) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  const std::string digest = worker.upload("weights");
  const auto with_output = [&](v1::CompleteAttemptRequest& request) {
    auto* output = request.add_outputs();
    output->set_slot("checkpoint");
    output->set_sha256(digest);
  };
  EXPECT_TRUE(worker.complete(*work, with_output).ok());
  EXPECT_TRUE(worker.complete(*work, with_output).ok());
  const auto other = worker.complete(*work, [](v1::CompleteAttemptRequest& request) {
    request.set_outcome("failed");
    request.set_failure_class("code");
  });
  EXPECT_EQ(wire_error(other).reason, "STALE_ATTEMPT");
}

TEST_F(WorkerProtocol, FencesEveryWriteOfAStaleAttempt) {
  submit(small_specification({{"matrix", {{"prior", {"learned-absolute"}}}}, {"replicates", {{"seed", {0}}}}}));
  FakeWorker first(channel_, "one"), second(channel_, "one");  // the daemon was started anew
  ASSERT_TRUE(first.register_with().ok());
  const auto stale = first.acquire();
  ASSERT_TRUE(stale.has_value());
  const std::string digest = first.upload("weights");
  ASSERT_TRUE(second.register_with().ok());
  auto fresh = second.acquire(std::chrono::seconds(15));  // after the back-off of a lost worker
  ASSERT_TRUE(fresh.has_value());
  ASSERT_EQ(fresh->grant.stage(), stale->grant.stage());
  ASSERT_GT(fresh->grant.attempt(), stale->grant.attempt());

  Assigned stolen = *stale;  // the old token, also through the new session
  EXPECT_EQ(second.report(stolen, "loss", "train", {1}).reason(), "STALE_ATTEMPT");
  for (FakeWorker* worker : {&first, &second}) {
    for (const grpc::Status& status : {worker->commit_checkpoint(stolen, 10, digest), worker->complete(stolen)}) {
      EXPECT_FALSE(status.ok());
      const std::string reason = wire_error(status).reason;
      EXPECT_TRUE(reason == "STALE_ATTEMPT" || reason == "WORKER_NOT_FOUND") << reason;
      if (worker == &second) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
      }
    }
  }
  v1::SyncLeasesResponse wishes;
  v1::HeldAttempt held;
  held.set_stage(stolen.grant.stage());
  held.set_attempt(stolen.grant.attempt());
  v1::HeldAttempt current;
  current.set_stage(fresh->grant.stage());
  current.set_attempt(fresh->grant.attempt());
  ASSERT_TRUE(second.sync({held, current}, &wishes).ok());
  for (const auto& wish : wishes.wishes()) {
    EXPECT_EQ(wish.wish(), wish.attempt() == stolen.grant.attempt() ? v1::WISH_DROP : v1::WISH_CONTINUE);
  }
  second.run(*fresh, worker_protocol_score);  // and the current one is not harmed
}

TEST_F(WorkerProtocol, ChecksWhatIsUploaded) {
  FakeWorker worker(channel_, "one");
  const std::string bytes(3'000'000, 'x');
  const std::string digest = worker.upload(bytes);
  v1::DownloadArtifactRequest request;
  request.set_sha256(digest);
  request.set_offset(1'500'000);
  const auto context = deadline();
  auto stream = artifacts_->DownloadArtifact(context.get(), request);
  std::string back;
  for (v1::DownloadArtifactResponse part; stream->Read(&part);) back += part.chunk();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(back.size(), 1'500'000u);

  v1::UploadArtifactResponse response;
  const auto lying = deadline();
  auto upload = artifacts_->UploadArtifact(lying.get(), &response);
  v1::UploadArtifactRequest part;
  part.mutable_header()->set_sha256(sha256_hex("something else"));
  part.mutable_header()->set_bytes(5);
  part.mutable_header()->set_kind("checkpoint");
  upload->Write(part);
  part.set_chunk("bytes");
  upload->Write(part);
  upload->WritesDone();
  const grpc::Status refused = upload->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(wire_error(refused).reason, "DIGEST_MISMATCH");
  request.set_sha256("../../etc/passwd");
  const auto escaping = deadline();
  auto escape = artifacts_->DownloadArtifact(escaping.get(), request);
  v1::DownloadArtifactResponse nothing;
  EXPECT_FALSE(escape->Read(&nothing));
  EXPECT_EQ(escape->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(WorkerProtocol, RefusesACheckpointThatIsNotStored) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  EXPECT_EQ(wire_error(worker.commit_checkpoint(*work, 10, sha256_hex("nowhere"))).reason, "ARTIFACT_NOT_FOUND");
  worker.run(*work, worker_protocol_score);  // the refusal cost nobody anything
}

TEST_F(WorkerProtocol, ShowsWorkersWithWhatTheyRun) {
  submit(small_specification());
  FakeWorker worker(channel_, "one");
  ASSERT_TRUE(worker.register_with().ok());
  const auto work = worker.acquire();
  v1::HeldAttempt held;
  held.set_stage(work->grant.stage());
  held.set_attempt(work->grant.attempt());
  held.set_step(7);
  held.set_steps(100);
  held.set_phase("train");
  v1::SyncLeasesResponse wishes;
  ASSERT_TRUE(worker.sync({held}, &wishes).ok());
  v1::ListWorkersResponse list;
  ASSERT_TRUE(workers_->ListWorkers(deadline().get(), {}, &list).ok());
  ASSERT_EQ(list.workers_size(), 1);
  EXPECT_EQ(list.workers(0).name(), "one");
  EXPECT_EQ(list.workers(0).state(), "active");
  ASSERT_EQ(list.workers(0).slots_size(), 1);
  ASSERT_EQ(list.workers(0).running_size(), 1);
  EXPECT_EQ(list.workers(0).running(0).step(), 7);
  EXPECT_EQ(experiment("small").running(0).step(), 7);
}

}  // namespace
}  // namespace locus::test
