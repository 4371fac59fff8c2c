// Keys, certificates and requests for them: the first byte says whether the bytes are PEM, or the DER within PEM of a
// certificate, a request or a key, which few changes of PEM would reach.
#include "core/certificates/certificate.h"

#include <openssl/evp.h>

#include "core/certificates/check.h"
#include "core/certificates/issue.h"
#include "core/identity/principal.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;  // seconds since the Unix epoch
constexpr char kHost[] = "locus.example";
constexpr const char* kLabels[] = {"CERTIFICATE", "CERTIFICATE REQUEST", "PRIVATE KEY"};

std::string in_pem(const std::string& label, std::string_view der) {
  std::string text(4 * ((der.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(der.data()), static_cast<int>(der.size()));
  std::string out = "-----BEGIN " + label + "-----\n";
  for (int at = 0; at < size; at += 64) out += text.substr(at, std::min(64, size - at)) + "\n";
  return out + "-----END " + label + "-----\n";
}

const Issuer& authority() {
  static const Issuer kAuthority = [] {
    const PrivateKey key = PrivateKey::make().value();
    const CertificateText text{CertificateUse::kAuthority, "fuzz", {}, {}, kNow - 10, kNow + 10};
    return Issuer{issue_authority(text, key).value(), key};
  }();
  return kAuthority;
}

void read_names(const Certificate& certificate) {
  for (const std::string& uri : certificate.uris()) {
    const auto name = parse_spiffe(uri);
    require(!name.ok() || spiffe_uri(name->role, name->name) == uri, "a name is read as it is written");
  }
  (void)certificate.names();
  (void)certificate.subject();
  (void)certificate.covers(kHost);
  (void)certificate.covers("127.0.0.1");
  (void)clock_trouble(certificate, kNow);
  require(certificate.fingerprint().size() == 64, "every certificate has a fingerprint");
  require(Certificate::read(certificate.pem(), "").value().front().serial() == certificate.serial(),
          "a certificate is read as it is written");
}

void ask_for_one(const std::string& request) {
  const CertificateText text{CertificateUse::kClient, "ada", {spiffe_uri(Role::kViewer, "ada")}, {}, kNow, kNow + 10};
  const auto issued = issue_for_request(text, request, authority());
  if (!issued.ok()) return;
  require(!issued->is_authority(), "nobody asks for an authority");
  require(issued->uris() == text.uris && issued->names().empty() && issued->subject() == "ada",
          "of a request nothing but its key is taken");
}

}  // namespace

void certificate(std::string_view bytes) {
  const unsigned kind = first_of(bytes) % (std::size(kLabels) + 1);
  const std::string pem = kind == 0 ? std::string(bytes) : in_pem(kLabels[kind - 1], bytes);
  const auto chain = Certificate::read(pem, "it");
  if (chain.ok()) {
    for (const Certificate& one : *chain) read_names(one);
    (void)check_shown_chain(*chain, chain->back().fingerprint(), kHost, kNow);
    require(!check_shown_chain(*chain, authority().certificate.fingerprint(), kHost, kNow).ok(),
            "nobody leads to another's authority");
  }
  if (const auto key = PrivateKey::read(pem, "it"); key.ok()) {
    (void)key->request("fuzz");
    (void)PrivateKey::read(key->pem(), "it");
  }
  (void)check_server_set({pem, pem, pem}, {kHost}, "", kNow);
  ask_for_one(pem);
  if (const auto name = parse_spiffe(bytes); name.ok())
    require(spiffe_uri(name->role, name->name) == bytes, "a name is read as it is written");
}

}  // namespace locus::fuzz
