// The link's life: what is run, what arrives, what ends. Delivery itself is in delivery.cc.
#include "worker/link/link.h"

#include <algorithm>

#include "client/enrollment.h"
#include "core/base/error.h"
#include "core/base/trainer_protocol.h"
#include "core/log/log.h"

namespace locus {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

// How much of an attempt's work a power cut may cost.
constexpr auto kSettleAfter = std::chrono::microseconds(1s);

void note_unsettled(const Attempt& attempt, const absl::Status& status) {
  if (status.ok() || attempt.removed()) return;  // delivered meanwhile
  log_warning("attempt {}: {}; a power cut before delivery would lose what it made", attempt.name(),
              std::string(status.message()));
}

void list_output(const std::string& slot, std::int64_t step, const ArtifactCache::Pin& blob,
                 v1::CompleteAttemptRequest& outcome) {
  auto* output = outcome.add_outputs();
  output->set_slot(slot);
  output->set_sha256(blob->sha256);
  output->set_step(step);
}

void end_as_lost(const std::string& what, v1::CompleteAttemptRequest& outcome) {
  outcome.set_outcome("failed");
  outcome.set_failure_class("worker-lost");
  outcome.set_reason(what);
  outcome.clear_step();
  outcome.clear_results();
  outcome.clear_outputs();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Link>> Link::open(LinkOptions options, LinkListener& listener) {
  std::unique_ptr<Link> link(new Link(std::move(options), listener));
  LOCUS_ASSIGN_OR_RETURN(link->control_, Client::connect(link->options_.server, {.tls = link->options_.tls}));
  LOCUS_ASSIGN_OR_RETURN(link->bulk_, Client::connect(link->options_.server, {.tls = link->options_.tls}));
  LOCUS_ASSIGN_OR_RETURN(link->cache_,
                         ArtifactCache::open(link->options_.work / "artifacts", link->options_.cache_bytes));
  link->leases_ = std::make_unique<Leases>(link->options_.leases, system_clock());
  link->session_ = std::make_unique<Session>(*link->control_, *link->leases_, link->options_.announcement,
                                             static_cast<SessionListener&>(*link));
  PointStreamEvents events;
  Link* self = link.get();
  events.stale = [self](LeaseBook::Key key) {
    self->leases_->with([&](LeaseBook& book) { book.remove(key); });
    self->drop(key);
  };
  events.failed = [self](LeaseBook::Key key, const absl::Status& status) {
    log_error("attempt {}/{} dropped: {}", key.first, key.second, std::string(status.message()));
    self->leases_->with([&](LeaseBook& book) { book.remove(key); });  // the lease lapses, the stage is granted anew
    self->drop(key);
  };
  events.session_unknown = [self] { self->session_->unknown(); };
  link->stream_ = std::make_unique<PointStream>(*link->bulk_, link->session_->id(), std::move(events));
  link->logs_ = std::make_unique<LogStream>(*link->bulk_, link->session_->id());
  LOCUS_RETURN_IF_ERROR(link->recover_attempts());
  return link;
}

Link::~Link() { stop(); }

absl::Status Link::recover_attempts() {
  const fs::path root = options_.work / "attempts";
  std::error_code error;
  fs::create_directories(root, error);
  if (error) {
    return make_error(absl::ErrnoToStatusCode(error.value()), ErrorReason::kStorageFailed,
                      "cannot create " + root.string() + ": " + error.message() + "; choose another folder with --work",
                      "work", {{"path", root.string()}});
  }
  for (const auto& entry : fs::directory_iterator(root, error)) {
    auto attempt = Attempt::recover(entry.path(), options_.outbox);
    if (!attempt.ok()) {  // a folder whose grant was never whole: nothing of it was sent
      log_warning("leaving out {}: {}", entry.path().string(), std::string(attempt.status().message()));
      fs::remove_all(entry.path(), error);
      continue;
    }
    log_info("attempt {} was left by an earlier daemon; delivering what it has", (*attempt)->name());
    // Run, but not confirmed: nothing may be committed before the server has said that the token is current.
    const Microseconds unconfirmed = leases_->now() - options_.leases.fence - 1;
    leases_->with([&](LeaseBook& book) { book.add((*attempt)->key(), unconfirmed, leases_->now()); });
    begin(*attempt);
  }
  return absl::OkStatus();
}

void Link::start() {
  stream_->start();
  logs_->start();
  session_->start();
  settler_ = std::thread([this] { settle_attempts(); });
}

void Link::offer(const std::vector<int>& slots) { session_->offer(slots); }
void Link::take_no_more() {
  draining_.cancel();
  session_->take_no_more();
}

void Link::announce(const v1::HeldData& data) { session_->announce(data); }

void Link::keep_certificate() {
  if (!options_.tls.wanted()) return;
  const auto due = renewal_due(options_.tls, system_clock().wall() / 1'000'000);
  if (!due.ok() || !*due) return;
  const absl::Status status = renew(*control_, options_.tls);
  if (status.ok()) return log_info("this worker's certificate was renewed");
  log_warning("this worker's certificate was not renewed: {}", std::string(status.message()));
}

void Link::stop() {
  if (!session_) return;
  stopping_.cancel();
  draining_.cancel();
  session_->stop();
  if (stream_) stream_->stop();
  if (logs_) logs_->stop();
  if (settler_.joinable()) settler_.join();
  std::map<LeaseBook::Key, Delivery> left;
  {
    std::lock_guard lock(mutex_);
    left.swap(deliveries_);
  }
  for (auto& [key, delivery] : left) delivery.attempt->interrupt();
  for (auto& [key, delivery] : left) {
    delivery.thread.join();
    if (!delivery.done) note_unsettled(*delivery.attempt, delivery.attempt->settle());
  }
}

// What is still here after a while may be for long: the server may be away.
void Link::settle_attempts() {
  while (!stopping_.cancelled()) {
    stopping_.wait_for(kSettleAfter / 2);
    std::vector<std::shared_ptr<Attempt>> attempts;
    {
      std::lock_guard lock(mutex_);
      for (const auto& [key, delivery] : deliveries_) {
        if (!delivery.done) attempts.push_back(delivery.attempt);
      }
    }
    for (const auto& attempt : attempts) note_unsettled(*attempt, attempt->settle(kSettleAfter.count()));
  }
}

void Link::granted(const v1::StageGrant& grant, Microseconds request_sent) {
  const LeaseBook::Key key{grant.stage(), grant.attempt()};
  const std::vector<int> slots(grant.slots().begin(), grant.slots().end());
  if (!leases_->with(
          [&](LeaseBook& book) { return book.add(key, request_sent, leases_->now(), grant.until_step()); })) {
    session_->offer(slots);  // a late copy of a grant that is run or given up
    return;
  }
  cache_->make_room();
  auto attempt = Attempt::create(options_.work / "attempts", grant, options_.outbox);
  if (!attempt.ok()) {
    log_error("cannot take attempt {}/{} up: {}", key.first, key.second, std::string(attempt.status().message()));
    leases_->with([&](LeaseBook& book) { book.remove(key); });
    session_->offer(slots, kLease.count());  // a full or broken disk must not burn through the queue
    return;
  }
  begin(*attempt);
  listener_.granted(*std::move(attempt));
}

void Link::ordered(LeaseBook::Key key, LeaseOrder order) {
  switch (order) {
    case LeaseOrder::kCheckpointAndStop:
      listener_.stop_wished(key);
      return;
    case LeaseOrder::kDiscard:
      drop(key);
      return;
  }
}

void Link::begin(const std::shared_ptr<Attempt>& attempt) {
  reap();
  stream_->add(attempt);
  std::lock_guard lock(mutex_);
  Delivery& delivery = deliveries_[attempt->key()];
  delivery.attempt = attempt;
  delivery.thread = std::thread([this, attempt] {
    deliver(attempt);
    std::lock_guard done(mutex_);
    if (const auto own = deliveries_.find(attempt->key()); own != deliveries_.end()) own->second.done = true;
    changed_.notify_all();
  });
}

// The book has forgotten the attempt already; its delivery thread removes the folder.
void Link::drop(LeaseBook::Key key) {
  std::shared_ptr<Attempt> attempt;
  {
    std::lock_guard lock(mutex_);
    const auto found = deliveries_.find(key);
    if (found == deliveries_.end()) return;
    attempt = found->second.attempt;
  }
  // A heartbeat may cross the answer to an outcome; then nothing is lost.
  log_entry(attempt->finished() ? LogLevel::kDebug : LogLevel::kInfo, "attempt {} is discarded", {attempt->name()});
  stream_->remove(key);
  attempt->discard();
  listener_.discarded(key);
}

void Link::reap() {
  std::vector<std::thread> ended;
  {
    std::lock_guard lock(mutex_);
    for (auto it = deliveries_.begin(); it != deliveries_.end();) {
      if (it->second.done) {
        ended.push_back(std::move(it->second.thread));
        it = deliveries_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (auto& thread : ended) thread.join();
}

bool Link::delivered() {
  std::lock_guard lock(mutex_);
  return all_delivered();
}

bool Link::all_delivered() const {
  return std::all_of(deliveries_.begin(), deliveries_.end(), [](const auto& entry) { return entry.second.done; });
}

bool Link::wait_delivered(std::chrono::microseconds time) {
  const Microseconds end = leases_->now() + time.count();
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, time, [this] { return all_delivered(); })) return false;
  }
  // Logs are worth a wait, but no complaint.
  logs_->wait_sent(std::chrono::microseconds(std::max<Microseconds>(0, end - leases_->now())));
  return true;
}

void Link::append_log(Attempt& attempt, const std::string& text) {
  if (!attempt.discarded()) logs_->append(attempt.key(), text);
}

absl::Status Link::append(Attempt& attempt, const v1::PointColumns& points) {
  if (attempt.discarded()) return absl::AbortedError("discarded");
  LOCUS_RETURN_IF_ERROR(attempt.outbox().append(points));
  stream_->points_waiting();
  return absl::OkStatus();
}

void Link::set_progress(Attempt& attempt, std::int64_t step, std::int64_t steps, const std::string& phase) {
  leases_->with([&](LeaseBook& book) { book.set_progress(attempt.key(), step, steps, phase); });
}

absl::Status Link::add_checkpoint(Attempt& attempt, const fs::path& file, std::int64_t step, bool best) {
  LOCUS_ASSIGN_OR_RETURN(ArtifactCache::Pin blob, cache_->adopt(file));
  attempt.add_checkpoint({std::move(blob), step, best, attempt.outbox().last_seq()});
  return absl::OkStatus();
}

std::int64_t Link::until_step(const Attempt& attempt) {
  return leases_->with([&](LeaseBook& book) { return book.until_step(attempt.key()); });
}

absl::StatusOr<ArtifactCache::Pin> Link::fetch(const std::string& sha256) {
  return cache_->fetch(sha256, *bulk_, {.patience = kReattachGrace, .cancellation = &draining_});
}

void Link::finish(Attempt& attempt, v1::CompleteAttemptRequest outcome, const std::vector<ProducedFile>& outputs) {
  std::vector<ArtifactCache::Pin> kept;
  if (outcome.outcome() == kOutcomeParked) {
    // In the stored outcome, so that a later daemon can commit it, too. The server is not told of it as an output.
    if (const auto checkpoint = attempt.newest_checkpoint(); checkpoint && checkpoint->step == outcome.step()) {
      list_output(checkpoint->best ? kBestCheckpointSlot : kCheckpointSlot, checkpoint->step, checkpoint->blob,
                  outcome);
      kept.push_back(checkpoint->blob);
    } else {
      end_as_lost("the checkpoint of step " + std::to_string(outcome.step()) + ", where it parked, was lost", outcome);
    }
  }
  for (const ProducedFile& output : outputs) {
    auto blob = cache_->adopt(output.path);
    if (!blob.ok()) {
      end_as_lost("the output \"" + output.slot + "\" was lost: " + std::string(blob.status().message()), outcome);
      break;
    }
    list_output(output.slot, output.step, *blob, outcome);
    kept.push_back(*std::move(blob));
  }
  const absl::Status stored = attempt.finish(std::move(outcome), std::move(kept));
  if (!stored.ok()) log_warning("{}; a crash before delivery would lose the outcome", std::string(stored.message()));
}

}  // namespace locus
