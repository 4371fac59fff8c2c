// The poll loop of a running attempt.
#include "worker/app/attempt_run.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>

#include "core/base/error.h"
#include "core/base/trainer_protocol.h"
#include "core/log/log.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr int kFullRetryMilliseconds = 50;  // the outbox was full: see whether something was acknowledged
constexpr int kIdleMilliseconds = 1000;
constexpr Microseconds kCauseWait = 5'000'000;  // between what trainers see of a lost one and what its process shows
constexpr auto kLastWords = 2s;                 // between the end of the socket and that of the process

Microseconds now() { return system_clock().steady(); }

// "14:05:09Z"
std::string clock_text(Microseconds wall) {
  const std::int64_t second = (wall / 1'000'000) % 86'400;
  char text[16];
  std::snprintf(text, sizeof text, "%02d:%02d:%02dZ", static_cast<int>(second / 3600),
                static_cast<int>(second / 60 % 60), static_cast<int>(second % 60));
  return text;
}

}  // namespace

Wakeup::Wakeup() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Wakeup::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(event_.get(), &one, sizeof(one));
}

void Wakeup::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(event_.get(), &count, sizeof(count));
}

AttemptRun::AttemptRun(Link& link, Attempt& attempt, TrainerProcess& trainer, const Wakeup& wakeup, RunLimits limits,
                       TimeLimit time, std::function<RunWishes()> wishes,
                       std::function<void(v1::CompleteAttemptRequest&)> judge)
    : link_(link),
      attempt_(attempt),
      trainer_(trainer),
      wakeup_(wakeup),
      limits_(limits),
      time_(time),
      wishes_(std::move(wishes)),
      judge_(std::move(judge)),
      name_(attempt.name()),
      watchdog_(limits.start_silence, limits.silence, now()) {}

// When one of several stands still all fall silent. They say so once they have waited for as long as we would.
void AttemptRun::join(Peers& peers) {
  peers_ = &peers;
  watchdog_ = Watchdog(limits_.start_silence + 2 * kCauseWait, limits_.silence + 2 * kCauseWait, now());
}

bool AttemptRun::run(const Json& start) {
  try {
    until_told_ = start.value("until", kToTheEnd);
    work_ = start.at("execution").at("work").get<std::string>();
    tell(start);
    if (peers_ != nullptr) peers_->start(start, [this](const Json& frame) { tell(frame); });
    while (step()) {
    }
  } catch (const std::exception& error) {
    trainer_.signal(SIGKILL);
    trainer_.wait_end(0ms);
    if (ending_ == Ending::kCancelling) return false;
    auto outcome =
        medium_error_.empty()
            ? failed_outcome("code", "the trainer sent what its daemon does not understand: " +
                                         std::string(error.what()) + "; its last line: " + trainer_.last_line())
            : failed_outcome("worker-lost", medium_error_);
    outcome.set_environment_json(environment_);
    finish(std::move(outcome));
    return false;
  }
  return reusable_;
}

// A trainer that cannot be told anything has ended, or will be taken for hung: reading shows which.
void AttemptRun::tell(const Json& frame) {
  try {
    trainer_.send(frame);
  } catch (const FrameError& error) {
    log_debug("attempt {}: {}", name_, error.what());
  }
}

bool AttemptRun::step() {
  // While points wait for room nothing more is read: the trainer blocks on its socket, which is how training
  // pauses.
  const bool full = !points_.empty();
  std::vector<pollfd> fds = {{socket_open_ && !full ? trainer_.socket() : -1, POLLIN, 0},
                             {trainer_.output(), POLLIN, 0},
                             {full ? -1 : trainer_.process(), POLLIN, 0},
                             {wakeup_.fd(), POLLIN, 0}};
  if (peers_ != nullptr) peers_->add_to(fds);
  ::poll(fds.data(), fds.size(), full ? kFullRetryMilliseconds : poll_milliseconds());
  if (fds[3].revents) wakeup_.clear();
  if (fds[1].revents) forward_output();
  obey(wishes_());
  flush_points();
  if (points_.empty() && fds[0].revents) {
    socket_open_ = trainer_.receive();
    take_frames();
  } else if (points_.empty()) {
    take_frames();  // those decoded already, when room was made
  }
  if (peers_ != nullptr && !ended_) watch_peers();
  if (ended_) return false;
  const bool process_ended = fds[2].revents && !fds[0].revents;  // nothing left to read
  if ((!socket_open_ || process_ended) && points_.empty()) {
    trainer_gone();
    return false;
  }
  check_time();
  return true;
}

int AttemptRun::poll_milliseconds() const {
  Microseconds next = watchdog_.deadline();
  if (kill_at_ > 0) next = std::min(kill_at_, next);
  if (time_.end > 0 && ending_ == Ending::kNone) next = std::min(time_.end, next);
  if (cause_by_ > 0) next = std::min(cause_by_, next);
  return static_cast<int>(std::clamp<Microseconds>((next - now()) / 1000 + 1, 0, kIdleMilliseconds));
}

