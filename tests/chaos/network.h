// The network between the two sides of a proxy, and what its weather does to messages.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/chaos/proxy.h"

namespace locus::chaos {

// Thread-safe. Everything handed to it runs before it is destroyed, if only for the call to learn that it is over.
class Network {
 public:
  using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

  ~Network() { set_weather(Weather::kClear); }
  void set_weather(Weather weather);
  Weather weather() const;

  // Runs `deliver` at once, later or when it clears.
  void pass(std::function<void()> deliver);
  // A call that ends when the network is cut; false where it is, and the call must not begin.
  bool begin(const void* call, std::function<void()> cut);
  void end(const void* call);
  // Sends a unary request once more, beside the call it is of; nobody hears the answer.
  static void send_again(Stub& stub, const std::string& method, const grpc::ByteBuffer& request,
                         std::chrono::system_clock::time_point deadline);

 private:
  mutable std::mutex mutex_;
  Weather weather_ = Weather::kClear;
  std::vector<std::function<void()>> held_;
  std::map<const void*, std::function<void()>> calls_;
};

}  // namespace locus::chaos
