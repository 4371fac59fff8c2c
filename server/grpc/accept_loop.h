// Our own accept loop: gRPC 1.51's never accepts again once it ran out of descriptors, and counts nobody.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/fd.h"
#include "server/tls/address_book.h"

namespace locus::server {

struct AcceptCounts {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;  // by the limits
  std::int64_t shed = 0;     // for want of a descriptor
};

// Thread-safe. Connections are accepted on one thread of its own.
class AcceptLoop {
 public:
  // Listens, but accepts nothing yet. UNAVAILABLE (PORT_IN_USE) when another socket listens there; `option` is how the
  // user gives the address. Port 0: any free one.
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> bind(const std::string& host, int port, const std::string& option,
                                                          ConnectionLimits limits = {});
  ~AcceptLoop();  // stop()

  int port() const;
  // `take` owns what it is given: a connected socket that does not block. It must not block either.
  void start(std::function<void(Fd socket)> take);
  // Listens no more; no `take` runs when it returns, or will. Idempotent.
  void stop();
  AcceptCounts counts() const;
  // Whether it takes a connection of our own, which ends at once, within `limit`. Blocks.
  bool answers(std::chrono::milliseconds limit) const;

 private:
  class Impl;
  explicit AcceptLoop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace locus::server
