// Where to listen: parsing, and the rule that nothing but loopback is served without TLS.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace locus::server {

struct Address {
  std::string host;          // as given: "127.0.0.1", "::1", "localhost"
  int port = 0;              // 0: any free one
  std::string text() const;  // "127.0.0.1:7171", "[::1]:7171"
};

// INVALID_ARGUMENT for another form than HOST:PORT; `option` is how the user gives it ("--grpc-address").
absl::StatusOr<Address> parse_address(const std::string& text, const std::string& option);

bool is_loopback(const Address& address);
// FAILED_PRECONDITION (ADDRESS_REFUSED) unless the host is a loopback address: nothing else is served without TLS.
absl::Status require_loopback(const Address& address, const std::string& option);

// UNAVAILABLE (PORT_IN_USE) when another socket listens there; OK when it is free. Binds and lets go.
absl::Status require_free(const Address& address, const std::string& option);

}  // namespace locus::server
