// What connections over TLS are shown: a context for each generation of certificates.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "server/tls/keeper.h"

namespace locus::server {

// Thread-compatible: used on the io thread. `keeper` must outlive it.
class TlsContexts {
 public:
  explicit TlsContexts(const TlsKeeper& keeper) : keeper_(keeper) {}
  // For the next connection: of the newest generation. Connections keep theirs.
  std::shared_ptr<boost::asio::ssl::context> newest();

 private:
  const TlsKeeper& keeper_;
  int number_ = 0;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace locus::server
