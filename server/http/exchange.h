// One request and its answer, without Beast: what routes and files are written and tested with.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::server {

inline constexpr std::chrono::seconds kWriteTimeout{30};  // a reader that takes longer for one message is gone

struct HttpRequest {
  std::string method;                                       // "GET", "HEAD", "POST"
  std::string path;                                         // decoded; starts with "/"
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in order
  std::map<std::string, std::vector<std::string>> headers;  // by lower-case name
  std::string body;
  std::string address;  // of the other end, without port

  // The only value of a header; empty when absent or given more than once.
  std::string header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string cache_control = "no-store";
  std::string allow;        // with 405
  std::string retry_after;  // seconds, where the error knows
  std::string set_cookie;
  // Set for an answer that comes in pieces: `body` is the first, this gives the others, empty at the end; an
  // error breaks the connection. Blocks: called on the work pool, by one thread at a time.
  std::function<absl::StatusOr<std::string>()> more = {};
};

// Splits and decodes a request target. INVALID_ARGUMENT for bad percent escapes, control characters or a form
// other than "/...".
absl::Status parse_target(std::string_view target, HttpRequest* request);

// The JSON error body under another HTTP code than the status implies (405, 413, 415).
HttpResponse error_response(const absl::Status& status, int code = 0);

}  // namespace locus::server
