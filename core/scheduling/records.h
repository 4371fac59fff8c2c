// What the scheduler remembers of stages, workers and experiments, and the questions about it that change nothing.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduling/accounts.h"
#include "core/scheduling/ready_queue.h"
#include "core/scheduling/requirements.h"
#include "core/scheduling/retry.h"
#include "core/scheduling/scheduler.h"

namespace locus {

// State changes it, by the rules; View shows it to people and can only read. Thread-compatible.
class Scheduler::Records {
 protected:
  friend class Scheduler::View;
  static constexpr Microseconds kNever = std::numeric_limits<Microseconds>::max();
  Records(SchedulerPolicy policy, Now now) : policy_(policy), now_(now), accounts_(policy.usage_half_life) {}

  // Why an attempt is to stop for others, at a checkpoint.
  struct Halt {
    Microseconds since = 0;  // steady
    std::string reason;
    // For which it stops, and how much more its account will hold by it; of several that stop for one only the first
    // says so, and what has overrun its time does not.
    StageId stage = 0;
    int account = 0;
    std::int64_t weight = 0;
  };
  // The attempt that holds a stage.
  struct Running {
    WorkerId worker = 0;
    std::vector<int> slots;
    Microseconds listed = 0;    // steady; when its worker last stated it, or the grant
    bool acknowledged = false;  // its worker has stated it at least once
    std::string resume_sha256;  // as granted; empty: afresh
    std::int64_t resume_step = 0;
    StatedAttempt progress;
    std::int64_t first_step = 0;  // the first progress stated, and when: what an estimate goes by
    Microseconds first_at = 0;
    std::set<std::pair<std::int64_t, std::string>> checkpoints;  // (step, sha256) committed under it
    ServiceClass service_class = ServiceClass::kNormal;
    std::vector<int> accounts;  // that hold what it takes, in equal parts
    std::int64_t part = 0;      // of each, in thousandths of devices
    Microseconds started = 0;   // steady
    Microseconds ends_by = 0;   // steady; its latest end; 0: nobody knows
    bool backfilled = false;    // granted a slot that is kept for another, to be gone before that one begins
    std::optional<Halt> halt;   // it is to stop for others
  };
  // A place in the ready queue.
  struct Ready {
    Lane lane;
    int requirement = 0;
    ReadyKey key;
  };
  // How far the trials that reference a stage want it to go (TrialStageRow::until_step), by experiment and trial.
  using Wants = std::map<std::pair<ExperimentId, std::int64_t>, std::int64_t>;
  // A stage that is not terminal.
  struct Stage {
    StageRow row;
    Wants references;
    std::set<StageId> dependents;  // some may be terminal since
    std::optional<CheckpointRow> resume;
    std::optional<Running> running;
    std::vector<Ready> ready;      // as which it is in the ready queue
    Microseconds ready_since = 0;  // steady; while it is in the ready queue
    Microseconds estimate = 0;     // StagesEstimated
    Microseconds not_before = 0;   // steady; end of the back-off
    std::int64_t parked_at = -1;   // the step where it had parked before it went on; -1: it had not
    int requirement = 0;
    Strikes strikes;
    std::set<WorkerId> avoid;       // where it failed in a way that may be the worker's
    WorkerId preferred_worker = 0;  // the worker that ran its input, or its last attempt
  };
  struct Worker {
    WorkerRow row;
    bool connected = false;  // its session is known to this scheduler
    Microseconds heard = 0;  // steady
    Revisions revisions;
    mutable std::vector<signed char> suits;  // by requirement: whether its offer meets it; -1: not looked at yet
    std::set<StageId> running;               // changed by occupy() and vacate() alone, as are the next three
    std::map<std::pair<int, StageId>, const Stage*> holders;  // by slot; -1: nobody knows which
    std::size_t busy = 0;                                     // slots
    int alone = 0;                                            // how many of what runs run alone on their device
    Labels labels;
    bool gangs = false;                  // its devices can be taken together
    std::string apart;                   // why not
    std::deque<std::string> superseded;  // sessions a newer daemon replaced
    struct Asked {
      std::string request_id;
      StageId stage = 0;
      std::int64_t attempt = 0;
    };
    std::deque<Asked> asked;              // newest last: makes requests idempotent
    std::string device_kind;              // that its slots are of
    std::size_t slots = 0;                // announced; 0 before it has registered here
    std::vector<int> device_of;           // by slot: slots of one device share its index; all of the CPU's do
    std::vector<std::int64_t> weight_of;  // by slot, in thousandths of devices
    int device(int slot) const {
      return static_cast<std::size_t>(slot) < device_of.size() ? device_of[static_cast<std::size_t>(slot)] : 0;
    }
    bool cpu(int slot) const { return device(slot) == 0; }
    std::optional<Microseconds> ends_at;       // steady; when its daemon drains by itself
    Microseconds lifetime = 0;                 // of that daemon
    std::map<int, Microseconds> preempted_at;  // by slot, steady; when an attempt was last stopped there for others
    std::set<StageId> failed_in_row;           // by failures that may be its own, without a success between
  };
  using TrialStage = std::pair<StageId, std::int64_t>;     // stage, trial
  using TrialStages = std::map<TrialStage, std::int64_t>;  // and how far it is wanted
  // Failures of one kind among an experiment's stages.
  struct Alike {
    std::set<std::int64_t> cells;
    std::set<StageId> stages;
    std::set<WorkerId> workers;
  };
  struct Experiment {
    ExperimentRow row;
    TrialStages references;  // live stages only
    std::int64_t cells = 0;
    std::map<std::int64_t, std::int64_t> cell_of;  // trial -> cell, of those that reference a stage
    bool proven = false;                           // one of its stages has succeeded
    std::map<std::string, Alike> failures;         // while it is not
    int account = 0;                               // its owner's number
    PlacementPtr rules;                            // null: anywhere
    PlacementPtr rules_of_one;                     // of stages other than trainings, which take one device
  };
  struct Waiting {
    ReplyToken reply = 0;
    WorkerId worker = 0;
    std::string request_id;
    std::vector<int> free_slots;
    Microseconds deadline = 0;
  };
  // Why no trial references a stage any more, and the experiment that its events name; 0 and empty: unknown.
  struct Unreferenced {
    ExperimentId experiment = 0;
    std::string name, reason;
  };
  using Device = std::pair<WorkerId, int>;
  using SlotOf = std::pair<WorkerId, int>;
  // Slots that are being emptied for stages that need several, or a device of their own: nothing that comes after such a
  // stage in grant order is started there.
  struct Kept {
    Turn turn;
    std::optional<Microseconds>
        begins;  // steady; when all that it waits for is free at the latest; absent: nobody knows
  };
  using Reservations = std::map<SlotOf, Kept>;

