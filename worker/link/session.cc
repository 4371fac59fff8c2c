// Registration, heartbeats, and the long poll for work.
#include "worker/link/session.h"

#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>

#include "client/backoff.h"
#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/log/log.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

LeaseWish wish_of(v1::Wish wish) {
  switch (wish) {
    case v1::WISH_CHECKPOINT_AND_STOP:
      return LeaseWish::kCheckpointAndStop;
    case v1::WISH_CANCEL:
      return LeaseWish::kCancel;
    case v1::WISH_DROP:
      return LeaseWish::kDrop;
    default:
      return LeaseWish::kContinue;
  }
}

template <class Held>
void state(const StatedAttempt& claim, Held* held) {
  held->set_stage(claim.stage_id);
  held->set_attempt(claim.attempt);
  held->set_step(claim.step);
  held->set_steps(claim.steps);
  held->set_phase(claim.phase);
}

// Errors that another try cannot mend.
bool final_refusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

Session::Session(Client& client, Leases& leases, v1::RegisterWorkerRequest announcement, SessionListener& listener)
    : client_(client), leases_(leases), announcement_(std::move(announcement)), listener_(listener) {
  announcement_.set_session(random_uuid());
}

Session::~Session() { stop(); }

void Session::start() {
  heartbeats_ = std::thread([this] { keep_leases(); });
  search_ = std::thread([this] { look_for_work(); });
}

void Session::stop() {
  stopping_.cancel();
  leases_.close();
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    end_search();
  }
  if (heartbeats_.joinable()) heartbeats_.join();
  if (search_.joinable()) search_.join();
}

void Session::offer(const std::vector<int>& slots, Microseconds pause) {
  std::lock_guard lock(mutex_);
  free_.insert(slots.begin(), slots.end());
  not_before_ = std::max(not_before_, leases_.now() + pause);
  // A stage that runs alone is granted to a request that names every slot of its device.
  if (asking_ != nullptr) asking_->cancel();
  changed_.notify_all();
}

void Session::take_no_more() {
  std::lock_guard lock(mutex_);
  draining_ = true;
  end_search();
}

void Session::end_search() {
  stop_acquiring_.cancel();
  if (asking_ != nullptr) asking_->cancel();
  changed_.notify_all();
}

void Session::announce(const v1::HeldData& data) {
  {
    std::lock_guard lock(mutex_);
    if (google::protobuf::util::MessageDifferencer::Equals(announcement_.data(), data)) return;
    *announcement_.mutable_data() = data;
  }
  leases_.with([](LeaseBook& book) { book.session_unknown(); });
}

void Session::unknown() {
  {
    std::lock_guard lock(mutex_);
    registered_ = false;
  }
  leases_.with([](LeaseBook& book) { book.session_unknown(); });
}

void Session::keep_leases() {
  Microseconds retry_at = 0;  // of a failed registration
  while (!stopping_.cancelled()) {
    const bool must_register = leases_.with([](LeaseBook& book) { return book.must_register(); });
    absl::Status status;
    if (must_register && leases_.now() >= retry_at) {
      status = register_worker();
      retry_at = leases_.now() + (status.ok() ? 0 : kRetryFirst.count());
    }
    const bool due =
        leases_.with([&](LeaseBook& book) { return !book.must_register() && book.heartbeat_due() <= leases_.now(); });
    if (status.ok() && due) status = send_heartbeat();
    if (!stopping_.cancelled()) report_trouble(status);
    for (const auto& [key, order] : leases_.with([&](LeaseBook& book) { return book.take_orders(leases_.now()); })) {
      listener_.ordered(key, order);
    }
    for (const auto& [key, until] : leases_.with([](LeaseBook& book) { return book.take_stop_points(); }))
      listener_.stop_point_moved(key, until);
    const bool waiting = leases_.with([](LeaseBook& book) { return book.must_register(); });
    // The book always names the next heartbeat; without a session only the next registration and the orders
    // count.
    if (waiting) {
      stopping_.wait_for(std::chrono::microseconds(std::max<Microseconds>(retry_at - leases_.now(), 0)));
    } else {
      leases_.wait_for_duty(leases_.now() + kHeartbeat.count());
    }
  }
}

absl::Status Session::register_worker() {
  v1::RegisterWorkerRequest request;
  {
    std::lock_guard lock(mutex_);
    request = announcement_;
  }
  if (const auto life = listener_.remaining_life()) {
    *request.mutable_time_left() = google::protobuf::util::TimeUtil::MicrosecondsToDuration(life->left);
    *request.mutable_lifetime() = google::protobuf::util::TimeUtil::MicrosecondsToDuration(life->whole);
  }
  for (const StatedAttempt& claim : leases_.with([](LeaseBook& book) { return book.claims(); }))
    state(claim, request.add_held());
  const auto answer = client_.register_worker(request, {.patience = 0us, .cancellation = &stopping_});
  if (!answer.ok()) {
    if (!may_be_our_past(answer.status()) && final_refusal(answer.status())) {
      listener_.refused(answer.status());
      stopping_.wait_for(kReattachGrace);  // until the daemon, which was told, ends us
    }
    return answer.status();
  }
  log_info("registered as {} at {}", announcement_.name(), client_.address());
  leases_.with([](LeaseBook& book) { book.registration_answered(); });
  {
    std::lock_guard lock(mutex_);
    registered_ = true;
    announcement_.set_take_over(false);  // meant for the start: whoever takes the name after us has it
    changed_.notify_all();
  }
  listener_.registered();
  return send_heartbeat();
}

