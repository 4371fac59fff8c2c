// The fake server's services.
#include "tests/worker/fake_server.h"

#include <grpcpp/server_builder.h>

#include "core/base/sha256.h"
#include "core/limits.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

grpc::Status refuse(grpc::StatusCode code, const std::string& reason, const std::string& message) {
  google::rpc::Status status;
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("locus.v1");
  status.add_details()->PackFrom(info);
  return {code, message, status.SerializeAsString()};
}

}  // namespace

std::int64_t FakeStore::add_stage(const Json& script, std::map<std::string, std::string> inputs,
                                  std::int64_t limit_seconds, bool exclusive) {
  std::lock_guard lock(mutex);
  const auto id = static_cast<std::int64_t>(stages.size()) + 1;
  stages[id].exclusive = exclusive;
  stages[id].config = Json{{"exclusive", exclusive}, {"kind", "train"}, {"script", script}}.dump();
  stages[id].inputs = std::move(inputs);
  stages[id].limit_seconds = limit_seconds;
  changed.notify_all();
  return id;
}

std::int64_t FakeStore::add_gang(Json config, std::size_t devices) {
  std::lock_guard lock(mutex);
  const auto id = static_cast<std::int64_t>(stages.size()) + 1;
  stages[id].config = config.dump();
  stages[id].devices = devices;
  changed.notify_all();
  return id;
}

std::int64_t FakeStore::add_stage_until(const Json& script, std::int64_t until_step) {
  std::lock_guard lock(mutex);
  const auto id = static_cast<std::int64_t>(stages.size()) + 1;
  stages[id].until_step = until_step;
  stages[id].config = Json{{"kind", "train"}, {"script", script}}.dump();
  changed.notify_all();
  return id;
}

void FakeStore::move_stop_point(std::int64_t stage, std::int64_t until_step) {
  std::lock_guard lock(mutex);
  stages.at(stage).until_step = until_step;
  if (stages.at(stage).state == "parked") stages.at(stage).state = "queued";
  changed.notify_all();
}

bool FakeStore::wait(const std::function<bool()>& ready) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, 60s, ready);
}

class FakeServer::Workers final : public v1::WorkerService::Service {
 public:
  explicit Workers(FakeStore& store) : store_(store) {}

