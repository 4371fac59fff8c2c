// One ReportPoints stream: a batch is read, stored, acknowledged; then the next.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/ports/store.h"
#include "locus/v1/worker_service.pb.h"
#include "server/grpc/principal_of.h"
#include "server/runtime/coordinator.h"
#include "server/runtime/disk_guard.h"
#include "server/runtime/work_pool.h"

namespace locus::server {

// The streams that are open, so that a stopping server can end them. Thread-safe.
class PointStreams {
 public:
  bool add(grpc::CallbackServerContext* context);  // false: closed
  void remove(grpc::CallbackServerContext* context);
  void close();

 private:
  absl::Mutex mutex_;
  std::set<grpc::CallbackServerContext*> open_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Deletes itself when the stream has ended. Refusals of one attempt (stale token, missing points) are told in
// an answer and the stream goes on, because it carries the points of several attempts; anything else ends it.
class PointStream final : public grpc::ServerBidiReactor<v1::ReportPointsRequest, v1::ReportPointsResponse> {
 public:
  PointStream(Gate& gate, Store& store, Coordinator& coordinator, const DiskGuard& disk, WorkPool& pool, Clock& clock,
              PointStreams& streams, grpc::CallbackServerContext* context);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  void store_batch();
  absl::Status fill(const absl::StatusOr<std::int64_t>& acked);

  Gate& gate_;
  const Principal who_;
  Store& store_;
  Coordinator& coordinator_;
  const DiskGuard& disk_;
  WorkPool& pool_;
  Clock& clock_;
  PointStreams& streams_;
  HeldPlace place_;
  grpc::CallbackServerContext* const context_;
  v1::ReportPointsRequest request_;
  v1::ReportPointsResponse response_;
};

}  // namespace locus::server
