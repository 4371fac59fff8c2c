// Certificates that we sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/certificates/certificate.h"
#include "core/certificates/key.h"

namespace locus {

enum class CertificateUse { kAuthority, kServer, kClient };

// What a certificate is to say.
struct CertificateText {
  CertificateUse use = CertificateUse::kClient;
  std::string subject;                         // common name
  std::vector<std::string> uris;               // alternative names
  std::vector<std::string> hosts;              // likewise: names, or IP addresses as text
  std::int64_t not_before = 0, not_after = 0;  // seconds since the Unix epoch
};

struct Issuer {
  Certificate certificate;
  PrivateKey key;
};

// An authority for `text`, signed by itself.
absl::StatusOr<Certificate> issue_authority(const CertificateText& text, const PrivateKey& key);
// A certificate for the holder of `key`.
absl::StatusOr<Certificate> issue_for_key(const CertificateText& text, const PrivateKey& key, const Issuer& issuer);
// A certificate for the holder of the key of a request in PEM, of which nothing else is taken. INVALID_ARGUMENT
// (CERTIFICATE_INVALID) when it is no request, was not signed by its own key, or has another key than P-256.
absl::StatusOr<Certificate> issue_for_request(const CertificateText& text, std::string_view request,
                                              const Issuer& issuer);

}  // namespace locus
