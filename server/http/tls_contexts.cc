// Contexts from checked sets.
#include "server/http/tls_contexts.h"

#include <boost/asio/buffer.hpp>

#include "core/log/log.h"

namespace locus::server {
namespace {

namespace ssl = boost::asio::ssl;

std::shared_ptr<ssl::context> context_of(const CertificateSet& set) {
  auto out = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(out->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(out->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  boost::system::error_code error;
  out->use_certificate_chain(boost::asio::buffer(set.chain), error);
  if (!error) out->use_private_key(boost::asio::buffer(set.key), ssl::context::pem, error);
  if (!error) return out;
  log_error("http: a checked certificate cannot be used: {}", error.message());
  return nullptr;
}

}  // namespace

std::shared_ptr<ssl::context> TlsContexts::newest() {
  const auto generation = keeper_.generation();
  if (generation->number == number_) return context_;
  if (auto fresh = context_of(generation->checked.set)) context_ = std::move(fresh);
  number_ = generation->number;
  return context_;
}

}  // namespace locus::server
