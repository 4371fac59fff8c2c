// Server-sent events of one session.
#include "server/http/event_stream.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "core/base/error.h"
#include "server/http/visitor.h"

namespace locus::server {
namespace {

constexpr auto kStreamLookedAt = std::chrono::seconds(60);

std::string stream_head() {
  std::string out =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: "
      "no-store\r\nConnection: close\r\n";
  for (const auto& [name, value] : security_headers()) out += name + ": " + value + "\r\n";
  return out + "\r\nretry: 2000\n\n";
}

}  // namespace

std::string to_server_sent_event(const v1::WatchEventsResponse& response) {
  if (response.events().empty() && !response.truncated()) return ": alive\n\n";
  return "id: " + std::to_string(response.cursor()) + "\nevent: change\ndata: " + to_json(response) + "\n\n";
}

void Session::Stream::send(v1::WatchEventsResponse response) {
  boost::asio::post(executor_, [weak = session_, response = std::move(response)] {
    if (auto session = weak.lock()) session->write_event(response);
  });
}

void Session::Stream::failed(absl::Status) {
  boost::asio::post(executor_, [weak = session_] {
    if (auto session = weak.lock()) session->close();  // the browser comes back by itself, with its Last-Event-ID
  });
}

void Session::open_stream(std::int64_t cursor, const std::string& experiment) {
  answering_ = false;  // from here on stop() may cut it at any time
  if (stopping_) return close();
  text_ = stream_head();
  stream_.expires_after(kWriteTimeout);
  boost::asio::async_write(stream_, boost::asio::buffer(text_),
                           [self = shared_from_this(), cursor, experiment](Error error, std::size_t) {
                             if (error || self->stopping_) return self->close();
                             self->stream_.expires_never();
                             self->events_ = std::make_shared<Stream>(self, self->stream_.get_executor());
                             self->watch_for_end();
                             self->check_watcher();
                             self->events_->start(self->context_->feed, cursor, experiment);
                           });
}

absl::StatusOr<Principal> Session::may_watch(const HttpRequest& request) const {
  Gate& gate = context_->api.gate();
  LOCUS_ASSIGN_OR_RETURN(Principal who, visitor_of(gate, request));
  LOCUS_RETURN_IF_ERROR(gate.permit(who, LOCUS_RULE_OF(ExperimentService, WatchEvents)));
  return who;
}

// A stream outlives what it began with: a session that ended, a token that was revoked.
void Session::check_watcher() {
  if (!context_->api.gate().asks()) return;
  wait_.expires_after(kStreamLookedAt);
  wait_.async_wait([self = shared_from_this()](Error error) {
    if (error || !self->events_) return;
    self->context_->pool.post([self] {
      const bool may = self->may_watch(self->watcher_).ok();
      boost::asio::post(self->stream_.get_executor(), [self, may] {
        if (!may) return self->close();
        self->check_watcher();
      });
    });
  });
}

// Nothing more is expected from the browser: whatever comes, an end above all, ends the stream.
void Session::watch_for_end() {
  const auto ended = [self = shared_from_this()](Error, std::size_t) { self->close(); };
  // Below the plain stream's limits of time, which are those of writing.
  if (stream_.secure()) return stream_.async_read_some(boost::asio::buffer(unexpected_), ended);
  stream_.socket().async_read_some(boost::asio::buffer(unexpected_), ended);
}

void Session::write_event(const v1::WatchEventsResponse& response) {
  if (!events_) return;
  text_ = to_server_sent_event(response);
  stream_.expires_after(kWriteTimeout);
  boost::asio::async_write(stream_, boost::asio::buffer(text_), [self = shared_from_this()](Error error, std::size_t) {
    if (error) return self->close();
    self->stream_.expires_never();
    if (self->events_) self->events_->sent();
  });
}

}  // namespace locus::server
