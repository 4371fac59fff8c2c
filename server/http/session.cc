// One HTTP connection.
#include "server/http/session.h"

#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>

#include "core/base/error.h"
#include "server/http/event_stream.h"
#include "server/http/visitor.h"

namespace locus::server {
namespace {

namespace http = boost::beast::http;
constexpr auto kFarewell = std::chrono::seconds(1);
constexpr auto kIdle = std::chrono::seconds(60);  // between requests, and for a whole request to arrive

HttpRequest to_request(const http::request<http::string_body>& message) {
  HttpRequest out;
  out.method = std::string(message.method_string());
  out.body = message.body();
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out.headers[name].emplace_back(field.value());
  }
  return out;
}

HttpResponse plain(int status, std::string text) {
  HttpResponse out;
  out.status = status;
  out.content_type = "text/plain; charset=utf-8";
  out.body = std::move(text);
  return out;
}

absl::Status invalid(const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message);
}

// Addresses beside the routes that answer by themselves.
bool only_read(const std::string& path) {
  return path == "/healthz" || path == "/readyz" || path == "/metrics" || path == "/api/openapi.json" ||
         path == "/api/v1/events";
}

HttpResponse not_with(const std::string& method) {
  HttpResponse out = error_response(make_error(absl::StatusCode::kUnimplemented, ErrorReason::kRouteNotFound,
                                               "this address is read with GET, not " + method),
                                    405);
  out.allow = "GET, HEAD";
  return out;
}

// The call that an address beside the routes stands for: its role may read it. Null: anybody may.
const RpcRule* rule_beside_routes(const std::string& path) {
  constexpr const RpcRule* kServer = find_rule("CatalogService/GetServer");
  constexpr const RpcRule* kEvents = find_rule("ExperimentService/WatchEvents");
  static_assert(kServer != nullptr && kEvents != nullptr);
  if (path == "/metrics" || path == "/api/openapi.json") return kServer;
  return path == "/api/v1/events" ? kEvents : nullptr;
}

bool is_api(const std::string& path) { return path == "/api" || path.compare(0, 5, "/api/") == 0; }

bool has_json_body(const HttpRequest& request) {
  const std::string type = request.header("content-type");
  return type.compare(0, 16, "application/json") == 0;
}

HttpResponse not_json() {
  return error_response(invalid("a POST carries JSON; set Content-Type: application/json"), 415);
}

std::string address_of(HttpStream& stream) {
  boost::system::error_code error;
  const auto endpoint = stream.socket().remote_endpoint(error);
  return error ? std::string() : endpoint.address().to_string();
}

}  // namespace

Session::Session(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> tls,
                 std::shared_ptr<const HttpContext> context, std::shared_ptr<HttpLoad> load)
    : stream_(std::move(socket), std::move(tls)),
      wait_(stream_.get_executor()),
      context_(std::move(context)),
      load_(std::move(load)) {
  ++load_->connections;
}

Session::~Session() {
  --load_->connections;
  if (streaming_) --load_->streams;
}

void Session::start() {
  if (!stream_.secure()) return read();
  stream_.expires_after(context_->each_address.handshake);
  stream_.async_handshake([self = shared_from_this()](Error error) {
    if (error) return self->close();
    self->read();
  });
}

void Session::stop() {
  stopping_ = true;
  if (!answering_) close();
}

void Session::read() {
  if (stopping_) return close();
  parser_.emplace();
  parser_->header_limit(context_->limits.header_bytes);
  parser_->body_limit(context_->limits.body_bytes);
  stream_.expires_after(kIdle);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](Error error, std::size_t) { self->on_read(error); });
}

