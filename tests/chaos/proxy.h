// A gRPC proxy that forwards every call unread and shows what passes: the checker's eyes outside the system, and the faults of
// its network.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace locus::chaos {

// What passes, called from gRPC's threads before it is passed on; `call` is unique and the same for one call.
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void request(const void* call, const std::string& method, const grpc::ByteBuffer& message) = 0;
  virtual void response(const void* call, const std::string& method, const grpc::ByteBuffer& message) = 0;
  virtual void ended(const void* call, const std::string& method, const grpc::Status& status) = 0;
};

// What the network does to what passes.
enum class Weather {
  kClear,
  kCut,     // calls end as UNAVAILABLE, those under way too; what the server has done of them stays done
  kStill,   // nothing arrives, nobody is told; when it clears, everything does
  kLate,    // every message takes a tenth of a second more
  kDoubled  // every request arrives twice
};

// Listens on a free port of loopback until it is destroyed, which cancels what is under way. The server
// behind it may come and go: calls fail with UNAVAILABLE meanwhile.
class Proxy {
 public:
  Proxy(const std::string& target, Tap& tap);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  const std::string& address() const { return address_; }
  void set_weather(Weather weather);  // thread-safe

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace locus::chaos
