// Signing certificates.
#include "core/certificates/issue.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>

#include "core/certificates/openssl.h"

namespace locus {
namespace {

constexpr int kSerialBits = 127;  // positive in 16 bytes

bool set_serial(X509* certificate) {
  const std::unique_ptr<BIGNUM, openssl::Freer<BN_free>> number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, openssl::Freer<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Built from parts, not from a text in OpenSSL's little language, in which a comma within a name would begin another.
bool add_alternative_names(X509* certificate, const CertificateText& text) {
  if (text.uris.empty() && text.hosts.empty()) return true;
  const std::unique_ptr<GENERAL_NAMES, openssl::Freer<GENERAL_NAMES_free>> names(sk_GENERAL_NAME_new_null());
  const auto add = [&](int type, const std::string& value) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_STRING* string = ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    ASN1_STRING_set(string, value.data(), static_cast<int>(value.size()));
    GENERAL_NAME_set0_value(name, type, string);
    return sk_GENERAL_NAME_push(names.get(), name) > 0;
  };
  bool ok = true;
  for (const std::string& uri : text.uris) ok = ok && add(GEN_URI, uri);
  for (const std::string& host : text.hosts) {
    in_addr four{};
    in6_addr six{};
    if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
      ok = ok && add(GEN_IPADD, {reinterpret_cast<const char*>(&four), sizeof four});
    } else if (inet_pton(AF_INET6, host.c_str(), &six) == 1) {
      ok = ok && add(GEN_IPADD, {reinterpret_cast<const char*>(&six), sizeof six});
    } else {
      ok = ok && add(GEN_DNS, host);
    }
  }
  return ok && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool add_uses(X509* certificate, X509* issuer, CertificateUse use) {
  if (use == CertificateUse::kAuthority) {
    return extend(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           extend(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           extend(certificate, issuer, NID_subject_key_identifier, "hash");
  }
  return extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
         extend(certificate, issuer, NID_ext_key_usage, use == CertificateUse::kServer ? "serverAuth" : "clientAuth") &&
         extend(certificate, issuer, NID_subject_key_identifier, "hash") &&
         extend(certificate, issuer, NID_authority_key_identifier, "keyid");
}

absl::StatusOr<Certificate> sign(const CertificateText& text, EVP_PKEY* holder, const Issuer* issuer,
                                 const PrivateKey& signer) {
  const openssl::Cert made(X509_new());
  X509* const certificate = made.get();
  X509* const by = issuer == nullptr ? certificate : issuer->certificate.get();
  X509_NAME* subject = X509_get_subject_name(certificate);
  const bool ok = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                  ASN1_TIME_set(X509_getm_notBefore(certificate), static_cast<time_t>(text.not_before)) != nullptr &&
                  ASN1_TIME_set(X509_getm_notAfter(certificate), static_cast<time_t>(text.not_after)) != nullptr &&
                  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                             reinterpret_cast<const unsigned char*>(text.subject.data()),
                                             static_cast<int>(text.subject.size()), -1, 0) == 1 &&
                  X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 &&
                  X509_set_pubkey(certificate, holder) == 1 && add_uses(certificate, by, text.use) &&
                  add_alternative_names(certificate, text) && X509_sign(certificate, signer.get(), EVP_sha256()) > 0;
  if (!ok) return openssl::failed("no certificate for \"" + text.subject + "\" can be signed");
  return Certificate(certificate);
}

bool is_p256(EVP_PKEY* key) {
  char group[32] = {};
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         std::string_view(group, size) == "prime256v1";
}

}  // namespace

absl::StatusOr<Certificate> issue_authority(const CertificateText& text, const PrivateKey& key) {
  return sign(text, key.get(), nullptr, key);
}

absl::StatusOr<Certificate> issue_for_key(const CertificateText& text, const PrivateKey& key, const Issuer& issuer) {
  return sign(text, key.get(), &issuer, issuer.key);
}

absl::StatusOr<Certificate> issue_for_request(const CertificateText& text, std::string_view request,
                                              const Issuer& issuer) {
  const openssl::Bio bio = openssl::reader_of(request);
  const openssl::Request asked(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!asked) return openssl::refused("this is no certificate request in PEM");
  EVP_PKEY* const key = X509_REQ_get0_pubkey(asked.get());
  if (key == nullptr || !is_p256(key))
    return openssl::refused("the key of a certificate request must be on curve P-256");
  if (X509_REQ_verify(asked.get(), key) != 1)
    return openssl::refused("the certificate request was not signed by the key it is for");
  return sign(text, key, &issuer, issuer.key);
}

}  // namespace locus
