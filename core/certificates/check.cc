// Checks of keys and certificates.
#include "core/certificates/check.h"

#include <openssl/x509_vfy.h>

#include <ctime>

#include "core/certificates/openssl.h"

namespace locus {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;

std::string day_of(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

absl::Status check_life(const Certificate& certificate, const std::string& what, std::int64_t now) {
  if (now < certificate.not_before())
    return openssl::refused(what + " is not valid before " + day_of(certificate.not_before()) +
                            "; is this machine's clock right?");
  if (now > certificate.not_after())
    return openssl::refused(what + " has expired on " + day_of(certificate.not_after()) + "; put a new one there");
  return absl::OkStatus();
}

// Whether the first leads to one of `roots` over the others, as a certificate for servers.
absl::Status check_chain(const std::vector<Certificate>& chain, const std::vector<Certificate>& roots,
                         std::int64_t now) {
  const std::unique_ptr<X509_STORE, openssl::Freer<X509_STORE_free>> store(X509_STORE_new());
  for (const Certificate& root : roots) X509_STORE_add_cert(store.get(), root.get());
  const auto free_stack = [](STACK_OF(X509) * stack) { sk_X509_free(stack); };
  const std::unique_ptr<STACK_OF(X509), decltype(free_stack)> between(sk_X509_new_null(), free_stack);
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
  const std::unique_ptr<X509_STORE_CTX, openssl::Freer<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get());
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(parameters, static_cast<time_t>(now));
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const std::string why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  return openssl::refused("the server's certificate does not lead to its authority: " + why +
                          "; put the certificates between them into its file, after it");
}

}  // namespace

absl::StatusOr<CheckedSet> check_server_set(const CertificateSet& set, const std::vector<std::string>& hosts,
                                            const std::string& roots, std::int64_t now) {
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::read(set.key, "the server's key"));
  LOCUS_ASSIGN_OR_RETURN(const auto chain, Certificate::read(set.chain, "the server's certificate file"));
  const Certificate& own = chain.front();
  if (!own.matches(key)) return openssl::refused("the server's key is not that of its certificate; put both there");
  LOCUS_RETURN_IF_ERROR(check_life(own, "the server's certificate", now));
  for (const std::string& host : hosts) {
    if (!own.covers(host))
      return openssl::refused("the server's certificate is not for \"" + host +
                              "\", under which the server is to be reached; issue one with that name");
  }
  std::vector<Certificate> trusted = {chain.back()};
  if (!roots.empty()) {
    LOCUS_ASSIGN_OR_RETURN(trusted, Certificate::read(roots, "the file of authorities"));
  }
  LOCUS_RETURN_IF_ERROR(check_chain(chain, trusted, now));
  if (!set.anchors.empty()) {
    LOCUS_ASSIGN_OR_RETURN(const auto anchors, Certificate::read(set.anchors, "the file of clients' authorities"));
    for (const Certificate& anchor : anchors) {
      if (!anchor.is_authority())
        return openssl::refused("\"" + anchor.subject() + "\" among the clients' authorities is no authority");
      LOCUS_RETURN_IF_ERROR(check_life(anchor, "the clients' authority \"" + anchor.subject() + "\"", now));
    }
  }
  return CheckedSet{set, own.not_after(), chain.back().fingerprint()};
}

absl::Status check_shown_chain(const std::vector<Certificate>& chain, const std::string& fingerprint,
                               const std::string& host, std::int64_t now) {
  const auto distrust = [&](const std::string& why) {
    return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kCertificateInvalid,
                      "the server at " + host + " is not to be trusted with the token: " + why, "", {{"host", host}});
  };
  std::vector<Certificate> promised;
  for (const Certificate& one : chain) {
    if (one.fingerprint() == fingerprint) promised.push_back(one);
  }
  if (promised.empty())
    return distrust("it shows no certificate of the token's fingerprint; was the token made there, and lately?");
  if (const std::string trouble = clock_trouble(chain.front(), now); !trouble.empty())
    return distrust("of its certificate, " + trouble);
  if (const absl::Status leads = check_chain(chain, promised, now); !leads.ok())
    return distrust(std::string(leads.message()));
  if (!chain.front().covers(host))
    return distrust("its certificate is for another name; use the one it was issued for");
  return absl::OkStatus();
}

std::string clock_trouble(const Certificate& certificate, std::int64_t now) {
  if (now < certificate.not_before()) {
    return "it is valid from " + day_of(certificate.not_before()) + ", and this machine's clock says " + day_of(now) +
           ", " + std::to_string((certificate.not_before() - now) / kDaySeconds) + " days before: set the clock";
  }
  if (now > certificate.not_after()) {
    return "it was valid until " + day_of(certificate.not_after()) + ", and this machine's clock says " + day_of(now) +
           ": set the clock, or enroll again";
  }
  return "";
}

}  // namespace locus
