// Sends every attempt's outbox over one bidirectional stream and takes the acknowledgements in.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "client/client.h"
#include "worker/link/attempt.h"

namespace locus {

// What the stream found out; called from its threads.
struct PointStreamEvents {
  std::function<void(LeaseBook::Key)> stale;                        // the token is not the newest
  std::function<void(LeaseBook::Key, const absl::Status&)> failed;  // the attempt's outbox cannot be read
  std::function<void()> session_unknown;
};

// A broken connection is made again and every attempt resent from its last acknowledged point. Thread-safe.
class PointStream {
 public:
  PointStream(Client& client, std::string session, PointStreamEvents events);
  ~PointStream();

  void start();
  void stop();
  void add(std::shared_ptr<Attempt> attempt);
  void remove(LeaseBook::Key key);
  void points_waiting();  // something was appended to an outbox

 private:
  struct Lane {
    std::shared_ptr<Attempt> attempt;
    std::int64_t sent = 0;  // over the present connection, or acknowledged before it
  };
  class Connection;

  void run();
  // Waits for an attempt with points to send; nothing when the connection broke or the stream stops.
  std::shared_ptr<Attempt> next_to_send(std::int64_t& after);
  void write_all(Connection& connection);
  void take_answer(const v1::ReportPointsResponse& answer);
  bool wait_for_points();
  static bool wants_to_send(const Lane& lane);

  Client& client_;
  const std::string session_;
  const PointStreamEvents events_;
  Cancellation stopping_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LeaseBook::Key, Lane> lanes_;
  LeaseBook::Key last_served_{};
  bool broken_ = false, stopped_ = false;
  std::thread thread_;
};

}  // namespace locus