  // records.cc
  const Stage* find_stage(StageId id) const;
  std::vector<std::string> experiments_of(const Stage& stage) const;  // names of experiments
  std::vector<Ready> ready_places(const Stage& stage) const;          // none: no active experiment wants it
  std::int64_t limit_of(const Stage& stage) const;
  bool meets(const Worker& worker, int requirement) const;
  int fewest_devices(const Stage& stage) const;
  bool large_enough(const Worker& worker, int requirement) const;
  static int devices_of_a_kind(const Worker& worker);
  static int devices_together(const Worker& worker);
  static std::string why_apart(const Worker& worker);
  static std::size_t slots_busy(const Worker& worker);
  void take_rules(Experiment& experiment, const std::string& stored) const;
  bool accepts(const Worker& worker, int requirement) const;
  bool takes(const Worker& worker, const Stage& stage) const;
  bool could_run(const Worker& worker, int requirement) const;
  bool suits(const Worker& worker, int requirement) const;
  bool untried(int requirement) const;
  static std::string duration_text(Microseconds us);

  // ends.cc
  static bool ends(const Worker& worker) { return worker.ends_at || worker.row.drains_later(); }
  static Microseconds time_left(const Worker& worker, Now now);  // of one that ends
  bool ends_in_time(const Worker& worker, StageId stage) const;

  // parking.cc
  static std::int64_t stop_point(const Wants& wants);
  static bool wants_more(std::int64_t until, std::int64_t done);
  static std::int64_t steps_done(const Stage& stage);
  static bool unwanted(const Stage& stage);

  // reservations.cc
  class Room;
  Reservations reservations(const std::vector<Lane>& order) const;
  static const Kept* kept_before(const Reservations& reserved, const SlotOf& slot, const Turn& turn);
  bool needs_several_slots(int requirement) const;
  std::optional<Microseconds> longest(const Stage& stage) const;
  Microseconds latest_end(const Stage& stage) const;
  bool backfills(const Stage& stage, const Kept& kept) const;
  std::optional<Turn> first_backfilled(const std::vector<Lane>& order, const Reservations& reserved,
                                       const std::function<bool(const Turn&)>& accept) const;
  std::vector<int> slots_for(const Waiting& waiting, const Turn& turn, const Reservations& reserved) const;
  bool shut(const Worker& worker, const Turn& turn, const Reservations& reserved) const;

  // slots.cc
  static std::vector<int> slots_of_device(const Worker& worker, int device);
  static bool spreads_alike(const Worker& worker, const std::vector<int>& chosen, int slot);
  const Stage* holder(const Worker& worker, int slot) const;
  const Stage* occupant(const Worker& worker, int slot) const;
  bool vacant(const Worker& worker, int slot, const Waiting& waiting) const;
  std::vector<const Stage*> running_on(const Device& device) const;
  bool taken_alone(const Worker& worker, int slot) const;

  // shares.cc
  std::vector<Lane> turns() const;
  std::optional<Turn> turn_of(const Stage& stage, const std::vector<Lane>& order) const;
  static std::int64_t weight_on(const Worker& worker, const std::vector<int>& slots, bool alone);
  static std::int64_t weight_of_device(const Worker& worker, int device);
  std::set<int> owners_of(const Stage& stage) const;
  bool may_hold(const Lane& lane, std::int64_t weight) const;

  SchedulerPolicy policy_;
  Now now_;
  std::map<ExperimentId, Experiment> experiments_;
  std::map<StageId, Stage> stages_;
  // Those of stages_ that no trial references, to be cancelled piece by piece.
  std::map<StageId, std::shared_ptr<const Unreferenced>> unreferenced_;
  std::map<WorkerId, Worker> workers_;
  std::set<StageId> halting_;        // whose attempts are to stop; some have ended
  std::set<WorkerId> later_drains_;  // WorkerRow::drains_later
  ReadyQueue ready_;
  std::size_t ready_stages_ = 0;           // in it, each once
  mutable RequirementTable requirements_;  // which only learns
  AccountBook accounts_;
  std::string intake_closed_;  // why nothing is granted; empty: it is
};

}  // namespace locus
