// Certificates that tests make: of an authority of their own, with whatever is wrong with them that a test wants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "client/trust.h"
#include "core/certificates/issue.h"

namespace locus::test {

std::int64_t seconds_now();  // since the Unix epoch

// Throws what goes wrong.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Test authority");
  // Signs with what another authority has.
  explicit TestAuthority(Issuer issuer) : issuer_(std::move(issuer)) {}

  struct Holder {
    std::string key, certificate;  // PEM
    std::string serial;
  };
  Holder server(const std::vector<std::string>& hosts = {"127.0.0.1"}, std::int64_t life = 90 * 86'400) const;
  Holder client(const std::vector<std::string>& uris) const;
  // Anything; `text.not_before` and `not_after` count from now.
  Holder holder(CertificateText text) const;
  std::string pem() const { return issuer_.certificate.pem(); }

 private:
  Issuer issuer_;
};

void write_file(const std::filesystem::path& path, const std::string& text);
// Puts the holder's files and `authority` into the folder, which is made.
ClientTls write_identity(const std::filesystem::path& folder, const TestAuthority::Holder& holder,
                         const std::string& authority);

}  // namespace locus::test
