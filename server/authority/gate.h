// The one place where it is decided whether a call is answered: role, ownership, how often; and where the audit hears
// of it.
#pragma once

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/identity/limiter.h"
#include "core/ports/store.h"
#include "server/authority/caller.h"
#include "server/authority/credentials.h"
#include "server/authority/ownership.h"
#include "server/authority/places.h"

namespace locus::server {

// Thread-safe; blocks on the store. Both must outlive it.
class Gate {
 public:
  // `asks`: callers must show who they are. Without it everyone is the local administrator.
  Gate(Store& store, Clock& clock, bool asks)
      : store_(store), clock_(clock), asks_(asks), credentials_(store, clock), ownership_(store) {}

  bool asks() const { return asks_; }
  Credentials& credentials() { return credentials_; }

  // PERMISSION_DENIED (NOT_PERMITTED) unless the role may make the call; UNAUTHENTICATED for nobody. The audit hears of
  // it.
  absl::Status permit(const Principal& who, const RpcRule& rule);
  // The whole question: role, rate, and what the request is about. RESOURCE_EXHAUSTED (RATE_LIMITED).
  absl::Status admit(const Caller& caller, const google::protobuf::Message& request);
  // Counts a call that lasts among what its caller has under way, as long as what is returned is kept. Null where nobody
  // is counted. RESOURCE_EXHAUSTED (RATE_LIMITED).
  absl::StatusOr<HeldPlace> hold(const Principal& who, const RpcRule& rule);
  // As admit, but how often: for the messages of a stream.
  absl::Status admit_message(const Caller& caller, const google::protobuf::Message& request);
  // Writes the row of a refusal that concerns who called, not what was asked; nothing where nobody is asked. Of more than
  // a hundred a minute of one caller, every hundredth.
  void note_refusal(const Caller& caller, const absl::Status& refused);
  // Once the call has ended: writes the row that it has not written itself. OK, or why it could not.
  absl::Status finish(const Caller& caller, const absl::Status& outcome);

 private:
  absl::Status limit(const Principal& who, const RpcRule& rule);
  void record(const Caller* caller, const Principal& who, const RpcRule& rule, const absl::Status& refused);

  Store& store_;
  Clock& clock_;
  const bool asks_;
  Credentials credentials_;
  OwnershipCheck ownership_;
  Places places_;
  absl::Mutex mutex_;
  TokenBuckets reads_ ABSL_GUARDED_BY(mutex_){{200, 400}}, writes_ ABSL_GUARDED_BY(mutex_){{20, 100}};
  TokenBuckets recorded_ ABSL_GUARDED_BY(mutex_){{100.0 / 60, 100}};  // refusals in the audit, by principal
  std::int64_t unrecorded_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server
