// The one thread that writes.
#include "storage/sqlite/writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"

namespace locus::sqlite {
namespace {

constexpr std::size_t kCallsPerCommit = 256;  // bounds how long the first of them waits for the last
constexpr int kLogPages = 1000;               // 4 MiB: copied into the file between commits
constexpr int kLongLogPages = 16384;          // 64 MiB: readers kept it from starting over; wait for them once

absl::Status stopped() {
  return make_error(
      absl::StatusCode::kUnavailable, ErrorReason::kStorageFailed,
      "the database stopped taking writes after its disk failed: look at the disk, then restart the server");
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), rows_(*connection_), thread_([this] { serve(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

absl::Status Writer::run(Work work, Rows rows) {
  Call call{std::move(work), rows};
  std::unique_lock lock(mutex_);
  queue_.push_back(&call);
  queued_.notify_one();
  answered_.wait(lock, [&] { return call.done; });
  return std::move(call.outcome.status);
}

std::int64_t Writer::commits_of(ExperimentId id) {
  const std::lock_guard lock(mutex_);
  const auto found = commits_.find(id);
  return found == commits_.end() ? 0 : found->second;
}

void Writer::on_commit(std::function<void(std::int64_t)> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void Writer::serve() {
  for (;;) {
    std::vector<Call*> batch;
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      batch = next_batch();
    }
    commit(batch);
    {
      const std::lock_guard lock(mutex_);
      for (const Call* call : batch) {
        for (const ExperimentId id : call->outcome.recounted) ++commits_[id];
      }
    }
    tell_watchers(batch);
    {
      const std::lock_guard lock(mutex_);
      for (Call* call : batch) call->done = true;
    }
    answered_.notify_all();
    shrink_log();
  }
}

std::vector<Writer::Call*> Writer::next_batch() {
  const auto many = [](const Call* call) { return call->rows == Rows::kMany; };
  auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kCallsPerCommit));
  end = many(queue_.front()) ? queue_.begin() + 1 : std::find_if(queue_.begin(), end, many);
  std::vector<Call*> batch(queue_.begin(), end);
  queue_.erase(queue_.begin(), end);
  return batch;
}

void Writer::commit(const std::vector<Call*>& batch) {
  absl::Status failure = broken_ ? stopped() : absl::OkStatus();
  if (!broken_) {
    try {
      Transaction transaction(*connection_, Connection::Mode::kWrite);
      const bool alone = batch.size() == 1;
      for (Call* call : batch) call->outcome = attempt(call->work, alone);
      if (!alone || batch.front()->outcome.status.ok()) transaction.commit();  // otherwise it is rolled back
    } catch (const SqliteError& error) {
      failure = to_status(error);
      if (error.fatal()) {
        broken_ = true;
        connection_->skip_checkpoint_on_close();  // what is in the log is recovered, and checked, at the next start
      }
    }
  }
  if (failure.ok()) return;
  for (Call* call : batch) {
    call->outcome = {failure};  // refusals too: they may rest on what was rolled back
  }
}

// Alone in its transaction, it needs no savepoint: that is rolled back as a whole.
Writer::Outcome Writer::attempt(const Work& work, bool alone) {
  try {
    std::optional<Savepoint> savepoint;
    if (!alone) savepoint.emplace(*connection_);
    Outcome outcome = work(rows_);
    if (outcome.status.ok()) {
      if (savepoint) savepoint->release();
    } else {
      outcome.notify = false;
      outcome.recounted.clear();
    }
    return outcome;
  } catch (const SqliteError& error) {
    if (!error.constraint() || !connection_->in_transaction()) throw;
    return {to_status(error)};
  }
}

void Writer::tell_watchers(const std::vector<Call*>& batch) {
  if (std::none_of(batch.begin(), batch.end(), [](const Call* call) { return call->outcome.notify; })) return;
  const std::lock_guard lock(callback_mutex_);
  if (!callback_) return;
  try {
    callback_(connection_->number("SELECT COALESCE(MAX(id), 0) FROM event"));
  } catch (const SqliteError&) {
    // The commit stands; watchers hear of it with the next one.
  }
}

void Writer::shrink_log() {
  if (broken_ || connection_->wal_pages() < kLogPages) return;
  try {
    connection_->checkpoint(connection_->wal_pages() >= kLongLogPages);
  } catch (const SqliteError& error) {
    broken_ =
        broken_ || error.fatal();  // full is no failure: the log keeps everything, and the next commit tries again
  }
}

}  // namespace locus::sqlite
