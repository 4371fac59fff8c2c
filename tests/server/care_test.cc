// The data's life: retention, garbage, backup, restore, a disk that fills up.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>

#include "client/client.h"
#include "core/base/error.h"
#include "core/base/sha256.h"
#include "server/app/backup.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::HasSubstr;

double score(const std::string&, std::int64_t, int) { return 80.0; }

class Care : public ServerTest {
 protected:
  void start_on(const std::filesystem::path& folder) {
    ServerOptions options;
    options.data = folder;
    start(options);
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
    admin_ = v1::AdminService::NewStub(channel_);
  }
  v1::CollectGarbageResponse collect(bool dry_run = false) {
    v1::CollectGarbageRequest request;
    request.set_dry_run(dry_run);
    v1::CollectGarbageResponse out;
    const grpc::Status status = admin_->CollectGarbage(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::CheckReport check(bool deep) {
    v1::CheckRequest request;
    request.set_deep(deep);
    v1::CheckReport out;
    EXPECT_TRUE(admin_->Check(deadline().get(), request, &out).ok());
    return out;
  }

  TemporaryFolder folder_;
  std::unique_ptr<FakeWorker> worker_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

TEST_F(Care, KeepsTheResumePointTheBestThePinnedAndTheLastButOne) {
  start_on(folder_.path() / "data");
  submit(small_specification());
  const auto work = worker_->acquire();
  std::vector<std::string> digests;
  for (int step = 10; step <= 60; step += 10) {
    digests.push_back(worker_->upload("checkpoint at " + std::to_string(step)));
    ASSERT_TRUE(worker_->commit_checkpoint(*work, step, digests.back()).ok());
  }
  v1::PinArtifactRequest pin;
  pin.set_sha256(digests[1]);
  v1::Artifact pinned;
  ASSERT_TRUE(artifacts_->PinArtifact(deadline().get(), pin, &pinned).ok());
  EXPECT_TRUE(pinned.pinned());
  EXPECT_EQ(collect(/*dry_run=*/true).checkpoints(), 1) << "a stage with some to spare";
  EXPECT_EQ(collect().checkpoints(), 3);
  v1::ListArtifactsRequest list;
  list.set_name("small");
  v1::ListArtifactsResponse left;
  ASSERT_TRUE(artifacts_->ListArtifacts(deadline().get(), list, &left).ok());
  std::vector<std::int64_t> steps;
  for (const auto& artifact : left.artifacts()) steps.push_back(artifact.step());
  EXPECT_THAT(steps, testing::ElementsAre(20, 50, 60));
  // Blobs younger than an hour may be about to be named: they stay.
  EXPECT_EQ(check(true).artifacts(), 6);
}

TEST_F(Care, KeepsSnapshotsOfATrainingWhenItsCheckpointsGo) {
  start_on(folder_.path() / "data");
  submit(small_specification());
  const auto work = worker_->acquire();
  ASSERT_TRUE(work);
  for (const int step : {10, 20}) {
    const std::string digest = worker_->upload("checkpoint at " + std::to_string(step));
    ASSERT_TRUE(worker_->commit_checkpoint(*work, step, digest).ok());
  }
  const grpc::Status done = worker_->complete(*work, [&](v1::CompleteAttemptRequest& request) {
    for (const auto& [slot, step] : {std::pair("checkpoint", 30), {"snapshot-1", 10}, {"snapshot-2", 20}}) {
      v1::Output* output = request.add_outputs();
      output->set_slot(slot);
      output->set_sha256(worker_->upload("weights of " + std::string(slot)));
      output->set_step(step);
    }
  });
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_EQ(collect().checkpoints(), 2) << "a stage that succeeded resumes nowhere";
  v1::ListArtifactsRequest list;
  list.set_name("small");
  v1::ListArtifactsResponse left;
  ASSERT_TRUE(artifacts_->ListArtifacts(deadline().get(), list, &left).ok());
  std::map<std::string, std::int64_t> kept;
  for (const v1::Artifact& artifact : left.artifacts()) {
    EXPECT_TRUE(artifact.present());
    kept[artifact.slot()] = artifact.step();
  }
  EXPECT_EQ(kept, (std::map<std::string, std::int64_t>{{"checkpoint", 30}, {"snapshot-1", 10}, {"snapshot-2", 20}}));
}

TEST_F(Care, BacksUpARunningServerAndRestoresIt) {
  start_on(folder_.path() / "data");
  submit(small_specification());
  worker_->run_all(score);
  const v1::Table before = table("small");
  auto client = Client::connect(grpc_address());
  ASSERT_TRUE(client.ok());
  const auto made = (*client)->backup(folder_.path() / "backup");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->artifacts, 9);
  EXPECT_EQ(made->schema_version, 14);
  submit(small_specification({{"name", "later"}}));  // not in it
  const auto whole = check_backup(folder_.path() / "backup");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(whole->problems.empty());
  EXPECT_EQ(whole->artifacts, 9);
  stop();

  const auto restored = restore_backup(folder_.path() / "backup", folder_.path() / "restored");
  ASSERT_TRUE(restored.ok()) << restored.status();
  start_on(folder_.path() / "restored");
  EXPECT_EQ(experiment("small").state(), "completed");
  EXPECT_EQ(table("small").SerializeAsString(), before.SerializeAsString());
  v1::Experiment later;
  v1::GetExperimentRequest get;
  get.set_name("later");
  EXPECT_EQ(wire_error(experiments_->GetExperiment(deadline().get(), get, &later)).reason, "EXPERIMENT_NOT_FOUND");
  EXPECT_TRUE(check(true).ok());
  stop();
  const auto again = restore_backup(folder_.path() / "backup", folder_.path() / "restored");
  EXPECT_TRUE(has_reason(again.status(), ErrorReason::kDataFolderUnusable)) << again.status();
}

TEST_F(Care, RefusesToRestoreADamagedBackup) {
  start_on(folder_.path() / "data");
  submit(small_specification());
  worker_->run_all(score);
  auto client = Client::connect(grpc_address());
  ASSERT_TRUE((*client)->backup(folder_.path() / "backup").ok());
  std::filesystem::path blob;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() / "backup/artifacts")) {
    if (entry.is_regular_file()) blob = entry.path();
  }
  std::ofstream(blob, std::ios::app) << "!";
  const auto damaged = check_backup(folder_.path() / "backup");
  ASSERT_EQ(damaged->problems.size(), 1u);
  EXPECT_THAT(damaged->problems[0], HasSubstr("is damaged"));
  const auto refused = restore_backup(folder_.path() / "backup", folder_.path() / "restored");
  EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kBackupInvalid)) << refused.status();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "restored/locus.db"));
  EXPECT_TRUE(has_reason(check_backup(folder_.path() / "nowhere").status(), ErrorReason::kBackupInvalid));
}

