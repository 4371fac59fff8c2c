// What waits for a device, and for how long it would keep one, as those ask who start machines.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "locus/v1/worker_service.pb.h"
#include "server/application/catalogs.h"
#include "server/runtime/coordinator.h"

namespace locus::server {

// Thread-safe; blocks on the store and on the strand. Everything given must outlive it.
class DemandDesk {
 public:
  DemandDesk(Store& store, const Catalogs& catalogs, Coordinator& coordinator, Clock& clock)
      : store_(store), catalogs_(catalogs), coordinator_(coordinator), clock_(clock) {}

  // By what is asked of a worker, what has waited longest first.
  absl::StatusOr<v1::Demand> get();
  // Lets the scheduler know how long what waits and what runs would take, where it goes by that (Scheduler::
  // goes_by_estimates); does nothing otherwise.
  absl::Status tell_scheduler();

 private:
  // Of a whole stage by those that ran; `seconds` is absent where none tells.
  struct Expected {
    std::optional<double> seconds;
    double units = 0;  // steps of a training; 0: not counted
  };
  void forget_old_estimates();
  absl::Status estimate(const std::vector<StageSpan>& stages, const Fleet& fleet);
  std::optional<double> seconds_of(const StageSpan& span) const;  // from where it begins to where it is wanted

  Store& store_;
  const Catalogs& catalogs_;
  Coordinator& coordinator_;
  Clock& clock_;
  std::mutex mutex_;  // one look at a time
  std::unordered_map<StageId, Expected> expected_;
  Microseconds estimated_ = 0;  // steady; when the oldest of these was made
};

}  // namespace locus::server
