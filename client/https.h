// One request over HTTPS to a server that is known by a fingerprint.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

struct HttpsAddress {
  std::string host, port;
};
// "https://HOST:PORT". INVALID_ARGUMENT for any other form; `field` is how the user gives it.
absl::StatusOr<HttpsAddress> parse_https(const std::string& url, const std::string& field);

struct HttpsAnswer {
  int status = 0;
  std::string body;
};
// Posts JSON, but only to a server that shows the certificate of `fingerprint` (core/certificates/check.h), and waits for
// the answer, at most `limit` in all. UNAVAILABLE (SERVER_UNAVAILABLE) when there is none. Blocks; thread-safe.
absl::StatusOr<HttpsAnswer> post_over_https(const HttpsAddress& address, const std::string& fingerprint,
                                            const std::string& target, const std::string& json,
                                            std::chrono::milliseconds limit);

}  // namespace locus
