// Credentials of channels, and what becomes of them.
#include "client/trust.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <sstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/certificates/certificate.h"
#include "core/certificates/check.h"

namespace locus {
namespace {

constexpr unsigned kLookSeconds = 2;  // at files that may have been renewed

absl::StatusOr<std::string> pem_of(const std::filesystem::path& path, const char* what) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  if (path.empty() || !in) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCertificateInvalid,
                      std::string(what) + " cannot be read" + (path.empty() ? "" : " at " + path.string()) +
                          "; TLS takes key, certificate and authority together",
                      "", {{"path", path.string()}});
  }
  return out.str();
}

bool says(const std::string& found, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (found.find(word) != std::string::npos) return true;
  }
  return false;
}

// Why the clock makes one of our own files useless; empty if it does not.
std::string clock_against(const std::filesystem::path& path, const std::string& what) {
  const auto pem = pem_of(path, "a certificate");
  const auto certificates = pem.ok() ? Certificate::read(*pem, what) : pem.status();
  if (!certificates.ok()) return "";
  const std::string trouble = clock_trouble(certificates->front(), system_clock().wall() / 1'000'000);
  return trouble.empty() ? "" : what + " " + path.string() + " cannot be used now: " + trouble;
}

}  // namespace

ClientTls tls_in(const std::filesystem::path& folder) {
  return {folder / "key.pem", folder / "certificate.pem", folder / "authority.pem"};
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(const ClientTls& tls) {
  if (!tls.wanted()) return grpc::InsecureChannelCredentials();
  LOCUS_ASSIGN_OR_RETURN(const std::string key_pem, pem_of(tls.key, "the key"));
  LOCUS_ASSIGN_OR_RETURN(const std::string certificate_pem, pem_of(tls.certificate, "the certificate"));
  LOCUS_ASSIGN_OR_RETURN(const std::string authority_pem, pem_of(tls.authority, "the server's authority"));
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::read(key_pem, tls.key.string()));
  LOCUS_ASSIGN_OR_RETURN(const auto chain, Certificate::read(certificate_pem, tls.certificate.string()));
  const auto authorities = Certificate::read(authority_pem, tls.authority.string());
  if (!authorities.ok()) return authorities.status();
  if (!chain.front().matches(key)) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCertificateInvalid,
                      tls.key.string() + " is not the key of " + tls.certificate.string() +
                          "; give those that belong "
                          "together, or enroll again");
  }
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      tls.key.string(), tls.certificate.string(), tls.authority.string(), kLookSeconds);
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

std::string explain_connection(const ClientTls& tls, const std::string& address, const std::string& found) {
  const bool closed = says(found, {"Socket closed", "Connection reset by peer", "Broken pipe"});
  if (!tls.wanted()) {
    return closed ? "the server closed the connection: if it speaks TLS, enroll this machine with `locus login` or "
                    "`locus worker --enroll`"
                  : "";
  }
  for (const auto& [path, what] : {std::pair(tls.certificate, "this machine's certificate"),
                                   std::pair(tls.authority, "the server's authority in")}) {
    if (const std::string trouble = clock_against(path, what); !trouble.empty()) return trouble;
  }
  if (closed) {
    return "the server closed the connection: is this machine's certificate accepted there? It may be revoked, of "
           "another authority, or outside its time by the server's clock";
  }
  if (says(found, {"Peer name", "peer name", "Hostname Verification"}))
    return "the server's certificate is not for " + address + ": use a name that it was issued for";
  if (says(found, {"CERTIFICATE_VERIFY_FAILED", "certificate verify failed"})) {
    return "the server's certificate is not of the authority in " + tls.authority.string() +
           ", or outside its time by this machine's clock: look at both";
  }
  if (says(found, {"WRONG_VERSION_NUMBER", "wrong version number"}))
    return "the server speaks no TLS there: is " + address + " its gRPC side?";
  return "";
}

}  // namespace locus
