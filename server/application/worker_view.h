// Workers as people see them, and their drains.
#pragma once

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"
#include "locus/v1/worker_service.pb.h"
#include "server/authority/caller.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// Thread-safe; blocks on the store and on the strand. Everything given must outlive it.
class WorkerViews {
 public:
  WorkerViews(Store& store, Coordinator& coordinator, Clock& clock)
      : store_(store), coordinator_(coordinator), clock_(clock) {}

  absl::StatusOr<v1::ListWorkersResponse> list(bool all);
  absl::StatusOr<v1::WorkerDetail> get(const std::string& name);                                  // WORKER_NOT_FOUND
  absl::StatusOr<v1::Worker> drain(const v1::DrainWorkerRequest& request, const Caller& caller);  // likewise
  absl::StatusOr<v1::Worker> undrain(const v1::UndrainWorkerRequest& request, const Caller& caller);
  absl::StatusOr<v1::Worker> forget(const v1::ForgetWorkerRequest& request, const Caller& caller);

 private:
  struct Live;
  std::map<WorkerId, Live> live_workers();
  absl::Status fill(const WorkerRow& row, const std::map<WorkerId, Live>& connected, v1::Worker* out);
  absl::StatusOr<v1::Worker> one(const std::string& name);
  absl::StatusOr<v1::Worker> set_drain(const std::string& name, Drain to, const std::string& reason, Microseconds from,
                                       const Caller& caller);

  Store& store_;
  Coordinator& coordinator_;
  Clock& clock_;
};

}  // namespace locus::server
