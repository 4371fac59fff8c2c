// The daemon's attempts on disk and in memory.
#include "worker/link/attempt.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

absl::Status store_message(const google::protobuf::MessageLite& message, const fs::path& path) {
  return replace_file(path, message.SerializeAsString(), 0600);
}

template <class Message>
std::optional<Message> load_message(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  Message message;
  if (!message.ParseFromString(bytes.str())) return std::nullopt;
  return message;
}

}  // namespace

std::string Attempt::name() const { return std::to_string(grant_.stage()) + "/" + std::to_string(grant_.attempt()); }

absl::StatusOr<std::shared_ptr<Attempt>> Attempt::create(const fs::path& root, const v1::StageGrant& grant,
                                                         OutboxOptions options) {
  const fs::path folder = root / (std::to_string(grant.stage()) + "-" + std::to_string(grant.attempt()));
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (error) return file_error("create", folder, error.value());
  std::shared_ptr<Attempt> attempt(new Attempt(folder, grant));
  LOCUS_RETURN_IF_ERROR(store_message(grant, folder / "grant"));
  LOCUS_ASSIGN_OR_RETURN(attempt->outbox_, Outbox::open(folder / "outbox", options));
  attempt->grant_written_ = system_clock().steady();
  return attempt;
}

absl::StatusOr<std::shared_ptr<Attempt>> Attempt::recover(const fs::path& folder, OutboxOptions options) {
  const auto grant = load_message<v1::StageGrant>(folder / "grant");
  if (!grant || grant->stage() == 0) return file_error("read", folder / "grant", EIO);
  std::shared_ptr<Attempt> attempt(new Attempt(folder, *grant));
  LOCUS_ASSIGN_OR_RETURN(attempt->outbox_, Outbox::open(folder / "outbox", options));
  attempt->outcome_ = load_message<v1::CompleteAttemptRequest>(folder / "outcome");
  // A power cut leaves any part of what was not yet flushed, an empty file as well.
  if (attempt->outcome_ &&
      (attempt->outcome_->stage() != grant->stage() || attempt->outcome_->attempt() != grant->attempt() ||
       attempt->outcome_->last_seq() > attempt->outbox_->last_seq()))
    attempt->outcome_.reset();
  if (!attempt->outcome_) {
    v1::CompleteAttemptRequest outcome;
    outcome.set_outcome("failed");
    outcome.set_failure_class("worker-lost");
    outcome.set_reason("the worker daemon ended while the attempt ran, and its trainer with it");
    std::error_code ignored;
    fs::remove(folder / "outcome", ignored);
    LOCUS_RETURN_IF_ERROR(attempt->finish(std::move(outcome), {}));
  }
  return attempt;
}

void Attempt::add_checkpoint(PendingCheckpoint checkpoint) {
  std::lock_guard lock(mutex_);
  std::erase_if(checkpoints_, [&](const PendingCheckpoint& waits) { return checkpoint.best || !waits.best; });
  newest_ = checkpoint;
  checkpoints_.push_back(std::move(checkpoint));
  changed_.notify_all();
}

std::optional<PendingCheckpoint> Attempt::newest_checkpoint() const {
  std::lock_guard lock(mutex_);
  return newest_;
}

void Attempt::checkpoint_committed(std::int64_t step) {
  std::lock_guard lock(mutex_);
  committed_step_ = step;
}

std::int64_t Attempt::committed_step() const {
  std::lock_guard lock(mutex_);
  return committed_step_;
}

absl::Status Attempt::finish(v1::CompleteAttemptRequest outcome, std::vector<ArtifactCache::Pin> kept) {
  outcome.set_stage(grant_.stage());
  outcome.set_attempt(grant_.attempt());
  outcome.set_last_seq(outbox_->last_seq());  // for recover()
  std::lock_guard lock(mutex_);
  if (outcome_) return absl::OkStatus();
  const absl::Status stored = store_message(outcome, folder_ / "outcome");
  outcome_written_ = system_clock().steady();
  outcome_ = std::move(outcome);
  kept_ = std::move(kept);
  changed_.notify_all();
  return stored;
}

absl::Status Attempt::settle(Microseconds age) {
  std::lock_guard one(settling_);
  bool grant = false, outcome = false;
  {
    std::lock_guard lock(mutex_);
    if (discarded_ || removed_) return absl::OkStatus();
    const Microseconds before = system_clock().steady() - age;
    grant = grant_written_ && *grant_written_ <= before;
    outcome = outcome_written_ && *outcome_written_ <= before;
  }
  if (!grant && !outcome) return absl::OkStatus();
  // Points first: an outcome is of no use without them.
  LOCUS_RETURN_IF_ERROR(outbox_->flush());
  if (grant) LOCUS_RETURN_IF_ERROR(sync_file(folder_ / "grant"));
  if (outcome) LOCUS_RETURN_IF_ERROR(sync_file(folder_ / "outcome"));
  LOCUS_RETURN_IF_ERROR(sync_folder(folder_));
  if (grant) LOCUS_RETURN_IF_ERROR(sync_folder(folder_.parent_path()));
  std::lock_guard lock(mutex_);
  if (grant) grant_written_.reset();
  if (outcome) outcome_written_.reset();
  return absl::OkStatus();
}

Attempt::Work Attempt::wait_for_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return discarded_ || interrupted_ || outcome_ || !checkpoints_.empty(); });
  Work work;
  if (discarded_ || interrupted_) return work;
  if (!checkpoints_.empty()) {
    work.checkpoint = std::move(checkpoints_.front());
    checkpoints_.pop_front();
  } else {
    work.outcome = outcome_;
  }
  return work;
}

absl::Status Attempt::acknowledge(std::int64_t seq) {
  const absl::Status done = outbox_->acknowledge(seq);
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  return done;
}

bool Attempt::wait_acknowledged(std::int64_t seq) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return discarded_ || interrupted_ || outbox_->acked_seq() >= seq; });
  return !discarded_ && !interrupted_;
}

bool Attempt::finished() const {
  std::lock_guard lock(mutex_);
  return outcome_.has_value();
}

void Attempt::discard() {
  std::lock_guard lock(mutex_);
  discarded_ = true;
  checkpoints_.clear();
  changed_.notify_all();
}

void Attempt::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

bool Attempt::discarded() const {
  std::lock_guard lock(mutex_);
  return discarded_;
}

bool Attempt::removed() const {
  std::lock_guard lock(mutex_);
  return removed_;
}

void Attempt::remove_folder() {
  {
    std::lock_guard lock(mutex_);
    removed_ = true;
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace locus
