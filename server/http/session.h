// One HTTP connection: requests one after another, or an event stream until either side ends it.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>

#include "server/http/http_server.h"
#include "server/http/http_stream.h"

namespace locus::server {

// How many connections and streams there are now. Atomic: a pool task may be the last to let go of a session.
struct HttpLoad {
  std::atomic<int> connections{0}, streams{0};
};

// Lives on the io thread; held by shared_ptr because asynchronous operations, pool tasks and the feed end in
// any order.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
          std::shared_ptr<const HttpContext> context, std::shared_ptr<HttpLoad> load);
  ~Session();
  void start();
  void stop();  // idle: closed; answering: closed after the answer

 private:
  class Stream;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  void read();
  void on_read(Error error);
  void refuse_broken(Error error);
  void answer(HttpRequest request);
  void respond(HttpResponse response);
  void respond_later(HttpResponse response);
  void on_written(Error error);
  void end();    // after the last answer: tells the other side, over TLS
  void close();  // at once
  HttpResponse dispatch(const HttpRequest& request) const;
  HttpResponse answer_to(const HttpRequest& request) const;

  void begin_pieces(HttpResponse response);
  void write_piece();
  void next_piece();

  void begin_stream(const HttpRequest& request);
  void open_stream(std::int64_t cursor, const std::string& experiment);
  void watch_for_end();
  void write_event(const v1::WatchEventsResponse& response);
  absl::StatusOr<Principal> may_watch(const HttpRequest& request) const;  // blocks
  void check_watcher();

  HttpStream stream_;
  boost::asio::steady_timer wait_;  // of an answer that is late on purpose, or until a stream is looked at again
  const std::shared_ptr<const HttpContext> context_;
  std::shared_ptr<HttpLoad> load_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<Response> response_;
  HeldPlace place_;  // of an event stream, among what its watcher has under way
  bool head_ = false, keep_alive_ = false, answering_ = false, stopping_ = false, streaming_ = false;
  std::shared_ptr<Stream> events_;
  std::string text_;                                   // the event or piece being written
  std::function<absl::StatusOr<std::string>()> more_;  // of an answer in pieces
  HttpRequest watcher_;                                // whose events these are; written before the stream is open
  Microseconds asked_ = 0;                             // steady; when the request was whole
  std::string method_;
  char unexpected_[64] = {};
};

}  // namespace locus::server
