// The scheduler's inside: what it remembers of stages, workers, experiments and waiting callers. Split over
// one .cc per subject.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/scheduling/ready_queue.h"
#include "core/scheduling/requirements.h"
#include "core/scheduling/retry.h"
#include "core/scheduling/scheduler.h"

namespace locus {

class Scheduler::State {
 public:
  State(const Snapshot& snapshot, Now now, SchedulerPolicy policy);

  Decision step(const Event& event, Now now);
  std::optional<Microseconds> next_wake() const;
  std::vector<ReplyToken> waiting() const;
  std::vector<WorkerView> workers(Now now) const;
  Fleet fleet() const;
  std::optional<HeldLease> progress(StageId stage) const;
  std::optional<StageState> stage_state(StageId stage) const;
  std::string explain(StageId stage, Now now) const;
  std::optional<Microseconds> expected_after(StageId stage, Now now) const;

 private:
  // The attempt that holds a stage.
  struct Running {
    WorkerId worker = 0;
    std::vector<int> slots;
    Microseconds listed = 0;    // steady; when its worker last stated it, or the grant
    bool acknowledged = false;  // its worker has stated it at least once
    std::string resume_sha256;  // as granted; empty: afresh
    std::int64_t resume_step = 0;
    HeldLease progress;
    std::int64_t first_step = 0;  // the first progress stated, and when: what an estimate goes by
    Microseconds first_at = 0;
    std::set<std::pair<std::int64_t, std::string>> checkpoints;  // (step, sha256) committed under it
  };
  // A stage that is not terminal.
  struct Stage {
    StageRow row;
    std::set<std::pair<ExperimentId, std::int64_t>> references;  // (experiment, trial)
    std::set<StageId> dependents;                                // some may be terminal since
    std::optional<CheckpointRow> resume;
    std::optional<Running> running;
    std::optional<ReadyKey> ready;  // as which it is in the ready queue
    Microseconds not_before = 0;    // steady; end of the back-off
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
    std::set<StageId> running;
    std::deque<std::string> superseded;  // sessions a newer daemon replaced
    struct Asked {
      std::string request_id;
      StageId stage = 0;
      std::int64_t number = 0;
    };
    std::deque<Asked> asked;     // newest last: makes requests idempotent
    std::size_t slots = 0;       // announced; 0 before it has registered here
    std::vector<int> device_of;  // by slot: slots of one device share its number; all of the CPU's do
    int device(int slot) const {
      return static_cast<std::size_t>(slot) < device_of.size() ? device_of[static_cast<std::size_t>(slot)] : 0;
    }
    std::set<StageId> failed_in_row;  // by failures that may be its own, without a success between
  };
  using TrialStage = std::pair<StageId, std::int64_t>;  // stage, trial
  // Failures of one kind among an experiment's stages.
  struct Alike {
    std::set<std::int64_t> cells;
    std::set<StageId> stages;
    std::set<WorkerId> workers;
  };
  struct Experiment {
    ExperimentRow row;
    std::set<TrialStage> references;  // live stages only
    std::int64_t cells = 0;
    std::map<std::int64_t, std::int64_t> cell_of;  // trial -> cell, of those that reference a stage
    bool proven = false;                           // one of its stages has succeeded
    std::map<std::string, Alike> failures;         // while it is not
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
  using AttemptKey = std::pair<StageId, std::int64_t>;
  using Device = std::pair<WorkerId, int>;
  // Devices that are being emptied, each for a stage that runs alone: nothing that comes after it in grant
  // order is started there.
  using Reservations = std::map<Device, ReadyKey>;

  // workers.cc
  void handle(const WorkerRegistered& event);
  void handle(const LeasesSynced& event);
  Worker& worker_named(const std::string& name);
  bool refuse_superseded(const Worker& worker, const WorkerRegistered& event);
  void take_offer(Worker& worker, const WorkerRegistered& event);
  bool refuse_taken(const Worker& worker, const WorkerRegistered& event);
  void replace_session(Worker& worker, const WorkerRegistered& event);
  void announce(Worker& worker, const WorkerRegistered& event);
  void renew(Worker& worker, const std::vector<HeldLease>& held);
  void lose_unlisted(Worker& worker);
  void disconnect(Worker& worker, const absl::Status& why);
  void lose_silent_workers();
  std::optional<Microseconds> silence_deadline(const Worker& worker) const;
  void forgive_own_pause(Now now);
  Worker* connected_worker(const std::string& session,
                           ReplyToken reply);  // null: the caller has been refused
  Stage* held_by(const Worker& worker, StageId stage, std::int64_t number);

  // grants.cc
  void handle(const WorkRequested& event);
  void handle(const WorkRequestDropped& event);
  bool answer_repeated(Worker& worker, const WorkRequested& event);
  void expire_waits();
  void release_back_offs();
  void refresh_ready(Stage& stage);
  void match();
  Waiting* choose_waiting(const Stage& stage, const Reservations& reserved);
  void grant(Stage& stage, const Waiting& to, int slot);
  Grant grant_of(const Stage& stage) const;
  std::int64_t limit_of(const Stage& stage) const;
  bool accepts(const Worker& worker, int requirement) const;
  bool could_run(const Worker& worker, int requirement) const;
  bool untried(int requirement) const;

  // exclusive.cc
  Reservations reservations() const;
  std::optional<int> slot_for(const Waiting& waiting, int requirement, const ReadyKey& key,
                              const Reservations& reserved) const;
  bool vacant(const Worker& worker, int slot, const Waiting& waiting) const;
  std::vector<const Stage*> running_on(const Device& device) const;
  bool shut(const Worker& worker, const ReadyKey& key, const Reservations& reserved) const;
  std::string explain_alone(const Stage& stage, Now now) const;
  std::string explain_shut(const Stage& stage) const;

