// Notes what passes; a message waits while a strike is under way.
#include "tests/chaos/witness.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "locus/v1/common.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::chaos {
namespace {

bool is(const std::string& method, std::string_view name) { return method.ends_with(name); }

template <class Message>
Message parse(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  Message message;
  if (!buffer.Dump(&slices).ok()) return message;
  std::string bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  message.ParseFromString(bytes);
  return message;
}

std::string name_of(const v1::SeriesKey& key) { return key.metric() + " " + key.split() + " " + key.labels(); }

std::string name_of(std::int64_t stage, std::int64_t attempt) {
  return "attempt " + std::to_string(stage) + "/" + std::to_string(attempt);
}

}  // namespace

void Witness::saw_points(const grpc::ByteBuffer& message) {
  const auto report = parse<v1::ReportPointsRequest>(message);
  const auto& columns = report.points();
  std::vector<std::string> series;
  for (const auto& key : columns.series()) series.push_back(name_of(key));
  SeenAttempt& attempt = attempts_[{report.stage(), report.attempt()}];
  attempt.session = report.session();
  attempt.fresh = true;
  for (int i = 0; i < columns.step_size(); ++i) {
    const SeenPoint point{series.at(columns.series_index(i)), columns.step(i),
                          std::bit_cast<std::uint64_t>(columns.value(i))};
    const auto at = static_cast<std::size_t>(report.first_seq() + i - 1);
    const std::string number = std::to_string(at + 1);
    if (at == attempt.points.size()) {
      attempt.points.push_back(point);
    } else if (at > attempt.points.size()) {
      contradictions_.push_back(name_of(report.stage(), report.attempt()) + " left out points before " + number);
      return;
    } else if (attempt.points[at] != point) {
      contradictions_.push_back(name_of(report.stage(), report.attempt()) + " sent another point as " + number);
    }
  }
}

void Witness::request(const void* call, const std::string& method, const grpc::ByteBuffer& message) {
  std::lock_guard lock(mutex_);
  if (is(method, "/RegisterWorker")) {
    const auto worker = parse<v1::RegisterWorkerRequest>(message);
    workers_[worker.session()] = worker.name();
  } else if (is(method, "/ReportPoints")) {
    saw_points(message);
  } else if (is(method, "/CommitCheckpoint")) {
    const auto commit = parse<v1::CommitCheckpointRequest>(message);
    checkpoints_[call] = {commit.session(), commit.stage()};
  } else if (is(method, "/CompleteAttempt")) {
    const auto complete = parse<v1::CompleteAttemptRequest>(message);
    if (complete.outcome() == "succeeded") ending_[call] = complete.stage();
  }
  changed_.notify_all();
}

void Witness::response(const void*, const std::string& method, const grpc::ByteBuffer& message) {
  if (!is(method, "/ReportPoints")) return;
  const auto answer = parse<v1::ReportPointsResponse>(message);
  std::lock_guard lock(mutex_);
  SeenAttempt& attempt = attempts_[{answer.stage(), answer.attempt()}];
  if (answer.reason().empty() && answer.acked_seq() > attempt.acked) {
    attempt.acked = answer.acked_seq();
    ++advances_;
  }
  changed_.notify_all();
}

void Witness::ended(const void* call, const std::string& method, const grpc::Status& status) {
  std::lock_guard lock(mutex_);
  if (const auto commit = checkpoints_.find(call); commit != checkpoints_.end()) {
    if (status.ok()) struck_.erase(commit->second.stage);
    checkpoints_.erase(commit);
  }
  if (status.ok() && is(method, "/CommitCheckpoint")) ++committed_, ++advances_;
  if (const auto ending = ending_.find(call); ending != ending_.end()) {
    if (status.ok() && succeeded_.insert(ending->second).second) ++advances_;
    ending_.erase(ending);
  }
  changed_.notify_all();
}

Witness::AtWork Witness::at_work() const {
  AtWork found;
  const auto take = [&](const AtWork& one) {
    if (workers_.contains(one.session) && !struck_.contains(one.stage)) found = one;
  };
  if (!checkpoints_.empty()) take(checkpoints_.begin()->second);
  for (const auto& [token, attempt] : attempts_) {
    const bool newest = !attempts_.contains({token.first, token.second + 1});
    if (newest && attempt.fresh && static_cast<std::int64_t>(attempt.points.size()) > attempt.acked)
      take({attempt.session, token.first});
  }
  return found;
}

bool Witness::strike(std::size_t stages, std::chrono::seconds limit,
                     const std::function<void(const std::string& worker)>& blow) {
  std::unique_lock lock(mutex_);
  const bool due = changed_.wait_for(lock, limit, [&] {
    return succeeded_.size() >= stages || (committed_ > committed_at_strike_ && at_work().stage != 0);
  });
  if (!due || succeeded_.size() >= stages) return false;
  const AtWork whom = at_work();
  blow(workers_.at(whom.session));
  struck_.insert(whom.stage);
  committed_at_strike_ = committed_;
  for (auto& [token, attempt] : attempts_) attempt.fresh = false;
  checkpoints_.clear();
  return true;
}

bool Witness::wait_succeeded(std::size_t stages, std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  while (succeeded_.size() < stages) {
    const std::int64_t before = advances_;
    if (!changed_.wait_for(lock, limit, [&] { return advances_ > before; })) return false;
  }
  return true;
}

std::size_t Witness::succeeded() const {
  std::lock_guard lock(mutex_);
  return succeeded_.size();
}

std::map<Token, SeenAttempt> Witness::attempts() const {
  std::lock_guard lock(mutex_);
  return attempts_;
}

std::vector<std::string> Witness::contradictions() const {
  std::lock_guard lock(mutex_);
  return contradictions_;
}

}  // namespace locus::chaos
