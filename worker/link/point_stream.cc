// The point stream: one writer, one reader thread per connection.
#include "worker/link/point_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "client/backoff.h"
#include "client/errors.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/limits.h"
#include "core/log/log.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr auto kPointLinger = 50ms;  // a commit is dear; points that come close together share it
constexpr auto kConnect = 200ms;
constexpr std::int64_t kWindow = 4 * kPointsPerBatch;  // under way and not acknowledged, per attempt

}  // namespace

class PointStream::Connection {
 public:
  Connection(Client& client, Cancellation& cancellation)
      : stub_(v1::WorkerService::NewStub(client.channel())),
        guard_(&cancellation, &context_),
        stream_(stub_->ReportPoints(&context_)) {}
  bool write(const v1::ReportPointsRequest& request) { return stream_->Write(request); }
  bool read(v1::ReportPointsResponse& answer) { return stream_->Read(&answer); }
  void abandon() { context_.TryCancel(); }
  grpc::Status finish() { return stream_->Finish(); }

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  Cancellation::Guard guard_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ReportPointsRequest, v1::ReportPointsResponse>> stream_;
};

PointStream::PointStream(Client& client, std::string session, PointStreamEvents events)
    : client_(client), session_(std::move(session)), events_(std::move(events)) {}

PointStream::~PointStream() { stop(); }

void PointStream::start() {
  thread_ = std::thread([this] { run(); });
}

void PointStream::stop() {
  stopping_.cancel();
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void PointStream::add(std::shared_ptr<Attempt> attempt) {
  std::lock_guard lock(mutex_);
  Lane& lane = lanes_[attempt->key()];
  lane.sent = attempt->outbox().acked_seq();
  lane.attempt = std::move(attempt);
  changed_.notify_all();
}

void PointStream::remove(LeaseBook::Key key) {
  std::lock_guard lock(mutex_);
  lanes_.erase(key);
}

void PointStream::points_waiting() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool PointStream::wants_to_send(const Lane& lane) {
  const Outbox& outbox = lane.attempt->outbox();
  return lane.sent < outbox.last_seq() && lane.sent - outbox.acked_seq() < kWindow;
}

bool PointStream::wait_for_points() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    if (stopped_) return true;
    for (const auto& [key, lane] : lanes_) {
      if (lane.attempt->outbox().acked_seq() < lane.attempt->outbox().last_seq()) return true;
    }
    return false;
  });
  return !stopped_;
}

void PointStream::run() {
  Backoff backoff(kRetryFirst / 10, kHeartbeat);
  while (wait_for_points()) {
    {
      std::lock_guard lock(mutex_);
      broken_ = false;
      for (auto& [key, lane] : lanes_) lane.sent = lane.attempt->outbox().acked_seq();
    }
    client_.wait_connected(kConnect);
    Connection connection(client_, stopping_);
    std::thread reader([&] {
      v1::ReportPointsResponse answer;
      while (connection.read(answer)) {
        take_answer(answer);
        backoff.reset();
      }
      std::lock_guard lock(mutex_);
      broken_ = true;
      changed_.notify_all();
    });
    write_all(connection);
    connection.abandon();
    reader.join();
    const absl::Status status = from_wire(connection.finish(), client_.address());
    if (has_reason(status, ErrorReason::kWorkerNotFound)) events_.session_unknown();
    log_debug("the point stream ended: {}", std::string(status.message()));
    stopping_.wait_for(backoff.next());
  }
}

std::shared_ptr<Attempt> PointStream::next_to_send(std::int64_t& after) {
  std::unique_lock lock(mutex_);
  while (!broken_ && !stopped_) {
    // In turn, beginning after the one served last.
    auto lane = lanes_.upper_bound(last_served_);
    for (std::size_t i = 0; i < lanes_.size(); ++i, ++lane) {
      if (lane == lanes_.end()) lane = lanes_.begin();
      if (!wants_to_send(lane->second)) continue;
      last_served_ = lane->first;
      after = lane->second.sent;
      return lane->second.attempt;
    }
    changed_.wait(lock);
  }
  return nullptr;
}

void PointStream::write_all(Connection& connection) {
  std::int64_t after = 0;
  Microseconds lingered = 0;  // once for all attempts, not for each
  while (const auto attempt = next_to_send(after)) {
    const Microseconds now = system_clock().steady();
    if (attempt->outbox().last_seq() - after < kPointsPerBatch && now - lingered > Microseconds{kPointLinger / 1us}) {
      if (stopping_.wait_for(kPointLinger)) return;
      lingered = system_clock().steady();
    }
    auto batch = attempt->outbox().read_after(after);
    if (!batch.ok()) {
      remove(attempt->key());
      events_.failed(attempt->key(), batch.status());
      continue;
    }
    if (!batch->has_value()) continue;
    v1::ReportPointsRequest request;
    request.set_session(session_);
    request.set_stage(attempt->key().first);
    request.set_attempt(attempt->key().second);
    request.set_first_seq((*batch)->first_seq);
    *request.mutable_points() = std::move((*batch)->points);
    {
      std::lock_guard lock(mutex_);  // before the write: its answer may move the mark back
      if (const auto lane = lanes_.find(attempt->key()); lane != lanes_.end()) lane->second.sent = (*batch)->last_seq;
    }
    if (!connection.write(request)) return;
  }
}

void PointStream::take_answer(const v1::ReportPointsResponse& answer) {
  const LeaseBook::Key key{answer.stage(), answer.attempt()};
  std::shared_ptr<Attempt> attempt;
  {
    std::lock_guard lock(mutex_);
    const auto lane = lanes_.find(key);
    if (lane == lanes_.end()) return;
    attempt = lane->second.attempt;
    if (answer.reason() == to_string(ErrorReason::kSequenceGap)) lane->second.sent = answer.acked_seq();
  }
  if (answer.reason() == to_string(ErrorReason::kStaleAttempt)) {
    events_.stale(key);
    return;
  }
  if (!answer.reason().empty() && answer.acked_seq() < attempt->outbox().acked_seq()) {
    // The server has lost what it acknowledged (a restored backup): the attempt cannot be mended, its stage
    // can.
    log_error("the server forgot points of attempt {} that it had acknowledged; dropping the attempt", attempt->name());
    events_.stale(key);
    return;
  }
  if (const absl::Status status = attempt->acknowledge(answer.acked_seq()); !status.ok()) events_.failed(key, status);
  points_waiting();
}

}  // namespace locus
