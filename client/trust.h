// How a client shows who it is, and whom it believes to be the server.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
}

namespace locus {

// Files in PEM. They may be replaced while a client lives: its next connections use the new ones.
struct ClientTls {
  std::filesystem::path key, certificate;  // this client's own
  std::filesystem::path authority;         // of the server's certificate

  bool wanted() const { return !key.empty() || !certificate.empty() || !authority.empty(); }
};
// The three files where `locus login` and enrolled workers keep them.
ClientTls tls_in(const std::filesystem::path& folder);

// Plain unless TLS is wanted. INVALID_ARGUMENT (CERTIFICATE_INVALID) naming the file that is missing, no key or
// certificate, or does not belong to the others.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(const ClientTls& tls);

// What gRPC's words for a connection that failed mean, with the remedy; empty where they speak for themselves. `found` is
// what it said.
std::string explain_connection(const ClientTls& tls, const std::string& address, const std::string& found);

}  // namespace locus
