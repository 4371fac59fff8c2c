// Private keys.
#include "core/certificates/key.h"

#include "core/certificates/openssl.h"

namespace locus {

absl::StatusOr<PrivateKey> PrivateKey::make() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  if (!key) return openssl::failed("no key can be made");
  return PrivateKey(std::move(key));
}

absl::StatusOr<PrivateKey> PrivateKey::read(std::string_view pem, const std::string& what) {
  const openssl::Bio bio = openssl::reader_of(pem);
  // Without a way to ask for a passphrase, which a server could not answer.
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (!key) return openssl::refused(what + " is no private key in PEM without a passphrase; is it whole?");
  return PrivateKey(std::move(key));
}

std::string PrivateKey::pem() const {
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return openssl::text_of(bio);
}

absl::StatusOr<std::string> PrivateKey::request(const std::string& name) const {
  const openssl::Request request(X509_REQ_new());
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  const bool made =
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0) == 1 &&
      X509_REQ_set_pubkey(request.get(), key_.get()) == 1 && X509_REQ_sign(request.get(), key_.get(), EVP_sha256()) > 0;
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  if (!made || PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1)
    return openssl::failed("no certificate request can be made");
  return openssl::text_of(bio);
}

}  // namespace locus
