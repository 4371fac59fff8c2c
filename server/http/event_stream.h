// Server-sent events of one session: the watcher behind it and the text on the wire.
#pragma once

#include <string>

#include "locus/v1/experiment_service.pb.h"
#include "server/http/session.h"
#include "server/runtime/event_feed.h"

namespace locus::server {

// One message as server-sent events text; a comment when it says nothing but "alive".
std::string to_server_sent_event(const v1::WatchEventsResponse& response);

// Reaches its session on the io thread only, and not any more once unlinked.
class Session::Stream final : public Watcher {
 public:
  explicit Stream(std::weak_ptr<Session> session, boost::asio::any_io_executor executor)
      : session_(std::move(session)), executor_(std::move(executor)) {}
  void unlink() { close(); }

 protected:
  void send(v1::WatchEventsResponse response) override;
  void failed(absl::Status status) override;

 private:
  const std::weak_ptr<Session> session_;
  const boost::asio::any_io_executor executor_;
};

}  // namespace locus::server
