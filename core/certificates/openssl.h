// What the sources of this folder share of OpenSSL: owners of its objects, and its errors. Not for others.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace locus::openssl {

template <auto Free>
struct Freer {
  template <class Object>
  void operator()(Object* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freer<X509_free>>;
using Request = std::unique_ptr<X509_REQ, Freer<X509_REQ_free>>;

inline Bio reader_of(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

inline std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// What OpenSSL has noted last, forgotten by this.
inline std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "OpenSSL gives no reason" : reason;
}

inline absl::Status refused(const std::string& sentence) {
  ERR_clear_error();
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kCertificateInvalid, sentence);
}

inline absl::Status failed(const std::string& doing) {
  return make_error(absl::StatusCode::kInternal, ErrorReason::kCertificateInvalid, doing + ": " + last_error());
}

}  // namespace locus::openssl
