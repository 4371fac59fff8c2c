// One attempt on one trainer, from the start frame to its end.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/search/rows.h"
#include "worker/app/frames.h"
#include "worker/app/peers.h"
#include "worker/app/trainer_process.h"
#include "worker/app/watchdog.h"
#include "worker/link/link.h"

namespace locus {

// A descriptor that wakes a poll(). Thread-safe.
class Wakeup {
 public:
  Wakeup();
  int fd() const { return event_.get(); }
  void wake() const;
  void clear() const;

 private:
  Fd event_;
};

// What the server, a drain or the end of the daemon want of the attempt that runs in a slot, put together: the server's
// wish has no deadline, a drain has no "discard". Set by them, obeyed by the run.
struct RunWishes {
  bool stop = false;                    // save a checkpoint and end as stopped
  bool discard = false;                 // end, nothing is reported
  Microseconds kill_at = 0;             // with stop: not later than this; 0: the watchdog alone decides
  std::int64_t until_step = kToTheEnd;  // where to park
};

struct RunLimits {
  Microseconds silence, start_silence, kill_wait;
};

// How long an attempt may take, on the worker's steady clock.
struct TimeLimit {
  Microseconds end = 0;      // 0: no limit
  std::int64_t seconds = 0;  // as it was set, for people
};

// Lives on the slot's thread; the wishes come from a function that is asked after every wake-up.
class AttemptRun {
 public:
  // `judge` may change the outcome before it is reported. `time`: then the trainer is told to save a checkpoint and stop, and the attempt ends as timeout.
  AttemptRun(Link& link, Attempt& attempt, TrainerProcess& trainer, const Wakeup& wakeup, RunLimits limits,
             TimeLimit time, std::function<RunWishes()> wishes,
             std::function<void(v1::CompleteAttemptRequest&)> judge = {});

  // The attempt is that of these, too, each given its start frame as run() begins; the trainer is that of rank 0. When one of
  // them ends before its time, so does the attempt. They must outlive this.
  void join(Peers& peers);

  // Sends the frame and carries the attempt to its end; the outcome goes to the link. True: the trainer waits
  // for the next start. False: it is gone or not to be trusted, and must be replaced.
  bool run(const Json& start);
  bool met_data_fault() const { return data_fault_; }                  // it failed for missing or damaged data
  const std::optional<Json>& end_frame() const { return end_frame_; }  // the trainer's last words; nothing: it had none

 private:
  enum class Ending { kNone, kStopping, kCancelling, kHung, kTimeUp };

  bool step();  // one poll; false when the attempt has ended
  void tell(const Json& frame);
  void forward_output();                   // what the trainer printed, into the attempt's log
  void note(const std::string& sentence);  // a line of the daemon's own beside it
  void finish(v1::CompleteAttemptRequest outcome, const std::vector<Link::ProducedFile>& outputs = {});
  void obey(const RunWishes& wishes);
  void check_time();
  v1::CompleteAttemptRequest timeout_outcome(const std::string& saved) const;
  void take_frames();
  void take_frame(const Json& frame);
  void require_own(const std::filesystem::path& file) const;  // throws FrameError
  void flush_points();
  void finish_outcome();
  void trainer_gone();
  void watch_peers();
  int poll_milliseconds() const;

  Link& link_;
  Attempt& attempt_;
  TrainerProcess& trainer_;
  const Wakeup& wakeup_;
  const RunLimits limits_;
  const TimeLimit time_;
  const std::function<RunWishes()> wishes_;
  const std::function<void(v1::CompleteAttemptRequest&)> judge_;  // or empty
  const std::string name_;
  Watchdog watchdog_;
  Ending ending_ = Ending::kNone;
  Microseconds kill_at_ = 0;             // 0: no end is near
  std::int64_t until_told_ = kToTheEnd;  // where the trainer knows that it is to park
  std::deque<v1::PointColumns> points_;  // not yet taken by the outbox: while any waits, nothing more is read
  std::optional<Json> end_frame_;        // done or failed; its points go first
  bool socket_open_ = true, ended_ = false, reusable_ = false, data_fault_ = false;
  bool saved_ = false;      // a checkpoint since the time was up
  Peers* peers_ = nullptr;  // null: it has one device
  Microseconds cause_by_ =
      0;                      // trainers lost one another: when what ended one of them must have shown; 0: they did not
  std::string lost_;          // what the trainer of rank 0 said of it
  bool overdue_ = false;      // we ended the trainer because its time was up
  std::string medium_error_;  // the outbox failed
  std::string environment_ = "{}";
  std::filesystem::path work_;  // where the trainer may hand files over from
};

}  // namespace locus