  grpc::Status RegisterWorker(grpc::ServerContext*, const v1::RegisterWorkerRequest* request,
                              v1::RegisterWorkerResponse*) override {
    if (request->protocol_version() != kProtocolVersion) {
      return refuse(grpc::StatusCode::FAILED_PRECONDITION, "UNSUPPORTED_VERSION",
                    "the worker speaks protocol " + std::to_string(request->protocol_version()) + ", this server " +
                        std::to_string(kProtocolVersion) + ": update the worker");
    }
    std::lock_guard lock(store_.mutex);
    store_.sessions.insert(request->session());
    ++store_.workers[request->name()];
    ++store_.registrations;
    store_.seconds_left = request->has_time_left() ? static_cast<double>(request->time_left().seconds()) : -1;
    for (const auto& held : request->held()) {
      FakeStage& stage = store_.stages.at(held.stage());
      if (stage.state == "running" && stage.attempt == held.attempt()) stage.session = request->session();
    }
    for (auto& [id, stage] : store_.stages) {  // one worker: what it does not hold has died with an earlier daemon
      if (stage.state == "running" && stage.session != request->session()) stage.state = "queued";
    }
    store_.changed.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status AcquireStage(grpc::ServerContext* context, const v1::AcquireStageRequest* request,
                            v1::AcquireStageResponse* response) override {
    std::unique_lock lock(store_.mutex);
    store_.named.insert(static_cast<std::size_t>(request->free_slots_size()));
    store_.changed.notify_all();
    while (true) {
      if (const auto given = store_.grants.find(request->request_id()); given != store_.grants.end()) {
        *response = given->second;  // its answer was lost
        return grpc::Status::OK;
      }
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      if (!store_.sessions.contains(request->session())) return unknown();
      for (auto& [id, stage] : store_.stages) {
        if (stage.state != "queued") continue;
        if (stage.exclusive && static_cast<std::size_t>(request->free_slots_size()) < store_.slots) continue;
        if (static_cast<std::size_t>(request->free_slots_size()) < stage.devices) continue;
        stage.state = "running";
        stage.session = request->session();
        ++stage.attempt;
        stage.attempts[stage.attempt].resume_step = stage.checkpoint_step;
        auto* grant = response->mutable_grant();
        grant->set_stage(id);
        grant->set_attempt(stage.attempt);
        grant->set_kind("train");
        grant->set_config_json(stage.config);
        for (std::size_t i = 0; i < stage.devices; ++i) grant->add_slots(request->free_slots(static_cast<int>(i)));
        grant->mutable_inputs()->insert(stage.inputs.begin(), stage.inputs.end());
        grant->set_resume_sha256(stage.checkpoint);
        grant->set_resume_step(stage.checkpoint_step);
        grant->set_limit_seconds(stage.limit_seconds);
        grant->set_memory_bytes(store_.memory_bytes);
        grant->set_memory_given(store_.memory_given);
        grant->set_until_step(stage.until_step);
        store_.grants[request->request_id()] = *response;
        store_.changed.notify_all();
        return grpc::Status::OK;
      }
      store_.changed.wait_for(lock, 20ms);
    }
  }

  grpc::Status SyncLeases(grpc::ServerContext*, const v1::SyncLeasesRequest* request,
                          v1::SyncLeasesResponse* response) override {
    std::lock_guard lock(store_.mutex);
    if (!store_.sessions.contains(request->session())) return unknown();
    for (const auto& value : request->sample().values()) store_.samples[0][value.metric()] = value.value();
    for (const auto& held : request->held()) {
      for (const auto& value : held.sample().values()) store_.samples[held.stage()][value.metric()] = value.value();
      auto* wish = response->add_wishes();
      wish->set_stage(held.stage());
      wish->set_attempt(held.attempt());
      FakeStage& stage = store_.stages.at(held.stage());
      stage.phases.insert(held.phase());
      wish->set_wish(stage.attempt == held.attempt() && stage.state == "running" ? stage.wish : v1::WISH_DROP);
      wish->set_until_step(stage.until_step);
    }
    store_.changed.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status ReportPoints(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::ReportPointsResponse, v1::ReportPointsRequest>* stream) override {
    v1::ReportPointsRequest request;
    while (stream->Read(&request)) {
      v1::ReportPointsResponse response;
      response.set_stage(request.stage());
      response.set_attempt(request.attempt());
      {
        std::lock_guard lock(store_.mutex);
        if (!store_.acknowledge) continue;
        store_points(request, response);
        store_.changed.notify_all();
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status CommitCheckpoint(grpc::ServerContext*, const v1::CommitCheckpointRequest* request,
                                v1::CommitCheckpointResponse*) override {
    std::lock_guard lock(store_.mutex);
    FakeStage& stage = store_.stages.at(request->stage());
    if (const auto refused = check(stage, request->session(), request->attempt()); !refused.ok()) return refused;
    if (!store_.artifacts.contains(request->sha256())) {
      return refuse(grpc::StatusCode::NOT_FOUND, "ARTIFACT_NOT_FOUND", "no such artifact");
    }
    if (!store_.commit_checkpoints) {
      store_.refused_checkpoints.push_back(request->step());
      store_.changed.notify_all();
      return refuse(grpc::StatusCode::RESOURCE_EXHAUSTED, "DISK_FULL", "no room");
    }
    const auto& points = stage.attempts[request->attempt()].points;
    if (points.empty() || points.back().step < request->step()) ++store_.early_checkpoints;
    stage.checkpoint = request->sha256();
    stage.checkpoint_step = request->step();
    store_.changed.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status ReportLog(grpc::ServerContext*, const v1::ReportLogRequest* request,
                         v1::ReportLogResponse* response) override {
    std::lock_guard lock(store_.mutex);
    std::string& log = store_.stages.at(request->stage()).attempts[request->attempt()].log;
    const auto have = static_cast<std::int64_t>(log.size());
    if (request->offset() > have) return {grpc::StatusCode::OUT_OF_RANGE, "a gap"};
    log.replace(static_cast<std::size_t>(request->offset()), std::string::npos, request->text());
    response->set_next_offset(static_cast<std::int64_t>(log.size()));
    store_.changed.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status CompleteAttempt(grpc::ServerContext*, const v1::CompleteAttemptRequest* request,
                               v1::CompleteAttemptResponse*) override {
    std::lock_guard lock(store_.mutex);
    FakeStage& stage = store_.stages.at(request->stage());
    if (const auto refused = check(stage, request->session(), request->attempt()); !refused.ok()) return refused;
    FakeAttempt& attempt = stage.attempts[request->attempt()];
    if (static_cast<std::int64_t>(attempt.points.size()) < request->last_seq()) {
      return refuse(grpc::StatusCode::OUT_OF_RANGE, "SEQUENCE_GAP", "points are missing");
    }
    for (const auto& output : request->outputs()) {
      if (!store_.artifacts.contains(output.sha256())) {
        return refuse(grpc::StatusCode::NOT_FOUND, "ARTIFACT_NOT_FOUND", "no such artifact");
      }
    }
    attempt.outcome = *request;
    attempt.log_at_completion = attempt.log;
    attempt.parked_above = stage.checkpoint_step;
    const bool ended = request->outcome() == "succeeded" || request->outcome() == "parked";
    const bool again = !ended && stage.attempt < store_.attempts_at_most;
    stage.state = ended ? request->outcome() : again ? "queued" : "failed";
    stage.wish = v1::WISH_CONTINUE;
    store_.changed.notify_all();
    return grpc::Status::OK;
  }

 private:
  static grpc::Status unknown() { return refuse(grpc::StatusCode::NOT_FOUND, "WORKER_NOT_FOUND", "register again"); }

  grpc::Status check(const FakeStage& stage, const std::string& session, std::int64_t attempt) {
    if (!store_.sessions.contains(session)) return unknown();
    if (stage.attempt == attempt && stage.state == "running") return grpc::Status::OK;
    ++store_.stale_writes;
    return refuse(grpc::StatusCode::ABORTED, "STALE_ATTEMPT", "the token is stale");
  }

  void store_points(const v1::ReportPointsRequest& request, v1::ReportPointsResponse& response) {
    FakeStage& stage = store_.stages.at(request.stage());
    if (stage.attempt != request.attempt() || stage.state != "running") {
      response.set_reason("STALE_ATTEMPT");
      return;
    }
    auto& points = stage.attempts[request.attempt()].points;
    const auto have = static_cast<std::int64_t>(points.size());
    response.set_acked_seq(have);
    if (request.first_seq() > have + 1) {
      response.set_reason("SEQUENCE_GAP");
      return;
    }
    for (int i = 0; i < request.points().value_size(); ++i) {
      if (request.first_seq() + i <= have) continue;
      points.push_back({request.points().step(i), request.points().value(i)});
    }
    response.set_acked_seq(static_cast<std::int64_t>(points.size()));
  }

  FakeStore& store_;
};

class FakeServer::Artifacts final : public v1::ArtifactService::Service {
 public:
  explicit Artifacts(FakeStore& store) : store_(store) {}

  grpc::Status UploadArtifact(grpc::ServerContext*, grpc::ServerReader<v1::UploadArtifactRequest>* reader,
                              v1::UploadArtifactResponse*) override {
    v1::UploadArtifactRequest part;
    reader->Read(&part);
    const std::string digest = part.header().sha256();
    std::string bytes;
    while (reader->Read(&part)) bytes += part.chunk();
    if (sha256_hex(bytes) != digest) return refuse(grpc::StatusCode::DATA_LOSS, "DIGEST_MISMATCH", "other bytes");
    std::lock_guard lock(store_.mutex);
    if (!store_.take_uploads) return refuse(grpc::StatusCode::PERMISSION_DENIED, "NOT_PERMITTED", "runs no attempt");
    store_.artifacts[digest] = bytes;
    store_.changed.notify_all();
    return grpc::Status::OK;
  }
  grpc::Status DownloadArtifact(grpc::ServerContext*, const v1::DownloadArtifactRequest* request,
                                grpc::ServerWriter<v1::DownloadArtifactResponse>* writer) override {
    v1::DownloadArtifactResponse part;
    {
      std::lock_guard lock(store_.mutex);
      store_.downloads.push_back(request->sha256());
      if (!store_.artifacts.contains(request->sha256())) {
        return refuse(grpc::StatusCode::NOT_FOUND, "ARTIFACT_NOT_FOUND", "no such artifact");
      }
      part.set_chunk(store_.artifacts[request->sha256()].substr(static_cast<std::size_t>(request->offset())));
    }
    writer->Write(part);
    return grpc::Status::OK;
  }

 private:
  FakeStore& store_;
};

class FakeServer::Catalogs final : public v1::CatalogService::Service {
 public:
  grpc::Status GetServer(grpc::ServerContext*, const v1::GetServerRequest*, v1::Server*) override {
    return grpc::Status::OK;
  }
};

FakeServer::FakeServer(FakeStore& store) : store_(store) { start(); }
FakeServer::~FakeServer() { stop(); }

void FakeServer::start() {
  workers_ = std::make_unique<Workers>(store_);
  artifacts_ = std::make_unique<Artifacts>(store_);
  catalogs_ = std::make_unique<Catalogs>();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(workers_.get());
  builder.RegisterService(artifacts_.get());
  builder.RegisterService(catalogs_.get());
  server_ = builder.BuildAndStart();
  port_ = port;
}

void FakeServer::stop() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
  std::lock_guard lock(store_.mutex);
  store_.sessions.clear();
}

}  // namespace locus
