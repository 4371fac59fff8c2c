// The scheduler's rules: each event changes the records and says what must be written and answered. Split over one .cc
// per subject.
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
#include "core/scheduling/records.h"

namespace locus {

class Scheduler::State : private Records {
 public:
  State(const Snapshot& snapshot, Now now, SchedulerPolicy policy);

  Decision step(const Event& event, Now now);
  std::optional<Microseconds> next_wake() const;
  std::vector<ReplyToken> waiting() const;
  const Records& records() const { return *this; }

 private:
  using AttemptKey = std::pair<StageId, std::int64_t>;

  // workers.cc
  void handle(const WorkerRegistered& event);
  void handle(const LeasesSynced& event);
  Worker& worker_named(const std::string& name);
  bool refuse_superseded(const Worker& worker, const WorkerRegistered& event);
  void take_offer(Worker& worker, const WorkerRegistered& event);
  bool refuse_taken(const Worker& worker, const WorkerRegistered& event);
  void replace_session(Worker& worker, const WorkerRegistered& event);
  void announce(Worker& worker, const WorkerRegistered& event);
  void renew(Worker& worker, const std::vector<StatedAttempt>& stated);
  void lose_unlisted(Worker& worker);
  void disconnect(Worker& worker, const absl::Status& why);
  void lose_silent_workers();
  std::optional<Microseconds> silence_deadline(const Worker& worker) const;
  void expect_silence(const Worker& worker);
  Microseconds first_silence() const;
  void forgive_own_pause(Now now);
  Worker* connected_worker(const std::string& session,
                           ReplyToken reply);  // null: the caller has been refused
  Stage* run_by(const Worker& worker, StageId stage, std::int64_t attempt);

  // grants.cc
  void handle(const WorkRequested& event);
  void handle(const WorkRequestDropped& event);
  bool answer_repeated(Worker& worker, const WorkRequested& event);
  void expire_waits();
  void release_back_offs();
  void refresh_ready(Stage& stage);
  void match();
  Microseconds fruitless_until(const Reservations& reserved) const;
  Waiting* choose_waiting(const Stage& stage, const Turn& turn, const Reservations& reserved);
  void grant(Stage& stage, const Turn& turn, const Waiting& to, const std::vector<int>& slots, bool backfilled);
  Grant grant_of(const Stage& stage) const;

  // preemption.cc
  struct Standing;
  class Exchange;
  void preempt();
  void make_way(Stage& victim, const Turn& turn, std::string reason, bool first);

  // halts.cc
  void halt(Stage& stage, Halt halt);  // `since` is now
  void halt_overdue();
  void end_halted();

  // slots.cc
  void occupy(Worker& worker, const Stage& stage);
  void vacate(Worker& worker, const Stage& stage);

  // shares.cc
  void handle(const AccountChanged& event);
  void take_share(Stage& stage, const Lane& lane, std::int64_t weight);
  void give_share(Stage& stage);
  void find_share(Stage& stage, const AttemptRow& row);
  void charge();
  void take_slots(Worker& worker, const std::vector<SlotOffer>& slots) const;
  void find_slots(Worker& worker) const;
  std::vector<std::string> names_of(const std::vector<int>& accounts) const;

  // drains.cc
  void handle(const WorkerDrainRequested& event);
  void handle(const IntakeChanged& event);
  void handle(const WorkerForgetRequested& event);
  void refuse_unknown_worker(ReplyToken token, const std::string& name);
  void set_drain(Worker& worker, Drain to, const std::string& reason, Microseconds from);
  void note_later_drain(const WorkerRow& row);
  void begin_drains();
  Microseconds next_drain() const;  // steady

  // trouble.cc
  void note_success(const Stage& stage, Worker& worker);
  void note_failure(StageId id, const Wants& references, WorkerId worker, const Ending& ending);
  bool pause_if_all_fail(Experiment& experiment, const Alike& alike, const Ending& ending);
  void drain_if_all_fails(Worker& worker, const Ending& ending);
  int working_workers() const;

