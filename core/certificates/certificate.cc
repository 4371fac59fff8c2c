// X.509 certificates.
#include "core/certificates/certificate.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>

#include <algorithm>
#include <ctime>

#include "core/base/sha256.h"
#include "core/certificates/openssl.h"

namespace locus {
namespace {

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return static_cast<std::int64_t>(timegm(&parts));
}

std::string text_of_string(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string text_of_address(const ASN1_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return "";
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text);
  return text;
}

struct AlternativeNames {
  std::vector<std::string> uris, hosts;
};

AlternativeNames alternative_names(X509* certificate) {
  AlternativeNames out;
  const std::unique_ptr<GENERAL_NAMES, openssl::Freer<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI) out.uris.push_back(text_of_string(name->d.uniformResourceIdentifier));
    if (name->type == GEN_DNS) out.hosts.push_back(text_of_string(name->d.dNSName));
    if (name->type == GEN_IPADD) out.hosts.push_back(text_of_address(name->d.iPAddress));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Certificate>> Certificate::read(std::string_view pem, const std::string& what) {
  const openssl::Bio bio = openssl::reader_of(pem);
  std::vector<Certificate> out;
  while (true) {
    std::shared_ptr<X509> one(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
    if (!one) break;
    out.push_back(Certificate(std::move(one)));
  }
  const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (out.empty() || !end)
    return openssl::refused(what + " holds no certificates in PEM, or broken ones; is it whole?");
  ERR_clear_error();
  return out;
}

Certificate::Certificate(X509* certificate) {
  X509_up_ref(certificate);
  certificate_ = std::shared_ptr<X509>(certificate, X509_free);
}

std::string Certificate::pem() const {
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate_.get());
  return openssl::text_of(bio);
}

std::string Certificate::serial() const {
  const std::unique_ptr<BIGNUM, openssl::Freer<BN_free>> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate_.get()), nullptr));
  char* text = number ? BN_bn2hex(number.get()) : nullptr;
  std::string out = text == nullptr ? "" : text;
  OPENSSL_free(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  out.erase(0, std::min(out.find_first_not_of('0'), out.size()));
  return out;
}

std::string Certificate::subject() const {
  X509_NAME* name = X509_get_subject_name(certificate_.get());
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  std::string out =
      size < 0 ? std::string() : std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return out;
}

std::string Certificate::fingerprint() const {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate_.get(), &der);
  if (size <= 0) return "";
  std::string out = sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return out;
}

std::vector<std::string> Certificate::uris() const { return alternative_names(certificate_.get()).uris; }
std::vector<std::string> Certificate::names() const { return alternative_names(certificate_.get()).hosts; }
std::int64_t Certificate::not_before() const { return seconds_of(X509_get0_notBefore(certificate_.get())); }
std::int64_t Certificate::not_after() const { return seconds_of(X509_get0_notAfter(certificate_.get())); }
bool Certificate::is_authority() const { return X509_check_ca(certificate_.get()) == 1; }

bool Certificate::matches(const PrivateKey& key) const {
  const bool same = X509_check_private_key(certificate_.get(), key.get()) == 1;
  ERR_clear_error();
  return same;
}

bool Certificate::covers(const std::string& host) const {
  in6_addr ignored{};
  const bool address =
      inet_pton(AF_INET, host.c_str(), &ignored) == 1 || inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  if (address) return X509_check_ip_asc(certificate_.get(), host.c_str(), 0) == 1;
  return X509_check_host(certificate_.get(), host.data(), host.size(), 0, nullptr) == 1;
}

std::string join_pem(const std::vector<Certificate>& certificates) {
  std::string out;
  for (const Certificate& one : certificates) out += one.pem();
  return out;
}

}  // namespace locus
