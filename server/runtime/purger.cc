// Takes away what deleted experiments leave.
#include "server/runtime/purger.h"

#include "core/base/error.h"
#include "core/log/log.h"

namespace locus::server {
namespace {

constexpr int kTrialsAtOnce = 16;  // some milliseconds of the writer
constexpr auto kRetryAfter = std::chrono::seconds(5);

}  // namespace

Purger::Purger(Store& store, Coordinator& coordinator, Maintenance& maintenance)
    : store_(store), coordinator_(coordinator), maintenance_(maintenance), thread_([this] { serve(); }) {}

Purger::~Purger() { stop(); }

void Purger::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  rested_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Purger::purge(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const std::int64_t mine = ++asked_;
  woken_.notify_all();
  rested_.wait_for(lock, most, [&] { return served_ >= mine || stopping_; });
  return served_ >= mine;
}

bool Purger::busy() const {
  const std::lock_guard lock(mutex_);
  return served_ < asked_;
}

void Purger::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock, [&] { return served_ < asked_ || stopping_; });
    if (stopping_) return;
    const std::int64_t asked = asked_;
    lock.unlock();
    const absl::StatusOr<bool> more = one_piece();
    lock.lock();
    if (!more.ok()) {
      log_warning("the rows of a deleted experiment could not be removed; they are tried again: {}",
                  std::string(more.status().message()));
      woken_.wait_for(lock, kRetryAfter, [&] { return stopping_; });
    } else if (!*more) {
      served_ = asked;
      rested_.notify_all();
    }
  }
}

absl::StatusOr<bool> Purger::one_piece() {
  LOCUS_ASSIGN_OR_RETURN(const Purge next, store_.next_purge(kTrialsAtOnce));
  if (!next.left) return false;
  const Command answer = call(coordinator_, PurgeDue{.trials = kTrialsAtOnce});
  if (const auto* error = std::get_if<ReplyError>(&answer)) return error->status;
  if (std::get<ReplyDone>(answer).later) return true;
  maintenance_.collect_now(next.artifacts);
  return true;
}

}  // namespace locus::server