void Session::on_read(Error error) {
  if (error == http::error::end_of_stream) return close();
  if (error) return refuse_broken(error);
  answering_ = true;
  keep_alive_ = parser_->get().keep_alive();
  HttpRequest request = to_request(parser_->get());
  request.address = address_of(stream_);
  head_ = request.method == "HEAD";
  method_ = request.method;
  asked_ = system_clock().steady();
  if (const absl::Status status = parse_target(std::string_view(parser_->get().target()), &request); !status.ok()) {
    return respond(error_response(status));
  }
  if (request.headers.count("content-length") > 0 && request.headers["content-length"].size() > 1) {
    keep_alive_ = false;
    return respond(error_response(invalid("two Content-Length headers came; send one")));
  }
  if (const absl::Status status = context_->guard.check(request); !status.ok()) return respond(error_response(status));
  if (request.method == "GET" && request.path == "/api/v1/events") return begin_stream(request);
  answer(std::move(request));
}

// What could not be read as HTTP is answered where that makes sense, and the connection is closed: what
// follows cannot be trusted.
void Session::refuse_broken(Error error) {
  keep_alive_ = false;
  answering_ = true;
  asked_ = system_clock().steady();
  if (error == http::error::body_limit) {
    const auto status =
        make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                   "the body is longer than " + std::to_string(context_->limits.body_bytes) + " bytes; send less", "",
                   {{"most", std::to_string(context_->limits.body_bytes)}});
    return respond(error_response(status, 413));
  }
  if (error == http::error::header_limit) {
    const auto status =
        make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                   "the headers are longer than " + std::to_string(context_->limits.header_bytes) + " bytes; send less",
                   "", {{"most", std::to_string(context_->limits.header_bytes)}});
    return respond(error_response(status, 431));
  }
  if (error.category() == http::make_error_code(http::error::bad_method).category()) {
    return respond(error_response(invalid("this is not HTTP as it should be: " + error.message())));
  }
  close();
}

HttpResponse Session::dispatch(const HttpRequest& request) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && only_read(request.path)) return not_with(request.method);
  if (request.path == "/healthz") return plain(200, "ok\n");
  if (request.path == "/readyz") {
    if (!context_->ready()) return plain(503, "starting or stopping\n");
    const std::string trouble = context_->trouble ? context_->trouble() : "";
    return plain(200, trouble.empty() ? "ok\n" : "ok, but " + trouble + "\n");
  }
  const bool door = request.path == "/login" || request.path == "/logout";
  if (request.method == "POST" && door) {
    if (!has_json_body(request)) return not_json();
    return request.path == "/login" ? log_in(context_->api.gate(), request) : log_out(context_->api.gate(), request);
  }
  return answer_to(request);
}

// Of addresses that say something of what is stored.
HttpResponse Session::answer_to(const HttpRequest& request) const {
  Gate& gate = context_->api.gate();
  const RpcRule* rule = rule_beside_routes(request.path);
  Principal who;
  if (rule != nullptr || is_api(request.path)) {
    auto found = visitor_of(gate, request);
    if (!found.ok()) return error_response(found.status());
    who = *std::move(found);
  }
  if (rule != nullptr) {
    if (const absl::Status refused = gate.permit(who, *rule); !refused.ok()) return error_response(refused);
  }
  if (request.path == "/metrics") {
    const auto text = context_->metrics.expose();
    if (!text.ok()) return error_response(text.status());
    HttpResponse out = plain(200, *text);
    out.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return out;
  }
  if (request.path == "/api/openapi.json") {
    HttpResponse out;
    out.body = context_->openapi;
    return out;
  }
  if (is_api(request.path)) {
    // A form of another page cannot send this type without asking first, which is never granted.
    if (request.method == "POST" && !has_json_body(request) && context_->routes.takes(request)) {
      return not_json();
    }
    return context_->routes.answer(request, who);
  }
  if (request.method != "GET" && request.method != "HEAD") return not_with(request.method);
  return context_->files.get(request.path);
}

void Session::answer(HttpRequest request) {
  auto task = [self = shared_from_this(), request = std::move(request)] {
    HttpResponse response = self->dispatch(request);
    boost::asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
      if (response.status == 401) return self->respond_later(std::move(response));
      self->respond(std::move(response));
    });
  };
  if (context_->pool.try_post(std::move(task))) return;
  respond(error_response(make_error(absl::StatusCode::kUnavailable, ErrorReason::kLimitExceeded,
                                    "too many requests wait already; ask again in a moment")));
}

