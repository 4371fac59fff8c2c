// Sends what trainers print to the server.
#include "worker/link/log_stream.h"

#include <charconv>

#include "client/backoff.h"
#include "core/base/error.h"
#include "core/log/log.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr auto kLogLinger = 500ms;  // printing comes in bursts: one report for each

}  // namespace

LogStream::LogStream(Client& client, std::string session) : client_(client), session_(std::move(session)) {}

LogStream::~LogStream() { stop(); }

void LogStream::start() {
  thread_ = std::thread([this] { run(); });
}

void LogStream::stop() {
  stopping_.cancel();
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LogStream::append(LeaseBook::Key key, const std::string& text) {
  if (text.empty()) return;
  std::lock_guard lock(mutex_);
  Log& log = logs_[key];
  log.pending += text;
  if (const auto size = static_cast<std::int64_t>(log.pending.size()); size > kLogBytes) {
    const auto drop = static_cast<std::size_t>(size - kLogBytes / 2);
    log.left_out += static_cast<std::int64_t>(drop);
    log.pending.replace(0, drop,
                        "\n[worker] " + std::to_string(log.left_out) +
                            " bytes were printed here while the server could not take them\n");
  }
  changed_.notify_all();
}

void LogStream::close(LeaseBook::Key key) {
  std::lock_guard lock(mutex_);
  const auto found = logs_.find(key);
  if (found == logs_.end()) return;
  found->second.closed = true;
  if (found->second.pending.empty()) logs_.erase(found);
  changed_.notify_all();
}

bool LogStream::idle() const {
  for (const auto& [key, log] : logs_) {
    if (!log.pending.empty()) return false;
  }
  return true;
}

bool LogStream::wait_sent(std::chrono::microseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return idle() || stopped_; }) && !stopped_;
}

bool LogStream::wait_sent(LeaseBook::Key key, std::chrono::microseconds time) {
  std::unique_lock lock(mutex_);
  ++hurried_;
  changed_.notify_all();
  const bool sent = changed_.wait_for(lock, time, [&] {
    const auto log = logs_.find(key);
    return stopped_ || log == logs_.end() || log->second.pending.empty();
  });
  --hurried_;
  return sent && !stopped_;
}

void LogStream::linger() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLogLinger, [this] { return stopped_ || hurried_ > 0; });
}

bool LogStream::next(Piece& piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || !idle(); });
  if (stopped_) return false;
  auto log = logs_.upper_bound(last_served_);  // in turn
  for (std::size_t i = 0; i <= logs_.size(); ++i, ++log) {
    if (log == logs_.end()) log = logs_.begin();
    if (log->second.pending.empty()) continue;
    last_served_ = log->first;
    piece = {log->first, log->second.offset, log->second.pending.substr(0, kLogPieceBytes)};
    return true;
  }
  return true;
}

absl::Status LogStream::send(const Piece& piece) {
  v1::ReportLogRequest request;
  request.set_session(session_);
  request.set_stage(piece.key.first);
  request.set_attempt(piece.key.second);
  request.set_offset(piece.offset);
  request.set_text(piece.text);
  return client_.report_log(request, {.patience = 0us, .cancellation = &stopping_}).status();
}

void LogStream::take_answer(const Piece& piece, const absl::Status& status) {
  std::lock_guard lock(mutex_);
  const auto found = logs_.find(piece.key);
  if (found == logs_.end()) return;
  Log& log = found->second;
  const auto detail = error_detail(status);
  if (status.ok()) {
    // Older text may have given way meanwhile: then what was sent is not its beginning any more.
    if (log.pending.compare(0, piece.text.size(), piece.text) == 0) log.pending.erase(0, piece.text.size());
    log.offset = piece.offset + static_cast<std::int64_t>(piece.text.size());
  } else if (detail && detail->reason == ErrorReason::kSequenceGap) {
    const auto expected = detail->metadata.find("expected_sequence");  // a restored backup knows less
    if (expected != detail->metadata.end())
      std::from_chars(expected->second.data(), expected->second.data() + expected->second.size(), log.offset);
  } else if (absl::IsUnimplemented(status) || (detail && (detail->reason == ErrorReason::kStaleAttempt ||
                                                          detail->reason == ErrorReason::kStageNotFound ||
                                                          detail->reason == ErrorReason::kNotPermitted))) {
    log.pending.clear();  // nobody will ever read it
  }
  if (log.closed && log.pending.empty()) logs_.erase(found);
  changed_.notify_all();
}

void LogStream::run() {
  Backoff backoff(kRetryFirst / 10, kHeartbeat);
  Piece piece;
  while (next(piece)) {
    const absl::Status status = send(piece);
    take_answer(piece, status);
    if (status.ok()) {
      backoff.reset();
      if (piece.text.size() < static_cast<std::size_t>(kLogPieceBytes)) linger();
    } else {
      log_debug("log: {}", std::string(status.message()));
      stopping_.wait_for(backoff.next());
    }
  }
}

}  // namespace locus
