// The HTTP listener: JSON, event stream and dashboard on one port, asynchronously.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/application/api.h"
#include "server/http/guard.h"
#include "server/http/metrics.h"
#include "server/http/routes.h"
#include "server/http/static_files.h"
#include "server/http/tls_contexts.h"
#include "server/runtime/event_feed.h"
#include "server/runtime/work_pool.h"
#include "server/tls/address_book.h"

namespace locus::server {

struct HttpLimits {
  int connections = 256, streams = 64;
  std::uint32_t header_bytes = 8192;
  std::uint64_t body_bytes = 4 << 20;
};

// Everything a session needs; all referred to outlive the listener.
struct HttpContext {
  Api& api;
  EventFeed& feed;
  WorkPool& pool;
  const Guard& guard;
  const Routes& routes;
  StaticFiles& files;
  Metrics& metrics;
  std::string openapi;          // the document as text
  std::function<bool()> ready;  // for /readyz; thread-safe
  HttpLimits limits = {};
  TlsContexts* tls = nullptr;                 // null: plain
  std::function<std::string()> trouble = {};  // what /readyz adds; thread-safe
  ConnectionLimits each_address = {};
};

// Thread-safe. Sessions run on the one thread of `io`; what blocks runs on the pool.
class HttpServer {
 public:
  // Binds and accepts. UNAVAILABLE (PORT_IN_USE) naming the address when it is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(boost::asio::io_context& io, HttpContext context,
                                                           const std::string& host, int port);
  ~HttpServer();
  int port() const;
  // Accepts no more, ends event streams and idle connections; answers under way are still sent.
  void stop();

 private:
  class Listener;
  explicit HttpServer(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  std::shared_ptr<Listener> listener_;
};

}  // namespace locus::server