// Whoever guesses waits.
void Session::respond_later(HttpResponse response) {
  wait_.expires_after(kRefusedWaits);
  wait_.async_wait([self = shared_from_this(), response = std::move(response)](Error) mutable {
    self->respond(std::move(response));
  });
}

void Session::respond(HttpResponse response) {
  const auto spent = static_cast<double>(system_clock().steady() - asked_) / 1e6;
  context_->metrics.count_request(method_, response.status, spent);
  if (response.more && !head_) return begin_pieces(std::move(response));
  auto message = std::make_shared<Response>();
  message->version(11);
  message->result(static_cast<unsigned>(response.status));
  message->set(http::field::content_type, response.content_type);
  message->set(http::field::cache_control, response.cache_control);
  if (!response.allow.empty()) message->set(http::field::allow, response.allow);
  if (!response.retry_after.empty()) message->set(http::field::retry_after, response.retry_after);
  if (!response.set_cookie.empty()) message->set(http::field::set_cookie, response.set_cookie);
  for (const auto& [name, value] : security_headers()) message->set(name, value);
  message->keep_alive(keep_alive_ && !stopping_);
  message->body() = std::move(response.body);
  message->prepare_payload();
  response_ = message;
  stream_.expires_after(kWriteTimeout);
  auto done = [self = shared_from_this()](Error error, std::size_t) { self->on_written(error); };
  if (!head_) return http::async_write(stream_, *message, std::move(done));
  auto serializer = std::make_shared<http::response_serializer<http::string_body>>(*message);
  http::async_write_header(stream_, *serializer,
                           [serializer, done = std::move(done)](Error error, std::size_t size) { done(error, size); });
}

void Session::on_written(Error error) {
  answering_ = false;
  const bool again = !error && response_->keep_alive();
  response_.reset();
  if (!again) return end();
  read();
}

void Session::end() {
  if (!stream_.secure()) return close();
  stream_.expires_after(kFarewell);
  stream_.async_shutdown([self = shared_from_this()](Error) { self->close(); });
}

void Session::close() {
  Error ignored;
  wait_.cancel();
  place_.reset();
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (auto events = std::exchange(events_, nullptr)) events->unlink();
}

void Session::begin_stream(const HttpRequest& request) {
  std::int64_t cursor = -1;
  v1::WatchEventsRequest watch;
  watch.set_cursor(-1);
  for (const auto& [key, value] : request.query) {
    if (const absl::Status status = set_field(&watch, key, value); !status.ok()) return respond(error_response(status));
  }
  cursor = watch.cursor();
  if (const std::string last = request.header("last-event-id"); !last.empty()) {
    if (const absl::Status status = set_field(&watch, "cursor", last); !status.ok())
      return respond(error_response(status));
    cursor = watch.cursor();
  }
  if (load_->streams >= context_->limits.streams) {
    return respond(error_response(make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                                             "too many event streams are open; close a page and try again")));
  }
  ++load_->streams;
  streaming_ = true;
  context_->pool.post([self = shared_from_this(), cursor, experiment = watch.experiment(), request] {
    const auto who = self->may_watch(request);
    absl::Status status = who.status();
    absl::StatusOr<HeldPlace> place = HeldPlace();
    if (status.ok())
      status = (place = self->context_->api.gate().hold(*who, LOCUS_RULE_OF(ExperimentService, WatchEvents))).status();
    if (status.ok()) status = self->context_->api.check_watch(cursor, experiment);
    self->watcher_ = request;
    boost::asio::post(self->stream_.get_executor(), [self, status, cursor, experiment, place = std::move(place)] {
      if (status.ok()) self->place_ = *place;
      if (status.ok()) return self->open_stream(cursor, experiment);
      --self->load_->streams;
      self->streaming_ = false;
      self->respond(error_response(status));
    });
  });
}

}  // namespace locus::server
