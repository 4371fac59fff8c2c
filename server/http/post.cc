// One request on one connection.
#include "server/http/post.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace locus::server {
namespace {

namespace beast = boost::beast;
using boost::asio::ip::tcp;
using Code = boost::system::error_code;

constexpr std::size_t kAnswerMost = 64 << 10;

// The steps of one request, each started by the one before.
class Post {
 public:
  Post(boost::asio::io_context& io, const PlainUrl& url, const std::string& json)
      : url_(url), resolver_(io), stream_(io) {
    request_.method(beast::http::verb::post);
    request_.target(url.target);
    request_.version(11);
    request_.set(beast::http::field::host, url.host + (url.port == "80" ? "" : ":" + url.port));
    request_.set(beast::http::field::content_type, "application/json");
    request_.set(beast::http::field::user_agent, "locus");
    request_.set(beast::http::field::connection, "close");
    request_.body() = json;
    request_.prepare_payload();
    parser_.body_limit(kAnswerMost);
  }

  void start() {
    resolver_.async_resolve(url_.host, url_.port, [this](Code code, const tcp::resolver::results_type& found) {
      if (code) return fail("cannot be found", code);
      stream_.async_connect(found, [this](Code error, const tcp::endpoint&) {
        if (error) return fail("does not answer", error);
        send();
      });
    });
  }

  bool done = false;
  std::string problem;  // empty: the answer was 2xx

 private:
  void send() {
    beast::http::async_write(stream_, request_, [this](Code error, std::size_t) {
      if (error) return fail("took no request", error);
      beast::http::async_read(stream_, buffer_, parser_, [this](Code code, std::size_t) {
        if (code) return fail("gave no answer", code);
        const unsigned status = parser_.get().result_int();
        done = true;
        if (status < 200 || status > 299) problem = "answered " + std::to_string(status);
      });
    });
  }
  void fail(const char* what, Code code) {
    done = true;
    problem = std::string(what) + ": " + code.message();
  }

  const PlainUrl& url_;
  tcp::resolver resolver_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  beast::http::request<beast::http::string_body> request_;
  beast::http::response_parser<beast::http::string_body> parser_;
};

}  // namespace

absl::StatusOr<PlainUrl> parse_plain_url(const std::string& url, const std::string& field) {
  const auto refuse = [&](const std::string& why) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "\"" + valid_utf8(url) + "\" " + why, field, {{"url", valid_utf8(url)}});
  };
  if (url.starts_with("https://")) {
    return refuse(
        "needs TLS, which this server does not speak; use a command instead, such as curl --fail --silent "
        "--json @- " +
        url);
  }
  constexpr std::string_view kScheme = "http://";
  const auto strange = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
  if (!url.starts_with(kScheme) || std::any_of(url.begin(), url.end(), strange))
    return refuse("is no address to call; write http://HOST:PORT/PATH");
  const std::size_t slash = url.find('/', kScheme.size());
  const std::string place = url.substr(kScheme.size(), slash - kScheme.size());
  PlainUrl out{place, "80", slash == std::string::npos ? "/" : url.substr(slash)};
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos && place.find(']', colon) == std::string::npos) {
    out.host = place.substr(0, colon);
    out.port = place.substr(colon + 1);
  }
  if (out.host.size() > 2 && out.host.front() == '[') out.host = out.host.substr(1, out.host.size() - 2);
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (out.host.empty() || out.host.find('@') != std::string::npos || out.port.empty() || out.port.size() > 5 ||
      !std::all_of(out.port.begin(), out.port.end(), digit))
    return refuse("is no address to call; write http://HOST:PORT/PATH");
  return out;
}

absl::Status post_json(const PlainUrl& url, const std::string& json, std::chrono::milliseconds limit) {
  boost::asio::io_context io(1);
  Post post(io, url, json);
  post.start();
  io.run_for(limit);
  if (post.done && post.problem.empty()) return absl::OkStatus();
  const std::string what =
      post.done ? post.problem : "gave no answer within " + std::to_string(limit.count() / 1000) + " s";
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerUnavailable,
                    "http://" + url.host + ":" + url.port + " " + what);
}

}  // namespace locus::server