TEST_F(Care, FindsMissingAndDamagedBlobs) {
  start_on(folder_.path() / "data");
  submit(small_specification());
  worker_->run_all(score);
  EXPECT_TRUE(check(true).ok());
  std::vector<std::filesystem::path> blobs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() / "data/artifacts")) {
    if (entry.is_regular_file()) blobs.push_back(entry.path());
  }
  ASSERT_EQ(blobs.size(), 9u);
  std::filesystem::remove(blobs[0]);
  std::string bytes;
  std::ifstream(blobs[1]) >> bytes;
  std::filesystem::permissions(blobs[1], std::filesystem::perms::owner_all);
  std::fstream(blobs[1], std::ios::in | std::ios::out | std::ios::binary).put('#');  // the same length
  EXPECT_EQ(check(false).problems_size(), 1);
  const auto deep = check(true);
  EXPECT_FALSE(deep.ok());
  ASSERT_EQ(deep.problems_size(), 2);
  std::string sentences;
  for (const auto& problem : deep.problems()) sentences += problem.subject() + ": " + problem.sentence() + "\n";
  EXPECT_THAT(sentences, HasSubstr("its blob is missing"));
  EXPECT_THAT(sentences, HasSubstr("the blob is damaged"));
}

// A server whose disk is what the test says.
class FullDisk : public ServerTest {
 protected:
  void SetUp() override {
    disk_ = [this] { return DiskRoom{std::int64_t{100} << 30, free_.load()}; };
    start();
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
    submit(small_specification());
  }
  void set_free(std::int64_t mebibytes) {
    free_ = mebibytes << 20;
    server_->look_at_disk();
  }
  std::string server_state() {
    v1::Server out;
    EXPECT_TRUE(catalog_->GetServer(deadline().get(), {}, &out).ok());
    return out.state();
  }

  std::atomic<std::int64_t> free_{std::int64_t{50} << 30};
  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(FullDisk, RefusesNewWorkFirstThenPointsWithARetryHintAndRecovers) {
  const auto work = worker_->acquire();
  ASSERT_TRUE(work);
  EXPECT_EQ(server_state(), "ok");

  set_free(1000);  // low
  EXPECT_EQ(server_state(), "disk-low");
  v1::CreateExperimentRequest create;
  create.set_spec_json(small_specification({{"name", "more"}}).dump());
  v1::CreateExperimentResponse created;
  const grpc::Status refused = experiments_->CreateExperiment(deadline().get(), create, &created);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(wire_error(refused).reason, "DISK_FULL");
  const HttpAnswer page =
      http().post("/api/v1/experiments", Json{{"spec_json", small_specification({{"name", "more"}}).dump()}}.dump());
  EXPECT_EQ(page.status, 429);
  EXPECT_EQ(page.headers.at("retry-after"), "10");
  EXPECT_FALSE(worker_->acquire()) << "nothing new is granted";
  EXPECT_EQ(worker_->report(*work, "loss", "train", {1}).acked_seq(), 1) << "what runs goes on";

  set_free(100);  // full
  EXPECT_EQ(server_state(), "disk-full");
  const grpc::Status points = worker_->try_report(*work, {2}, 2);
  EXPECT_EQ(points.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(wire_error(points).reason, "DISK_FULL");
  EXPECT_THAT(points.error_details(), HasSubstr("RetryInfo"));
  grpc::Status upload;
  worker_->upload("weights", &upload);
  EXPECT_EQ(wire_error(upload).reason, "DISK_FULL");
  EXPECT_EQ(experiment("small").state(), "active") << "reading goes on";

  set_free(50'000);
  EXPECT_EQ(server_state(), "ok");
  EXPECT_EQ(worker_->report(*work, "loss", "train", {1, 2}).acked_seq(), 2) << "nothing was lost";
  EXPECT_TRUE(worker_->acquire());
  EXPECT_TRUE(experiments_->CreateExperiment(deadline().get(), create, &created).ok());
}

}  // namespace
}  // namespace locus::test
