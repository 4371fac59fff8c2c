// From the wire's errors back to ours.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/trust.h"

namespace grpc {
class Status;
}

namespace locus {

// The status with its ErrorDetail, restored from google.rpc.ErrorInfo and BadRequest. An UNAVAILABLE without
// details comes from the transport: SERVER_UNAVAILABLE, naming `address` and how to start a server. Likewise
// a deadline that passed, and a connection that broke.
absl::Status from_wire(const grpc::Status& status, const std::string& address, const ClientTls& tls = {});

// Whether the server could not be reached or cannot be asked now: UNAVAILABLE, or what gRPC says where a connection broke because
// bytes changed on the way.
bool worth_retrying(const grpc::Status& status);

// How long the server asks to wait before the next try (google.rpc.RetryInfo), if it does.
std::optional<std::chrono::microseconds> retry_delay(const grpc::Status& status);

}  // namespace locus
