// The HTTP listener.
#include "server/http/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <list>

#include "core/base/counted_address.h"
#include "core/base/error.h"
#include "core/log/log.h"
#include "server/http/session.h"

namespace locus::server {

using boost::asio::ip::tcp;

// On the io thread but for construction.
class HttpServer::Listener : public std::enable_shared_from_this<HttpServer::Listener> {
 public:
  Listener(boost::asio::io_context& io, HttpContext context)
      : context_(std::make_shared<const HttpContext>(std::move(context))),
        acceptor_(io),
        pause_(io),
        book_(context_->each_address) {}

  absl::Status bind(const std::string& host, int port) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    if (error) {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                        "\"" + host + "\" is not an IP address to listen on; give one such as 127.0.0.1",
                        "http_address");
    }
    const tcp::endpoint endpoint(address, static_cast<unsigned short>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error)
      acceptor_.set_option(tcp::acceptor::reuse_address(true),
                           error);  // over sockets that linger, not over listeners
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (!error) return absl::OkStatus();
    const std::string shown = host + ":" + std::to_string(port);
    if (error == boost::asio::error::address_in_use) {
      return make_error(absl::StatusCode::kUnavailable, ErrorReason::kPortInUse,
                        "port " + std::to_string(port) + " is in use on " + host +
                            "; stop the other program or choose another with --http-address",
                        "http_address", {{"address", shown}, {"port", std::to_string(port)}});
    }
    return make_error(
        absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
        "cannot listen on " + shown + ": " + error.message() + "; choose another address with --http-address",
        "http_address", {{"address", shown}});
  }

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](boost::system::error_code error, tcp::socket socket) {
      if (error == boost::asio::error::operation_aborted || self->stopped_) return;
      if (error) return self->accept_later(error);
      self->take(std::move(socket));
      self->accept();
    });
  }

  int port() const { return port_; }
  auto executor() { return acceptor_.get_executor(); }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->stop();
    }
  }

 private:
  void take(tcp::socket socket) {
    if (load_->connections >= context_->limits.connections) return;  // closed at once: what is open goes on
    boost::system::error_code gone;
    sockaddr_storage from{};
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (gone) return;
    std::memcpy(&from, peer.data(), peer.size());
    if (!book_.admit(counted_address(from), socket.native_handle(), system_clock().steady())) return;
    std::shared_ptr<boost::asio::ssl::context> tls = context_->tls != nullptr ? context_->tls->newest() : nullptr;
    const auto session = std::make_shared<Session>(std::move(socket), std::move(tls), context_, load_);
    sessions_.remove_if([](const auto& weak) { return weak.expired(); });
    sessions_.push_back(session);
    session->start();
  }

  // Out of descriptors, most likely: others will end and give theirs back.
  void accept_later(const boost::system::error_code& error) {
    log_warning("http: accept: {}; trying again", error.message());
    pause_.expires_after(std::chrono::milliseconds(200));
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->accept();
    });
  }

  const std::shared_ptr<const HttpContext> context_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  AddressBook book_;
  std::shared_ptr<HttpLoad> load_ = std::make_shared<HttpLoad>();
  std::list<std::weak_ptr<Session>> sessions_;
  bool stopped_ = false;
  int port_ = 0;  // set before the first thread sees it
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(boost::asio::io_context& io, HttpContext context,
                                                              const std::string& host, int port) {
  auto listener = std::make_shared<Listener>(io, std::move(context));
  LOCUS_RETURN_IF_ERROR(listener->bind(host, port));
  std::unique_ptr<HttpServer> server(new HttpServer(listener));
  boost::asio::post(io, [listener] { listener->accept(); });
  return server;
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::port() const { return listener_->port(); }

void HttpServer::stop() {
  boost::asio::post(listener_->executor(), [listener = listener_] { listener->stop(); });
}

}  // namespace locus::server