void AttemptRun::obey(const RunWishes& wishes) {
  if (wishes.discard && ending_ != Ending::kCancelling) {
    if (ending_ != Ending::kHung) tell({{"type", "wish"}, {"attempt", name_}, {"wish", kWishCancel}});
    ending_ = Ending::kCancelling;
    kill_at_ = now() + limits_.kill_wait;
    points_.clear();
  } else if (wishes.stop && ending_ == Ending::kNone) {
    tell({{"type", "wish"}, {"attempt", name_}, {"wish", kWishCheckpointAndStop}});
    ending_ = Ending::kStopping;
  }
  if (wishes.until_step != until_told_ && ending_ == Ending::kNone) {
    until_told_ = wishes.until_step;
    tell({{"type", kFrameUntil}, {"attempt", name_}, {"step", until_told_}});
  }
  if (wishes.stop && wishes.kill_at > 0 && (kill_at_ == 0 || wishes.kill_at < kill_at_)) kill_at_ = wishes.kill_at;
}

void AttemptRun::check_time() {
  if (!points_.empty()) watchdog_.heard(now());  // it is we who keep it waiting
  if (time_.end > 0 && ending_ == Ending::kNone && now() >= time_.end) {
    ending_ = Ending::kTimeUp;
    tell({{"type", "wish"}, {"attempt", name_}, {"wish", kWishCheckpointAndStop}});
    kill_at_ = now() + limits_.kill_wait;
    log_info("attempt {} reached its limit of {} s", name_, time_.seconds);
    note("the limit of " + std::to_string(time_.seconds) + " s is reached: saving a checkpoint and stopping");
  }
  if (kill_at_ > 0 && now() >= kill_at_) {
    trainer_.signal(SIGKILL);
    overdue_ = true;
    trainer_gone();
    ended_ = true;
  } else if (ending_ != Ending::kHung && now() >= watchdog_.deadline()) {
    if (ending_ != Ending::kCancelling) ending_ = Ending::kHung;
    log_warning("attempt {} is silent for too long: ending its trainer {}", name_, trainer_.pid());
    trainer_.signal(SIGTERM);
    kill_at_ = now() + limits_.kill_wait;
    watchdog_.heard(now());
  }
}

void AttemptRun::flush_points() {
  while (!points_.empty()) {
    const absl::Status status = link_.append(attempt_, points_.front());
    if (absl::IsResourceExhausted(status)) return;
    if (!status.ok() && !absl::IsAborted(status)) {
      medium_error_ = std::string(status.message());
      throw std::runtime_error(medium_error_);
    }
    points_.pop_front();
  }
  if (end_frame_) finish_outcome();
}

void AttemptRun::take_frames() {
  while (points_.empty() && !ended_) {
    auto frame = trainer_.next_frame();
    if (!frame) return;
    // What the trainer says of itself is its own; how far it was kept in is ours to say.
    if (const auto said = frame->find("environment"); said != frame->end() && said->is_object())
      (*said)["isolation"] = trainer_.isolation();
    take_frame(*frame);
  }
}

void AttemptRun::take_frame(const Json& frame) {
  const std::string type = frame.at("type").get<std::string>();
  if (peers_ != nullptr && type == kFrameStore) {  // of another attempt: it is refused
    watchdog_.heard(now());
    return peers_->meet(0, frame);
  }
  if (frame.value("attempt", "") != name_) return;  // late words about an attempt that is over
  watchdog_.heard(now());
  if (ending_ == Ending::kCancelling && type != "done" && type != "failed") return;
  if (type == "started") {
    environment_ = canonical_json(frame.at("environment"));
    const auto step = integer_of(frame, "resumed_step");
    link_.set_progress(attempt_, step, integer_of(frame, "steps"), "train");
    note("attempt " + name_ + " begins at step " + std::to_string(step) + " of " +
         std::to_string(integer_of(frame, "steps")) + ": " + environment_);
  } else if (type == "points") {
    for (auto& piece : points_of(frame)) points_.push_back(std::move(piece));
    flush_points();
  } else if (type == "progress") {
    const auto step = integer_of(frame.at("step"));
    watchdog_.progress(step, now());
    link_.set_progress(attempt_, step, integer_of(frame, "steps"), frame.value("phase", "train"));
  } else if (type == "checkpoint") {
    saved_ = ending_ == Ending::kTimeUp;
    require_own(frame.at("path").get<std::string>());
    const auto kept = link_.add_checkpoint(attempt_, frame.at("path").get<std::string>(), integer_of(frame.at("step")),
                                           frame.value("best", false));
    // Training goes on: the next checkpoint may fare better, and without one only time is lost.
    if (!kept.ok()) log_error("a checkpoint of attempt {} is lost: {}", name_, std::string(kept.message()));
    note("checkpoint at step " + std::to_string(integer_of(frame.at("step"))) +
         (kept.ok() ? "" : " is lost: " + std::string(kept.message())));
  } else if (peers_ != nullptr && type == "failed" && frame.value("class", "") == kPeerLost) {
    lost_ = frame.value("reason", "");  // whoever was lost shows why
    if (cause_by_ == 0) cause_by_ = now() + kCauseWait;
  } else if (type == "done" || type == "failed") {
    end_frame_ = frame;
    flush_points();
  }
}

