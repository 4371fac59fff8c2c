// The bytes of one HTTP connection, over TLS or plain: what Beast and Asio read from and write to.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace locus::server {

// Thread-compatible; asynchronous operations need it to live until they end. Limits of time hold for both kinds.
class HttpStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  // Without `tls` plain. The context is kept as long as the connection.
  HttpStream(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls)
      : plain_(std::move(socket)), context_(std::move(tls)) {
    if (context_) tls_.emplace(plain_, *context_);
  }

  HttpStream(const HttpStream&) = delete;  // its halves refer to each other
  HttpStream& operator=(const HttpStream&) = delete;

  executor_type get_executor() { return plain_.get_executor(); }
  bool secure() const { return tls_.has_value(); }
  template <class Duration>
  void expires_after(Duration time) {
    plain_.expires_after(time);
  }
  void expires_never() { plain_.expires_never(); }

  // Of TLS alone; `done` takes an error code.
  template <class Done>
  void async_handshake(Done&& done) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Done>(done));
  }
  template <class Done>
  void async_shutdown(Done&& done) {
    tls_->async_shutdown(std::forward<Done>(done));
  }

  template <class Buffers, class Done>
  void async_read_some(const Buffers& buffers, Done&& done) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Done>(done));
    plain_.async_read_some(buffers, std::forward<Done>(done));
  }
  template <class Buffers, class Done>
  void async_write_some(const Buffers& buffers, Done&& done) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Done>(done));
    plain_.async_write_some(buffers, std::forward<Done>(done));
  }

  boost::asio::ip::tcp::socket& socket() { return plain_.socket(); }
  void close() { plain_.close(); }

 private:
  boost::beast::tcp_stream plain_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;  // over plain_
};

}  // namespace locus::server
