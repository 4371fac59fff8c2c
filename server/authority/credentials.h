// What callers show, as principals: tokens, sessions of browsers, certificates.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/identity/limiter.h"
#include "core/identity/principal.h"
#include "core/ports/store.h"

namespace locus::server {

// Thread-safe; blocks on the store. Both must outlive it. Every refusal is UNAUTHENTICATED (NOT_AUTHENTICATED) and says
// the same of a token that is unknown and one with a wrong secret; or RESOURCE_EXHAUSTED (RATE_LIMITED) for an address
// that has failed too often, or a token whose secret was guessed at.
class Credentials {
 public:
  Credentials(Store& store, Clock& clock) : store_(store), clock_(clock) {}

  absl::StatusOr<Principal> by_token(const std::string& token, const std::string& address);
  // A session goes on by its use, and ends where it is used from another address than it began at.
  absl::StatusOr<Principal> by_session(const std::string& secret, const std::string& address);
  absl::StatusOr<Principal> by_certificate(const SpiffeName& name, const std::string& serial,
                                           const std::string& address);

  // With an authority elsewhere: certificates that this server has not issued are taken at their word. Call it before others see this.
  void take_foreign_certificates() { foreign_ = true; }

  // Begins a session with a token; returns its secret. The audit has a row of it, and of a failure.
  absl::StatusOr<std::string> log_in(const std::string& token, const std::string& address);
  // Ends it; no error where there is none.
  absl::Status log_out(const std::string& secret, const std::string& address);

 private:
  absl::StatusOr<Principal> check_token(const std::string& token, const std::string& address);
  absl::Status failed(const std::string& id, const std::string& address);
  absl::Status append(const Mutation& mutation);
  absl::StatusOr<Principal> principal_of(const TokenRow& token, Via via, const std::string& address);

  Store& store_;
  bool foreign_ = false;
  Clock& clock_;
  absl::Mutex mutex_;
  TokenBuckets failures_ ABSL_GUARDED_BY(mutex_){{10.0 / 60, 10}};  // by address
  Lockouts lockouts_ ABSL_GUARDED_BY(mutex_);                       // by token
};

// RESOURCE_EXHAUSTED (RATE_LIMITED): ask again after so long.
absl::Status too_often(const std::string& what, Microseconds wait);

}  // namespace locus::server