// The holder of our name used our work folder, before the machine started anew, or in the machine this one is a copy of.
// If it is our past it stays silent, and within a lease the server takes it for gone.
bool Session::may_be_our_past(const absl::Status& refusal) {
  const auto detail = error_detail(refusal);
  if (!detail || detail->reason != ErrorReason::kWorkerNameTaken || !detail->metadata.contains("same_folder"))
    return false;
  if (name_wanted_since_ == 0) name_wanted_since_ = leases_.now();
  return leases_.now() - name_wanted_since_ <= (kLease + kHeartbeat).count();
}

absl::Status Session::send_heartbeat() {
  const Microseconds sent = leases_.now();
  v1::SyncLeasesRequest request;
  request.set_session(id());
  SystemSamples samples = listener_.take_samples();
  if (samples.machine) *request.mutable_sample() = *std::move(samples.machine);
  for (const StatedAttempt& claim : leases_.with([&](LeaseBook& book) { return book.heartbeat_sent(sent); })) {
    auto* held = request.add_held();
    state(claim, held);
    if (const auto found = samples.attempts.find({claim.stage_id, claim.attempt}); found != samples.attempts.end())
      *held->mutable_sample() = std::move(found->second);
  }
  // A late answer is worth less than the next question.
  const auto answer =
      client_.sync_leases(request, {.deadline = kHeartbeat, .patience = 0us, .cancellation = &stopping_});
  if (!answer.ok()) {
    if (has_reason(answer.status(), ErrorReason::kWorkerNotFound)) unknown();
    // Its certificate was revoked or has run out: only a person can have it let in again.
    if (absl::IsUnauthenticated(answer.status())) listener_.refused(answer.status());
    return answer.status();
  }
  std::vector<std::pair<LeaseBook::Key, LeaseWish>> wishes;
  std::map<LeaseBook::Key, std::int64_t> until;
  for (const auto& wish : answer->wishes()) {
    const LeaseBook::Key key{wish.stage(), wish.attempt()};
    wishes.push_back({key, wish_of(wish.wish())});
    if (wish.until_step() != kToTheEnd) until[key] = wish.until_step();
  }
  leases_.with([&](LeaseBook& book) { book.heartbeat_answered(sent, wishes, until); });
  return absl::OkStatus();
}

void Session::report_trouble(const absl::Status& status) {
  if (status.ok()) {
    if (troubled_) log_info("the server answers again");
    troubled_ = false;
  } else if (!troubled_ && !has_reason(status, ErrorReason::kWorkerNotFound)) {
    log_warning("{}; {}", std::string(status.message()),
                absl::IsUnauthenticated(status) ? "this worker ends" : "training goes on, trying again");
    troubled_ = true;
  }
}

bool Session::wait_until_wanting(std::vector<int>& slots, Cancellation& call) {
  std::unique_lock lock(mutex_);
  while (!stopped_ && !draining_) {
    const Microseconds now = leases_.now();
    if (registered_ && !free_.empty() && now >= not_before_) {
      slots.assign(free_.begin(), free_.end());
      asking_ = &call;
      return true;
    }
    if (registered_ && !free_.empty()) {
      changed_.wait_for(lock, std::chrono::microseconds(not_before_ - now));
    } else {
      changed_.wait(lock);
    }
  }
  return false;
}

void Session::look_for_work() {
  Backoff backoff(kRetryFirst / 10, kHeartbeat);
  std::string request_id = random_uuid();
  std::vector<int> slots;
  for (;;) {
    Cancellation call;
    if (!wait_until_wanting(slots, call)) return;
    v1::AcquireStageRequest request;
    request.set_session(id());
    request.set_request_id(request_id);
    request.mutable_free_slots()->Add(slots.begin(), slots.end());
    request.mutable_wait_duration()->set_seconds(kLongPoll.count());
    const Microseconds sent = leases_.now();
    const auto answer = client_.acquire_stage(request, {.patience = 0us, .cancellation = &call});
    {
      std::lock_guard lock(mutex_);
      asking_ = nullptr;
    }
    if (!answer.ok()) {
      if (call.cancelled()) continue;  // the same request id: it may have been granted
      if (has_reason(answer.status(), ErrorReason::kWorkerNotFound)) unknown();
      stop_acquiring_.wait_for(
          backoff.next());  // the same request id again: a grant whose answer was lost is answered again
      continue;
    }
    backoff.reset();
    request_id = random_uuid();
    if (!answer->has_grant()) continue;
    {
      std::lock_guard lock(mutex_);
      for (const int slot : answer->grant().slots()) free_.erase(slot);
    }
    listener_.granted(answer->grant(), sent);
  }
}

}  // namespace locus