  // drains.cc
  void handle(const WorkerDrainRequested& event);
  void handle(const IntakeChanged& event);
  void handle(const WorkerForgetRequested& event);
  void refuse_unknown_worker(ReplyToken token, const std::string& name);
  void set_drain(Worker& worker, Drain to, const std::string& reason);

  // trouble.cc
  void note_success(const Stage& stage, Worker& worker);
  void note_failure(StageId id, const std::set<std::pair<ExperimentId, std::int64_t>>& references, WorkerId worker,
                    const Ending& ending);
  bool pause_if_all_fail(Experiment& experiment, const Alike& alike, const Ending& ending);
  void drain_if_all_fails(Worker& worker, const Ending& ending);
  int working_workers() const;

  // rerun.cc
  void handle(const StagesRerun& event);
  void handle(const ExperimentDeleted& event);
  void handle(const PurgeDue& event);

  // outcomes.cc
  void handle(const CheckpointCommitted& event);
  void handle(const AttemptCompleted& event);
  void answer_ended(const AttemptCompleted& event);
  void end_attempt(Stage& stage, const Ending& ending, EndAttempt mutation);
  void lose(Stage& stage, const std::string& reason, bool strike, bool uncounted);
  void succeed(Stage& stage, const std::vector<StageOutput>& outputs);
  void fill_inputs(Stage& stage, const Stage& source, const std::vector<StageOutput>& outputs);
  void cancel_dependents(const Stage& stage);
  void cancel(Stage& stage, const std::string& reason);
  void set_state(Stage& stage, SetStageState mutation);
  void retire(StageId id);  // forgets a stage that has become terminal
  void remember_end(AttemptKey key, AttemptState outcome);
  int live_workers() const;

  // submissions.cc
  void handle(const ExperimentSubmitted& event);
  void handle(const ExperimentStateRequested& event);
  struct Placement;  // a submission under way
  absl::Status check(const ExperimentSubmitted& event) const;
  absl::Status place_all(Placement& placement) const;
  absl::Status place(Placement& placement, const std::string& identity) const;
  absl::Status adopt(Placement& placement, const std::string& identity,
                     const ExperimentSubmitted::StageDraft& draft) const;
  Experiment& save(Placement& placement);
  void take_in(Placement& placement);

  // unreferenced.cc
  void handle(const Tick&);
  void add_reference(Experiment& experiment, const TrialStage& reference);
  void set_references(Experiment& experiment, const std::set<TrialStage>& references, const std::string& reason);
  void cancel_unreferenced(std::size_t count);
  bool cancel_all_unreferenced(ExperimentId experiment);
  void cancel_if_unreferenced(StageId id);  // nothing while a trial references it

  // explain.cc
  std::string explain_blocked(const Stage& stage) const;
  std::string explain_queued(const Stage& stage, Now now) const;
  std::string explain_running(const Stage& stage, Now now) const;
  std::string explain_data(const std::string& dataset) const;
  std::string explain_slots(const Stage& stage, Now now) const;
  static std::string clock_text(Microseconds wall);
  static std::string duration_text(Microseconds us);
  std::optional<Microseconds> time_left(const Stage& stage, Now now) const;
  std::optional<Microseconds> until_free_slot(const Stage& stage, Now now) const;

  // state.cc
  void restore(const Snapshot& snapshot);
  Stage* find_stage(StageId id);
  const Stage* find_stage(StageId id) const;
  Stage& add_stage(StageRow row);
  void link_to_sources(const Stage& stage);
  void restore_reference(const StageReference& reference);            // if both are live
  std::vector<std::string> experiments_of(const Stage& stage) const;  // names of experiments
  std::optional<ReadyKey> ready_key(const Stage& stage) const;        // nothing: no active experiment references it
  void mutate(Mutation mutation) { decision_->mutations.push_back(std::move(mutation)); }
  void reply(Command command);
  void announce_stage(const Stage& stage);
  void announce_attempt(const Stage& stage, const char* kind, const Worker* worker, const char* outcome);
  void announce_worker(const Worker& worker, const char* kind);
  void announce_experiment(const Experiment& experiment, const char* kind);

  SchedulerPolicy policy_;
  Now now_;
  Microseconds last_step_ = 0;
  Decision* decision_ = nullptr;  // of the step under way

  std::map<ExperimentId, Experiment> experiments_;
  std::map<StageId, Stage> stages_;
  // Those of stages_ that no trial references, to be cancelled piece by piece, the next piece then (steady).
  std::map<StageId, std::shared_ptr<const Unreferenced>> unreferenced_;
  Microseconds next_cancellations_at_ = 0;
  std::unordered_map<std::string, StageId> by_identity_;
  std::map<WorkerId, Worker> workers_;
  std::map<std::string, WorkerId> sessions_;  // connected ones
  std::vector<Waiting> waiting_;              // in order of arrival
  ReadyQueue ready_;
  std::set<std::pair<Microseconds, StageId>> backing_off_;
  RequirementTable requirements_;
  std::map<AttemptKey, AttemptState> ended_;  // recent ends, to answer repeated and late calls
  std::deque<AttemptKey> ended_order_;
  std::string intake_closed_;  // why nothing is granted; empty: it is
  ExperimentId next_experiment_ = 1;
  StageId next_stage_ = 1;
  WorkerId next_worker_ = 1;
};

}  // namespace locus
