// WorkerService on gRPC: what workers say becomes events of the scheduler or points of the store.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/ports/store.h"
#include "locus/v1/worker_service.grpc.pb.h"
#include "server/application/api.h"
#include "server/grpc/point_stream.h"
#include "server/grpc/unary.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// Thread-safe; everything given must outlive it. A long poll and an idle stream hold no thread.
class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  WorkerService(Api& api, Store& store, Coordinator& coordinator, const DiskGuard& disk, WorkPool& pool, Clock& clock,
                std::string version)
      : api_(api),
        store_(store),
        coordinator_(coordinator),
        disk_(disk),
        pool_(pool),
        clock_(clock),
        version_(std::move(version)) {}

  LOCUS_CALLS_OF_WorkerService(LOCUS_DECLARE_CALL) grpc::ServerUnaryReactor* RegisterWorker(
      grpc::CallbackServerContext* context, const v1::RegisterWorkerRequest* request,
      v1::RegisterWorkerResponse* response) override;
  grpc::ServerUnaryReactor* AcquireStage(grpc::CallbackServerContext* context, const v1::AcquireStageRequest* request,
                                         v1::AcquireStageResponse* response) override;
  grpc::ServerUnaryReactor* SyncLeases(grpc::CallbackServerContext* context, const v1::SyncLeasesRequest* request,
                                       v1::SyncLeasesResponse* response) override;
  grpc::ServerBidiReactor<v1::ReportPointsRequest, v1::ReportPointsResponse>* ReportPoints(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* CommitCheckpoint(grpc::CallbackServerContext* context,
                                             const v1::CommitCheckpointRequest* request,
                                             v1::CommitCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* CompleteAttempt(grpc::CallbackServerContext* context,
                                            const v1::CompleteAttemptRequest* request,
                                            v1::CompleteAttemptResponse* response) override;
  grpc::ServerUnaryReactor* ReportLog(grpc::CallbackServerContext* context, const v1::ReportLogRequest* request,
                                      v1::ReportLogResponse* response) override;

  // Ends the open point streams: a stopping server does not wait for them. What was not acknowledged is sent
  // again.
  void close_streams() { streams_.close(); }

 private:
  template <class Request, class Response>
  grpc::ServerUnaryReactor* serve_own(const RpcRule& rule, grpc::CallbackServerContext* context, const Request* request,
                                      Response* response,
                                      absl::StatusOr<Response> (WorkerService::*function)(const Request&));
  absl::StatusOr<v1::CommitCheckpointResponse> commit_checkpoint(const v1::CommitCheckpointRequest& request);
  absl::StatusOr<v1::CompleteAttemptResponse> complete_attempt(const v1::CompleteAttemptRequest& request);
  absl::StatusOr<v1::ReportLogResponse> report_log(const v1::ReportLogRequest& request);
  absl::StatusOr<bool> repeats(const v1::CompleteAttemptRequest& request, AttemptState outcome);

  Api& api_;
  Store& store_;
  Coordinator& coordinator_;
  const DiskGuard& disk_;
  WorkPool& pool_;
  Clock& clock_;
  const std::string version_;
  PointStreams streams_;
};

}  // namespace locus::server
