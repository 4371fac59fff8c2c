// A private key as a value.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

typedef struct evp_pkey_st EVP_PKEY;  // NOLINT: OpenSSL's own name, whose headers stay in the sources

namespace locus {

// Immutable; copies share the key. Thread-safe.
class PrivateKey {
 public:
  // A new one on the curve P-256. INTERNAL when the system gives no randomness.
  static absl::StatusOr<PrivateKey> make();
  // INVALID_ARGUMENT (CERTIFICATE_INVALID) for anything but one key in PEM without a passphrase; `what` names it there:
  // "the key of --tls-key".
  static absl::StatusOr<PrivateKey> read(std::string_view pem, const std::string& what);

  std::string pem() const;  // PKCS 8
  // A certificate request for it, in PEM, whose subject is `name`; whoever signs decides what the certificate says.
  absl::StatusOr<std::string> request(const std::string& name) const;
  EVP_PKEY* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<EVP_PKEY> key) : key_(std::move(key)) {}
  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace locus
