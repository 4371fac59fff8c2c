// Whether files of keys and certificates can be used, before anybody is shown them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/certificates/certificate.h"

namespace locus {

// What a server shows and trusts, each in PEM.
struct CertificateSet {
  std::string key;
  std::string chain;    // its certificate, then those between it and its authority
  std::string anchors;  // authorities of clients; empty: none asked
  bool operator==(const CertificateSet&) const = default;
};

struct CheckedSet {
  CertificateSet set;
  std::int64_t not_after = 0;  // seconds since the Unix epoch, of the server's certificate
  std::string fingerprint;     // of the last certificate of its chain: what enrolling clients compare
};

// INVALID_ARGUMENT (CERTIFICATE_INVALID), saying which file and what of it, unless all of them parse, key and
// certificate belong together, the certificate is valid at `now` and for servers, covers every one of `hosts`, and its
// chain leads to `roots` (PEM; where empty, to the last certificate of the chain itself), and the anchors are valid
// authorities.
absl::StatusOr<CheckedSet> check_server_set(const CertificateSet& set, const std::vector<std::string>& hosts,
                                            const std::string& roots, std::int64_t now);

// Whether a server shows what a token promised: `chain` leads to a certificate of that fingerprint, is for `host`, and
// valid at `now`. PERMISSION_DENIED (CERTIFICATE_INVALID) otherwise.
absl::Status check_shown_chain(const std::vector<Certificate>& chain, const std::string& fingerprint,
                               const std::string& host, std::int64_t now);

// Why the clock would be the reason that a certificate is refused: a sentence, or empty where `now` is within its life.
std::string clock_trouble(const Certificate& certificate, std::int64_t now);

}  // namespace locus