  // ends.cc
  void handle(const StagesEstimated& event);

  // rerun.cc
  void handle(const StagesRerun& event);
  void handle(const ExperimentDeleted& event);
  void handle(const PurgeDue& event);

  // parking.cc
  void handle(const SearchDecided& event);
  struct Placement;  // a submission under way
  absl::Status check(const SearchDecided& event) const;
  static bool revives(const Placement& placement, const std::string& identity,
                      const ExperimentSubmitted::StageDraft& draft);
  void resolve(const SearchDecided& event, const Placement& placement);
  void take_wants(Experiment& experiment, const SearchDecided& event, const Placement& placement);
  void remember_decided(ExperimentId experiment, const std::string& name, const AppendDecisions& decisions);
  void judge_parked(const Stage& stage, Ending& ending, std::int64_t step) const;
  void settle_alike(const Stage& stage, const Worker& worker);
  void settle(Stage& stage);
  void park(StageId id);

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
  absl::Status check(const ExperimentSubmitted& event) const;
  absl::Status place_all(Placement& placement) const;
  absl::Status place(Placement& placement, const std::string& identity) const;
  absl::Status adopt(Placement& placement, const std::string& identity,
                     const ExperimentSubmitted::StageDraft& draft) const;
  Experiment& save(Placement& placement);
  void take_in(Placement& placement);

  // unreferenced.cc
  void handle(const Tick&);
  void add_reference(Experiment& experiment, const TrialStage& reference, std::int64_t until);
  void set_references(Experiment& experiment, const TrialStages& references, const std::string& reason);
  void cancel_unreferenced(std::size_t count);
  bool cancel_all_unreferenced(ExperimentId experiment);
  void cancel_if_unreferenced(StageId id);  // nothing while a trial references it

  // state.cc
  void restore(const Snapshot& snapshot);
  Stage* find_stage(StageId id);
  Stage& add_stage(StageRow row);
  void link_to_sources(const Stage& stage);
  void restore_reference(const StageReference& reference);  // if both are live
  void mutate(Mutation mutation) { decision_->mutations.push_back(std::move(mutation)); }
  void reply(Command command);
  static std::string event_text(const Json& json);
  void announce_stage(const Stage& stage);
  void announce_attempt(const Stage& stage, const char* kind, const Worker* worker, const char* outcome);
  void announce_worker(const Worker& worker, const char* kind);
  void announce_experiment(const Experiment& experiment, const char* kind);

  Microseconds last_step_ = 0;
  // Steady; no worker's silence is over before. Found out again where it may be near.
  mutable Microseconds silent_at_ = 0;
  Decision* decision_ = nullptr;            // of the step under way
  Microseconds next_preemption_ = 0;        // steady; when it is looked again who is to make way
  Microseconds turned_to_store_ = 0;        // when this state was read from it (steady)
  Microseconds next_cancellations_at_ = 0;  // of those that no trial references (steady)
  std::unordered_map<std::string, StageId> by_identity_;
  std::map<std::string, WorkerId> sessions_;  // connected ones
  std::unordered_map<std::string, WorkerId> worker_names_;
  std::vector<Waiting> waiting_;  // in order of arrival
  // Nothing of what waits can start before this time (steady), unless something happens to a stage, a request, a worker
  // or an account meanwhile.
  Microseconds fruitless_until_ = 0;
  std::set<std::pair<Microseconds, StageId>> backing_off_;
  std::set<StageId> backfilled_;                        // whose attempts stand where others wait; some have ended
  std::map<StageId, std::set<StageId>> behind_parked_;  // what is blocked until a parked stage goes on and succeeds
  std::map<ExperimentId, std::int64_t> decided_;        // how long the logs of searches are, as far as it is known
  std::map<AttemptKey, AttemptState> ended_;            // recent ends, to answer repeated and late calls
  std::deque<AttemptKey> ended_order_;
  ExperimentId next_experiment_ = 1;
  StageId next_stage_ = 1;
  WorkerId next_worker_ = 1;
};

}  // namespace locus
