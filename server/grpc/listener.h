// Where gRPC is served: our accept loop in front of a server of gRPC, with or without TLS.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/grpc/accept_loop.h"
#include "server/grpc/open_calls.h"

namespace locus::server {

struct GrpcListenOptions {
  std::string host;
  int port = 0;
  std::filesystem::path tls = {};  // folder of published files (server/tls/published.h); empty: plain, for loopback
  // Asked at the start of each call; absent: everyone who comes this far may call everything.
  std::shared_ptr<grpc::AuthMetadataProcessor> processor = {};
  OpenCalls* calls = nullptr;  // with a processor; must outlive the listener
  ConnectionLimits limits = {};
};

// Thread-safe.
class GrpcListener {
 public:
  // Binds and serves. UNAVAILABLE (PORT_IN_USE) when the address is taken. `services` must outlive it.
  static absl::StatusOr<std::unique_ptr<GrpcListener>> start(const std::vector<grpc::Service*>& services,
                                                             GrpcListenOptions options);
  ~GrpcListener();  // stop() without waiting

  int port() const { return loop_->port(); }
  void set_serving(bool serving);  // what health checks are told
  // Whether a connection of our own is answered: with TLS it is accepted, without it is told the health.
  bool answers() const;
  AcceptCounts counts() const { return loop_->counts(); }
  // Accepts no more; calls that still run after `wait` are cancelled. Idempotent.
  void stop(std::chrono::seconds wait);

 private:
  GrpcListener(GrpcListenOptions options, std::unique_ptr<AcceptLoop> loop)
      : options_(std::move(options)), loop_(std::move(loop)) {}

  const GrpcListenOptions options_;
  const std::unique_ptr<AcceptLoop> loop_;
  // Outlives the server, which it belongs to only in part.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace locus::server
