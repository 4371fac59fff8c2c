// One device slot: a thread that runs one attempt after another, in a trainer child it keeps between them. An attempt that is
// granted several slots is run by the first of them, in a fresh trainer for each; the others have nothing to do meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "worker/app/attempt_run.h"
#include "worker/app/frames.h"
#include "worker/app/load_memory.h"
#include "worker/app/packing.h"
#include "worker/app/peers.h"
#include "worker/app/trainer_process.h"
#include "worker/link/link.h"

namespace locus {

struct SlotSetup {
  int index = 0;            // among the slots announced
  SlotExecution execution;  // `work` is filled in per attempt
  TrainerSetup trainer;
  // One that runs with this slot's, on the device of another slot that an attempt was granted, too.
  std::function<absl::StatusOr<TrainerSetup>(int slot)> peer;
  std::filesystem::path scratch;  // where its trainer may write; there, and nobody else's
  std::string catalog_digest;     // what the trainer must announce
  RunLimits limits;
  std::function<void(const std::string& dataset)> check_data;  // after a fault in a stage's data; may take minutes
};

// Thread-safe. `link`, `packing`, which has a place for it, and `loads` must outlive it.
class Slot {
 public:
  // `unusable` is told, once, when the trainer is not the one whose catalog was announced: the daemon must
  // start anew.
  Slot(SlotSetup setup, Link& link, Packing& packing, LoadMemory& loads,
       std::function<void(const absl::Status&)> unusable);
  ~Slot();

  void start();
  void assign(std::shared_ptr<Attempt> attempt);  // the slot must be free
  void stop_attempt(LeaseBook::Key key);          // nothing happens if it runs another one, or none
  void discard_attempt(LeaseBook::Key key);
  void move_stop_point(LeaseBook::Key key, std::int64_t until_step);  // it is to park there
  // Stops the running attempt with a checkpoint, not later than `kill_at`, and ends the thread; join() waits
  // for it.
  void drain(Microseconds kill_at);
  void join();
  bool busy();  // an attempt is under way
  // The attempt at work and the process of its trainer; nothing between attempts.
  std::optional<std::pair<LeaseBook::Key, pid_t>> at_work();

 private:
  void run();
  void finish_stopped(Attempt& attempt);
  bool overdue();  // of a drain
  void run_attempt(const std::shared_ptr<Attempt>& attempt);
  std::int64_t needed(const v1::StageGrant& grant, const std::string& load) const;  // bytes, as Packing takes them
  bool begin_in_turn(Attempt& attempt, const std::string& load);  // false: it has been told to end before
  void carry(Attempt& attempt, const Json& start, const std::string& load);
  absl::Status ensure_trainer();
  absl::Status gather(const std::vector<int>& others);
  absl::StatusOr<std::unique_ptr<TrainerProcess>> start_trainer(const TrainerSetup& trainer);
  absl::Status await_hello(TrainerProcess& trainer);
  std::filesystem::path files_of(const Attempt& attempt) const;  // for the trainer
  absl::StatusOr<Json> prepare(Attempt& attempt, std::vector<ArtifactCache::Pin>& pins);
  RunWishes wishes();
  void retire_trainer();
  void note_trainer(pid_t pid);  // of the attempt that begins; 0: it has ended

  const SlotSetup setup_;
  Link& link_;
  Packing& packing_;
  LoadMemory& loads_;
  const std::function<void(const absl::Status&)> unusable_;
  Wakeup wakeup_;
  std::unique_ptr<TrainerProcess> trainer_;  // of the slot's thread
  std::unique_ptr<Peers> peers_;             // likewise; null unless an attempt on several devices runs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Attempt> attempt_;
  RunWishes wishes_;
  bool draining_ = false;
  pid_t trainer_pid_ = 0;  // of the attempt at work; 0: none
  std::thread thread_;
};

}  // namespace locus
