// A worker daemon with its trainers as one process: the real lease book, a model of the trainers, a durable
// outbox for points.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/server.h"
#include "worker/link/lease_book.h"

namespace locus::simulation {

struct WorkerTraits {
  std::string name;
  int slots = 1;
  std::map<std::string, int> revisions;
  Microseconds step_time = kSecond;
  bool supervised = true;  // a supervisor starts it again when it exits
  std::string instance;    // of its folder
  bool take_over = false;
  bool says_data = true;   // what it holds; one of a former release does not
  bool holds_data = true;  // the dataset "d", at the start
  bool bad_data = false;   // which turns out to be damaged when it is read
  WorkerLabels labels = {};
  bool deaf = false;          // its trainers do not stop when they are asked to
  int per_device = 0;         // slots of each of its GPUs; 0: they are the CPU's
  Microseconds lifetime = 0;  // of a daemon, which then stops what it runs and ends; 0: it stays
};

// What happens to a stage of a cell whoever runs it: "diverges" stops with NaN, "poison" takes the daemon
// with it.
enum class Fate { kNormal, kDiverges, kPoison };
Fate fate_of(const std::string& config_json);
std::int64_t steps_of(const std::string& kind);
std::string checkpoint_sha(StageId stage, std::int64_t step);

class WorkerProcess final : public Process {
 public:
  WorkerProcess(World& world, Network& network, ServerProcess& server, Ledger& ledger, WorkerTraits traits,
                LeasePolicy policy, Mutant mutant);

  void kill_trainer();  // one of them, from outside
  // Whether an executor of this attempt lives here and believes that it may commit.
  template <class Visit>
  void visit_executors(Visit visit) const {
    if (!responsive()) return;
    for (const auto& [key, trainer] : trainers_) {
      if (may_commit(key)) visit(key);
    }
  }
  std::int64_t freed() const { return freed_; }  // attempts that were fenced and may commit again
  std::size_t outbox_points() const;
  const WorkerTraits& traits() const { return traits_; }
  // What its owner makes of it before it boots.
  void set_up(int slots, bool deaf, int per_device, Microseconds lifetime) {
    traits_.slots = slots;
    traits_.deaf = deaf;
    traits_.per_device = per_device;
    traits_.lifetime = lifetime;
  }
  void repair_data();  // its owner installs the data set, sound

 private:
  enum class Phase { kTraining, kStopping, kTimeUp, kFinished };
  struct Trainer {
    Grant grant;
    std::int64_t life = 0;  // which trainer process: a timer of a former one does nothing
    Phase phase = Phase::kTraining;
    std::int64_t step = 0;
    AttemptState outcome = AttemptState::kSucceeded;
    FailureClass failure_class = FailureClass::kNone;
    std::deque<std::int64_t> checkpoints;  // steps saved and not yet committed, oldest first
    std::int64_t points_up_to_step = 0;    // acknowledged
    bool delivering = false, sending = false, fenced = false;
  };
  // Numbered points that the server has not acknowledged; survives a crash of the daemon.
  struct Outbox {
    std::int64_t acked = 0;
    std::vector<std::int64_t> steps;  // step of sequence i + 1
    std::vector<double> losses;       // there
  };
  using Key = LeaseBook::Key;

  void on_boot() override;
  void on_crash() override;
  void pump();
  void keep_pumping();
  bool dying() const { return traits_.lifetime > 0 && steady() >= dies_at_; }
  void die();
  void call(std::function<void(Respond)> request, Microseconds deadline, Respond done);
  void register_here();
  void beat();
  void ask_for_work();
  void take(const Grant& grant, Microseconds sent);
  void train(Key key, std::int64_t life);
  bool shares_device(const std::vector<int>& some, const std::vector<int>& others) const;
  void limit(Key key, std::int64_t life, std::int64_t seconds);  // 0: none
  bool park(Key key, Trainer& trainer);                          // where it is to: whether it has
  double strayed(Key key, const Trainer& trainer) const;
  void finish(Trainer& trainer, AttemptState outcome, FailureClass failure_class = FailureClass::kNone);
  void send_points(Key key);
  void send_leftovers();
  void deliver_next(Key key);  // checkpoints in order, then the outcome
  void commit(Key key, std::int64_t step);
  void complete(Key key);
  void delivered(Key key, const absl::Status& status, bool ended);
  void discard(Key key);
  bool may_commit(Key key) const {
    return mutant_ == Mutant::kWorkerIgnoresFence ? book_.runs(key) : book_.may_commit(key, steady());
  }
  bool noticed(const absl::Status& status);  // an unknown session: true if it was that
  std::vector<int> free_slots() const;

  Network& network_;
  ServerProcess& server_;
  Ledger& ledger_;
  WorkerTraits traits_;
  LeasePolicy policy_;
  Mutant mutant_;

  std::string session_;
  bool found_bad_ = false;    // its data, since it booted
  Microseconds dies_at_ = 0;  // steady; of one that does not stay
  LeaseBook book_;
  std::map<Key, Trainer> trainers_;
  std::map<Key, Outbox> outboxes_;  // on disk
  std::map<std::int64_t, Respond> calls_;
  std::int64_t next_call_ = 1, next_life_ = 1;
  bool registering_ = false, asking_ = false;
  std::int64_t freed_ = 0;
  int request_ = 0;
  std::string request_id_;  // kept while the answer is unknown
};

}  // namespace locus::simulation
