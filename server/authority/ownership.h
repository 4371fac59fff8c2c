// Whether what a request is about is the caller's own.
#pragma once

#include <google/protobuf/message.h>

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/identity/limiter.h"
#include "core/identity/principal.h"
#include "core/ports/store.h"
#include "server/authority/rpcs.h"

namespace locus::server {

// Thread-safe; blocks on the store, which must outlive it.
class OwnershipCheck {
 public:
  explicit OwnershipCheck(Store& store) : store_(store) {}

  // PERMISSION_DENIED (NOT_PERMITTED) where it is another's. What does not exist is nobody's: the call itself says so.
  absl::Status check(const Principal& who, const RpcRule& rule, const google::protobuf::Message& request);

 private:
  absl::Status check_session(const Principal& who, const std::string& session);
  absl::Status check_attempt(const Principal& who, const google::protobuf::Message& request);
  absl::Status check_runs_something(const Principal& who);
  absl::StatusOr<std::set<WorkerId>> workers_of(const Principal& who);
  absl::Status check_experiment(const Principal& who, const std::string& name);
  absl::Status check_read(const Principal& who, const std::string& sha256);
  absl::Status check_change(const Principal& who, const std::string& sha256);

  Store& store_;
  absl::Mutex mutex_;
  RecentlyUsed<std::string> workers_ ABSL_GUARDED_BY(mutex_);  // their names, by session and by attempt
};

// PERMISSION_DENIED (NOT_PERMITTED): `what` belongs to `account`.
absl::Status not_own(const Principal& who, const std::string& what, const std::string& account);

}  // namespace locus::server
