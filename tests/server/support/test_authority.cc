// Certificates that tests make.
#include "tests/server/support/test_authority.h"

#include <chrono>
#include <fstream>

namespace locus::test {
namespace {

constexpr std::int64_t kYear = 365 * 86'400;

Issuer make_issuer(const std::string& name) {
  PrivateKey key = PrivateKey::make().value();
  const CertificateText text{CertificateUse::kAuthority, name, {}, {}, seconds_now() - 2 * kYear,
                             seconds_now() + kYear};
  return {issue_authority(text, key).value(), key};
}

}  // namespace

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TestAuthority::TestAuthority(const std::string& name) : issuer_(make_issuer(name)) {}

TestAuthority::Holder TestAuthority::server(const std::vector<std::string>& hosts, std::int64_t life) const {
  return holder({CertificateUse::kServer, "server", {}, hosts, -60, life});
}

TestAuthority::Holder TestAuthority::client(const std::vector<std::string>& uris) const {
  return holder({CertificateUse::kClient, "client", uris, {}, -60, 86'400});
}

TestAuthority::Holder TestAuthority::holder(CertificateText text) const {
  text.not_before += seconds_now();
  text.not_after += seconds_now();
  const PrivateKey key = PrivateKey::make().value();
  const Certificate certificate = issue_for_key(text, key, issuer_).value();
  return {key.pem(), certificate.pem() + pem(), certificate.serial()};
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

ClientTls write_identity(const std::filesystem::path& folder, const TestAuthority::Holder& holder,
                         const std::string& authority) {
  const ClientTls out = tls_in(folder);
  write_file(out.key, holder.key);
  write_file(out.certificate, holder.certificate);
  write_file(out.authority, authority);
  return out;
}

}  // namespace locus::test
