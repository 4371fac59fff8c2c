// A worker that speaks the protocol and trains nothing.
#include "tests/server/support/fake_worker.h"

#include "core/base/ids.h"
#include "core/base/sha256.h"
#include "core/limits.h"

namespace locus::test {
namespace {

constexpr std::int64_t kBestStep = 50;

}  // namespace

FakeWorker::FakeWorker(std::shared_ptr<grpc::Channel> channel, std::string name)
    : session(random_uuid()),
      name_(std::move(name)),
      workers_(v1::WorkerService::NewStub(channel)),
      artifacts_(v1::ArtifactService::NewStub(channel)) {}

grpc::Status FakeWorker::register_with(const std::function<void(v1::RegisterWorkerRequest&)>& change) {
  v1::RegisterWorkerRequest request;
  request.set_name(name_);
  request.set_session(session);
  request.set_protocol_version(kProtocolVersion);
  request.set_host("host");
  request.set_version("test");
  auto* slot = request.add_slots();
  slot->set_device("cpu");
  slot->set_threads(1);
  const Catalog catalog = test_catalog();
  for (const auto& [item, revision] : catalog.revisions()) (*request.mutable_revisions())[item] = revision;
  request.set_catalog_digest(catalog.digest());
  if (change) change(request);
  v1::RegisterWorkerResponse response;
  return workers_->RegisterWorker(deadline().get(), request, &response);
}

std::optional<Assigned> FakeWorker::acquire(std::chrono::milliseconds wait, grpc::Status* status) {
  v1::AcquireStageRequest request;
  request.set_session(session);
  request.set_request_id(name_ + "-" + std::to_string(++requests_));
  for (const int slot : free_slots) request.add_free_slots(slot);
  request.mutable_wait_duration()->set_seconds(wait.count() / 1000);
  request.mutable_wait_duration()->set_nanos(static_cast<int>(wait.count() % 1000 * 1'000'000));
  v1::AcquireStageResponse response;
  const grpc::Status answered = workers_->AcquireStage(deadline(30).get(), request, &response);
  if (status != nullptr) *status = answered;
  if (!answered.ok() || !response.has_grant()) return std::nullopt;
  Assigned out;
  out.grant = response.grant();
  out.config = Json::parse(out.grant.config_json());
  for (const Json& prior : out.config["priors"])
    out.prior += (out.prior.empty() ? "" : "+") + prior["id"].get<std::string>();
  out.seed = out.config["seed"].get<std::int64_t>();
  return out;
}

grpc::Status FakeWorker::sync(const std::vector<v1::HeldAttempt>& held, v1::SyncLeasesResponse* response) {
  v1::SyncLeasesRequest request;
  request.set_session(session);
  for (const auto& item : held) *request.add_held() = item;
  return workers_->SyncLeases(deadline().get(), request, response);
}

v1::ReportPointsRequest FakeWorker::batch(const Assigned& work, const std::string& metric, const std::string& split,
                                          const std::vector<double>& values, std::int64_t first_seq) const {
  v1::ReportPointsRequest request;
  request.set_session(session);
  request.set_stage(work.grant.stage());
  request.set_attempt(work.grant.attempt());
  request.set_first_seq(first_seq);
  auto* points = request.mutable_points();
  auto* key = points->add_series();
  key->set_metric(metric);
  key->set_split(split);
  for (std::size_t i = 0; i < values.size(); ++i) {
    points->add_series_index(0);
    points->add_step(10 * (first_seq + static_cast<std::int64_t>(i)));
    points->add_epoch(0.1);
    points->add_images(320);
    points->add_time_us(1);
    points->add_value(values[i]);
  }
  return request;
}

v1::ReportPointsResponse FakeWorker::report(const Assigned& work, const std::string& metric, const std::string& split,
                                            const std::vector<double>& values, std::int64_t first_seq,
                                            const std::string& labels) {
  v1::ReportPointsRequest request = batch(work, metric, split, values, first_seq);
  request.mutable_points()->mutable_series(0)->set_labels(labels);
  const auto context = deadline();
  auto stream = workers_->ReportPoints(context.get());
  v1::ReportPointsResponse response;
  EXPECT_TRUE(stream->Write(request));
  EXPECT_TRUE(stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  return response;
}

std::string FakeWorker::upload(const std::string& bytes, grpc::Status* status) {
  const std::string digest = sha256_hex(bytes);
  v1::UploadArtifactResponse response;
  const auto context = deadline();
  auto stream = artifacts_->UploadArtifact(context.get(), &response);
  v1::UploadArtifactRequest request;
  request.mutable_header()->set_sha256(digest);
  request.mutable_header()->set_bytes(static_cast<std::int64_t>(bytes.size()));
  request.mutable_header()->set_kind("checkpoint");
  stream->Write(request);
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    v1::UploadArtifactRequest chunk;
    chunk.set_chunk(bytes.substr(at, kChunkBytes));
    if (!stream->Write(chunk)) break;
  }
  stream->WritesDone();
  const grpc::Status finished = stream->Finish();
  if (status != nullptr) *status = finished;
  EXPECT_TRUE(status != nullptr || finished.ok()) << finished.error_message();
  return digest;
}

grpc::Status FakeWorker::commit_checkpoint(const Assigned& work, std::int64_t step, const std::string& sha256,
                                           bool best) {
  v1::CommitCheckpointRequest request;
  request.set_best(best);
  request.set_session(session);
  request.set_stage(work.grant.stage());
  request.set_attempt(work.grant.attempt());
  request.set_step(step);
  request.set_sha256(sha256);
  v1::CommitCheckpointResponse response;
  return workers_->CommitCheckpoint(deadline().get(), request, &response);
}

grpc::Status FakeWorker::try_report(const Assigned& work, const std::vector<double>& values, std::int64_t first_seq) {
  const auto context = deadline();
  auto stream = workers_->ReportPoints(context.get());
  stream->Write(batch(work, "loss", "train", values, first_seq));
  v1::ReportPointsResponse response;
  stream->Read(&response);
  stream->WritesDone();
  return stream->Finish();
}

grpc::Status FakeWorker::report_log(const Assigned& work, std::int64_t offset, const std::string& text,
                                    std::int64_t* next) {
  v1::ReportLogRequest request;
  request.set_session(session);
  request.set_stage(work.grant.stage());
  request.set_attempt(work.grant.attempt());
  request.set_offset(offset);
  request.set_text(text);
  v1::ReportLogResponse response;
  const grpc::Status status = workers_->ReportLog(deadline().get(), request, &response);
  if (next != nullptr) *next = response.next_offset();
  return status;
}

grpc::Status FakeWorker::fail(const Assigned& work, const std::string& failure_class, const std::string& reason) {
  return complete(work, [&](v1::CompleteAttemptRequest& request) {
    request.set_outcome("failed");
    request.set_failure_class(failure_class);
    request.set_reason(reason);
  });
}

grpc::Status FakeWorker::complete(const Assigned& work,
                                  const std::function<void(v1::CompleteAttemptRequest&)>& change) {
  v1::CompleteAttemptRequest request;
  request.set_session(session);
  request.set_stage(work.grant.stage());
  request.set_attempt(work.grant.attempt());
  request.set_outcome("succeeded");
  request.set_environment_json(environment);
  request.set_peak_memory_bytes(peak_memory_bytes);
  if (change) change(request);
  v1::CompleteAttemptResponse response;
  return workers_->CompleteAttempt(deadline().get(), request, &response);
}

void FakeWorker::run(const Assigned& work, const Score& score) {
  const std::string& kind = work.grant.kind();
  if (kind == "train") {
    EXPECT_EQ(report(work, "loss", "train", {3.0, 2.0, 1.0 + static_cast<double>(work.seed)}).acked_seq(), 3);
    const double last = score(work.prior, work.seed, 0);
    const bool keeps_best = work.config["stage"]["options"].contains("keep_best");
    const std::int64_t last_step = keeps_best ? 60 : 30;
    std::string best;
    if (keeps_best) {
      EXPECT_EQ(report(work, "top1", "validation", {last - 20, last + best_gain, last}, 4).acked_seq(), 6);
      best = upload("best weights of " + work.prior + " " + std::to_string(work.seed));
      EXPECT_TRUE(commit_checkpoint(work, kBestStep, best, /*best=*/true).ok());
    }
    const std::string digest = upload("weights of " + work.prior + " " + std::to_string(work.seed));
    EXPECT_TRUE(commit_checkpoint(work, last_step, digest).ok());
    const grpc::Status status = complete(work, [&](v1::CompleteAttemptRequest& request) {
      request.set_last_seq(keeps_best ? 6 : 3);
      *request.add_results() = result("top1", "validation", "", last);
      *request.add_results() = result("parameters", "", "", work.prior == "none" ? 1000 : 1200);
      *request.add_results() = result("ms_per_step", "", "", 10.0 + static_cast<double>(work.seed));
      auto* output = request.add_outputs();
      output->set_slot("checkpoint");
      output->set_sha256(digest);
      output->set_step(last_step);
      if (!keeps_best) return;
      output = request.add_outputs();
      output->set_slot("best-checkpoint");
      output->set_sha256(best);
      output->set_step(kBestStep);
    });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return;
  }
  const std::string which = work.config["stage"]["options"].value("checkpoint", "last");
  EXPECT_EQ(work.grant.inputs().count(which == "best" ? "best-checkpoint" : "checkpoint"), 1u);
  const grpc::Status status = complete(work, [&](v1::CompleteAttemptRequest& request) {
    for (const Json& resolution : work.config["stage"]["options"]["resolution"]) {
      const int pixels = resolution.get<int>();
      const double value = score(work.prior, work.seed, pixels) + (which == "best" ? best_gain : 0);
      auto* made = request.add_results();
      *made = result("top1", "test", Json{{"resolution", pixels}}.dump(), value);
      made->set_reducer(which);
    }
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
}

int FakeWorker::run_all(const Score& score) {
  int ran = 0;
  while (const auto work = acquire()) {
    run(*work, score);
    ++ran;
  }
  return ran;
}

v1::Result result(const std::string& metric, const std::string& split, const std::string& labels, double value) {
  v1::Result out;
  out.mutable_key()->set_metric(metric);
  out.mutable_key()->set_split(split);
  out.mutable_key()->set_labels(labels);
  out.set_reducer("last");
  out.set_value(value);
  out.set_step(30);
  return out;
}

}  // namespace locus::test
