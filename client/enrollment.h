// Getting a certificate for this machine or person, and keeping it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "client/trust.h"

namespace locus {

class Client;

// What a folder of enrollment holds beside the files of tls_in(), which are not there with a token.
struct Enrollment {
  std::string server;  // HOST:PORT of gRPC
  std::string role, name;
  std::string token = {};  // shown instead of a certificate, to a server on this machine
};

// Trades the token of an invitation for a certificate: makes a key, asks the server at `url` (https://HOST:PORT) and puts
// key (0600), certificate, the server's authority and what they are for into `folder`, which is made. What was there is
// replaced. INVALID_ARGUMENT for a token or address of another form; PERMISSION_DENIED (CERTIFICATE_INVALID) when the
// server is not the token's; else what the server says. Blocks, some seconds at most.
absl::StatusOr<Enrollment> enroll(const std::string& url, const std::string& token,
                                  const std::filesystem::path& folder);

// Asks the server at `address` (HOST:PORT of gRPC, on this machine) whose the token is, and puts that, token and address into
// `folder`, readable by its user alone. UNAUTHENTICATED for a token that is not in force there. Blocks.
absl::StatusOr<Enrollment> keep_token(const std::string& address, const std::string& token,
                                      const std::filesystem::path& folder);

// What `folder` was enrolled as. NOT_FOUND (CERTIFICATE_INVALID) when it was not.
absl::StatusOr<Enrollment> read_enrollment(const std::filesystem::path& folder);

// Whether two thirds of the certificate's life are over at `now`, seconds since the Unix epoch.
absl::StatusOr<bool> renewal_due(const ClientTls& tls, std::int64_t now);
// Asks, with the certificate there, for another one for the same key, and puts it and the server's authorities in place.
absl::Status renew(Client& client, const ClientTls& tls);

}  // namespace locus