// What ended one of several trainers ends the attempt, and is told as its end: the others only saw it go.
void AttemptRun::watch_peers() {
  if (end_frame_) return;
  peers_->listen();
  if (peers_->lost_others() && cause_by_ == 0) cause_by_ = now() + kCauseWait;
  std::optional<v1::CompleteAttemptRequest> outcome = peers_->cause();
  if (!outcome && cause_by_ > 0 && now() >= cause_by_)
    outcome =
        failed_outcome(to_string(FailureClass::kHung), "a trainer was silent toward the others for too long: " + lost_);
  if (!outcome) return;
  ended_ = true;
  trainer_.signal(SIGKILL);
  trainer_.wait_end(0ms);
  if (ending_ == Ending::kCancelling) return;
  outcome->set_environment_json(environment_);
  log_warning("attempt {}: {}", name_, outcome->reason());
  finish(*std::move(outcome));
}

// We hand over what it names, and could be made to hand over files that it cannot read itself.
void AttemptRun::require_own(const std::filesystem::path& file) const {
  if (file.parent_path() != work_) throw FrameError("a file outside its folder: " + file.string());
}

v1::CompleteAttemptRequest AttemptRun::timeout_outcome(const std::string& saved) const {
  return failed_outcome("timeout", "the attempt reached its limit of " + std::to_string(time_.seconds) +
                                       " s (limits.stage_seconds)" + saved);
}

void AttemptRun::finish_outcome() {
  ended_ = reusable_ = true;
  if (ending_ == Ending::kCancelling) return;
  v1::CompleteAttemptRequest outcome = outcome_of(*end_frame_);
  // One that finished while it was being stopped has finished.
  if (ending_ == Ending::kTimeUp && outcome.outcome() == "stopped")
    outcome = timeout_outcome(saved_ ? " and saved a checkpoint" : ", with nothing to save");
  if (outcome.environment_json().empty()) outcome.set_environment_json(environment_);
  outcome.set_peak_memory_bytes(integer_of(*end_frame_, "peak_memory_bytes"));
  const auto outputs = outputs_of(*end_frame_);
  for (const Link::ProducedFile& output : outputs) require_own(output.path);
  finish(std::move(outcome), outputs);
}

void AttemptRun::trainer_gone() {
  const TrainerEnd end = trainer_.wait_end(std::chrono::duration_cast<std::chrono::milliseconds>(kLastWords));
  reusable_ = false;
  v1::CompleteAttemptRequest outcome;
  switch (ending_) {
    case Ending::kCancelling:
      return;
    case Ending::kHung:
      outcome = failed_outcome("hung", "the trainer was silent for too long and was ended; " + end.reason);
      break;
    case Ending::kTimeUp:
      outcome = timeout_outcome(overdue_ ? " and took too long to save a checkpoint" : "; " + end.reason);
      break;
    case Ending::kStopping:
      if (overdue_) {
        outcome.set_outcome("stopped");
        outcome.set_reason("stopped without a last checkpoint, which took too long");
        break;
      }
      [[fallthrough]];
    case Ending::kNone:
      outcome = failed_outcome(to_string(end.failure_class), end.reason);
      break;
  }
  outcome.set_environment_json(environment_);
  log_warning("attempt {}: {}", name_, outcome.reason());
  finish(std::move(outcome));
}

void AttemptRun::forward_output() {
  trainer_.read_output();
  link_.append_log(attempt_, trainer_.take_output());
}

void AttemptRun::note(const std::string& sentence) {
  link_.append_log(attempt_, "[worker " + clock_text(system_clock().wall()) + "] " + sentence + "\n");
}

void AttemptRun::finish(v1::CompleteAttemptRequest outcome, const std::vector<Link::ProducedFile>& outputs) {
  forward_output();  // first, so that the log ends with the end
  if (judge_) judge_(outcome);
  data_fault_ = outcome.failure_class() == to_string(FailureClass::kData);
  const std::string why = outcome.reason().empty() ? "" : ": " + outcome.reason();
  const std::string where = outcome.outcome() == kOutcomeParked ? " at step " + std::to_string(outcome.step()) : "";
  note(outcome.outcome() + where + (outcome.failure_class().empty() ? "" : " (" + outcome.failure_class() + ")") + why);
  link_.finish(attempt_, std::move(outcome), outputs);
}

}  // namespace locus
