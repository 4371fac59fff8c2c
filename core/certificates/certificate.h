// An X.509 certificate as a value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/certificates/key.h"

typedef struct x509_st X509;  // NOLINT: OpenSSL's own name, whose headers stay in the sources

namespace locus {

// Immutable; copies share what they hold. Thread-safe.
class Certificate {
 public:
  // Every certificate of a text in PEM, at least one, in its order. INVALID_ARGUMENT (CERTIFICATE_INVALID) otherwise;
  // `what` names it there: "the certificate of --tls-cert".
  static absl::StatusOr<std::vector<Certificate>> read(std::string_view pem, const std::string& what);
  // Shares `certificate`.
  explicit Certificate(X509* certificate);

  std::string pem() const;
  std::string serial() const;              // lower-case hex without leading zeros
  std::string subject() const;             // its common name; may be empty
  std::string fingerprint() const;         // SHA-256 of its DER, 64 hex digits
  std::vector<std::string> uris() const;   // of its subject's alternative names
  std::vector<std::string> names() const;  // likewise: host names and IP addresses
  std::int64_t not_before() const;         // seconds since the Unix epoch
  std::int64_t not_after() const;
  bool is_authority() const;
  bool matches(const PrivateKey& key) const;
  // Whether it was issued for the host, a name or an IP address.
  bool covers(const std::string& host) const;
  X509* get() const { return certificate_.get(); }

 private:
  explicit Certificate(std::shared_ptr<X509> certificate) : certificate_(std::move(certificate)) {}
  std::shared_ptr<X509> certificate_;
};

// All of them in PEM, one after the other.
std::string join_pem(const std::vector<Certificate>& certificates);

}  // namespace locus
