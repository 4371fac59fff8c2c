// A POST of our own, to tell somebody something.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"

namespace locus::server {

struct PlainUrl {
  std::string host, port, target;
};
// INVALID_ARGUMENT unless "http://HOST[:PORT][/PATH]"; https is refused with what to do instead.
absl::StatusOr<PlainUrl> parse_plain_url(const std::string& url, const std::string& field);

// Sends JSON and waits for the answer, at most `limit` in all. OK for a status of 2xx; UNAVAILABLE saying what
// came instead. Blocks; thread-safe.
absl::Status post_json(const PlainUrl& url, const std::string& json, std::chrono::milliseconds limit);

}  // namespace locus::server
