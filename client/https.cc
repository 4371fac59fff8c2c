// One request over HTTPS.
#include "client/https.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/certificates/check.h"

namespace locus {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Code = boost::system::error_code;

constexpr std::size_t kMostAnswer = 256 << 10;

// The steps of one request, each started by the one before.
class Exchange {
 public:
  Exchange(asio::io_context& io, const HttpsAddress& address, const std::string& fingerprint, const std::string& target,
           const std::string& json)
      : address_(address), fingerprint_(fingerprint), resolver_(io), stream_(io, context_) {
    SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
    context_.set_verify_mode(asio::ssl::verify_none);  // by us, once the handshake has proved who holds the key
    request_.method(http::verb::post);
    request_.target(target);
    request_.version(11);
    request_.set(http::field::host, address.host + ":" + address.port);
    request_.set(http::field::content_type, "application/json");
    request_.set(http::field::connection, "close");
    request_.set("X-Locus", "1");
    request_.body() = json;
    request_.prepare_payload();
    parser_.body_limit(kMostAnswer);
  }

  void start() {
    resolver_.async_resolve(address_.host, address_.port, [this](Code error, const auto& found) {
      if (error) return fail("cannot be found", error);
      asio::async_connect(stream_.next_layer(), found, [this](Code refused, const asio::ip::tcp::endpoint&) {
        if (refused) return fail("does not answer", refused);
        shake_hands();
      });
    });
  }

  absl::StatusOr<HttpsAnswer> answer(std::chrono::milliseconds limit) {
    if (!done_) fail("gave no answer within " + std::to_string(limit.count() / 1000) + " s");
    if (!problem_.ok()) return problem_;
    return HttpsAnswer{static_cast<int>(parser_.get().result_int()), parser_.get().body()};
  }

 private:
  void shake_hands() {
    Code error;
    asio::ip::make_address(address_.host, error);
    if (error) SSL_set_tlsext_host_name(stream_.native_handle(), address_.host.c_str());
    stream_.async_handshake(asio::ssl::stream_base::client, [this](Code refused) {
      if (refused) return fail("speaks no TLS there", refused);
      problem_ = check_shown();
      if (!problem_.ok()) {
        done_ = true;
        return;
      }
      send();
    });
  }

  absl::Status check_shown() {
    std::vector<Certificate> chain;
    STACK_OF(X509)* const shown = SSL_get_peer_cert_chain(stream_.native_handle());
    for (int i = 0; shown != nullptr && i < sk_X509_num(shown); ++i) chain.emplace_back(sk_X509_value(shown, i));
    return check_shown_chain(chain, fingerprint_, address_.host, system_clock().wall() / 1'000'000);
  }

  void send() {
    http::async_write(stream_, request_, [this](Code error, std::size_t) {
      if (error) return fail("took no request", error);
      http::async_read(stream_, buffer_, parser_, [this](Code broken, std::size_t) {
        if (broken) return fail("gave no answer", broken);
        done_ = true;
      });
    });
  }

  void fail(const std::string& what, Code error = {}) {
    done_ = true;
    problem_ = make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerUnavailable,
                          "https://" + address_.host + ":" + address_.port + " " + what +
                              (error ? ": " + error.message() : "") + "; give the address of the dashboard",
                          "", {{"address", address_.host + ":" + address_.port}});
  }

  const HttpsAddress& address_;
  const std::string& fingerprint_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  asio::ip::tcp::resolver resolver_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  boost::beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  bool done_ = false;
  absl::Status problem_;
};

}  // namespace

absl::StatusOr<HttpsAddress> parse_https(const std::string& url, const std::string& field) {
  constexpr std::string_view kScheme = "https://";
  const auto refused = [&] {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + url +
                          "\" is not where a server can be asked for a certificate; write https://HOST:PORT, " +
                          "the address of its dashboard",
                      field, {{"url", url}});
  };
  if (!url.starts_with(kScheme)) return refused();
  std::string place = url.substr(kScheme.size());
  if (place.ends_with('/')) place.pop_back();
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return refused();
  HttpsAddress out{place.substr(0, colon), place.substr(colon + 1)};
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  const bool digits =
      std::all_of(out.port.begin(), out.port.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
  const bool strange = out.host.find_first_of("/@ \t\r\n") != std::string::npos;
  if (out.host.empty() || strange || !digits || out.port.empty() || out.port.size() > 5) return refused();
  return out;
}

absl::StatusOr<HttpsAnswer> post_over_https(const HttpsAddress& address, const std::string& fingerprint,
                                            const std::string& target, const std::string& json,
                                            std::chrono::milliseconds limit) {
  asio::io_context io(1);
  Exchange exchange(io, address, fingerprint, target, json);
  exchange.start();
  io.run_for(limit);
  return exchange.answer(limit);
}

}  // namespace locus
