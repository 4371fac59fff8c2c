// Calls under way by the certificate of their caller, so that revoking it ends them: the processor that judges a caller
// is asked at the start of a call alone.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace locus::server {

// The property of a connection's auth context that holds the serial of its certificate (peer.h).
inline constexpr char kSerialProperty[] = "locus_serial";

// Thread-safe. Must outlive the server.
class OpenCalls {
 public:
  // Cancels every call under way of that certificate; the caller is told CANCELLED.
  void end(const std::string& serial);
  // What a server is built with so that its calls are known here.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> watcher();

 private:
  class Watch;
  class Factory;
  using Context = grpc::ServerContextBase;

  std::recursive_mutex mutex_;
  std::map<std::string, std::set<Context*>> open_;
};

}  // namespace locus::server
