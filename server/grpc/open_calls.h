// Calls under way by what their callers showed, so that none outlasts it: the processor that judges a caller is asked at
// the start of a call alone.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/identity/limiter.h"

namespace locus::server {

// Thread-safe. Must outlive the server.
class OpenCalls {
 public:
  // Cancels every call under way whose caller showed that credential, "certificates/SERIAL" or "tokens/ID", and any that
  // was let in before and is only about to begin; the caller is told CANCELLED.
  void end(const std::string& credential);
  // Likewise every call whose caller showed something that has run out at `now`, by the wall clock.
  void end_expired(Microseconds now);
  // What a server is built with so that its calls are known here.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> watcher();

 private:
  class Watch;
  class Factory;
  using Context = grpc::ServerContextBase;
  // What the processor found of a call (principal_of.h).
  struct Shown {
    std::vector<std::string> credentials;
    Microseconds expires_us = 0;  // 0: never
  };
  void cancel_where(const std::function<bool(const Shown&)>& ends);

  std::recursive_mutex mutex_;
  std::map<Context*, Shown> open_;
  RecentlyUsed<bool> ended_;  // credentials: a call may have been let in before one ended and be registered after
};

}  // namespace locus::server
