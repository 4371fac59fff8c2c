// The one place where an absl::Status becomes what travels: a grpc::Status with google.rpc details, or the
// HTTP error body.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace locus::server {

// google.rpc.Status bytes with ErrorInfo (domain "locus.v1") and, with a field, BadRequest. INTERNAL errors
// are logged with an id that the client sees as metadata "log_id". Thread-safe.
grpc::Status to_grpc_status(const absl::Status& status);

struct HttpError {
  int code = 500;
  std::string body;  // {"error": {...}}, docs/formats/http.md
};
HttpError to_http_error(const absl::Status& status);

}  // namespace locus::server
