// The server as a process: the real scheduler over the watched store, answers that travel back, a disk that
// may refuse.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/scheduling/scheduler.h"
#include "tests/scheduling/support/matrix.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/search_script.h"
#include "tests/simulation/world.h"

namespace locus::simulation {

// A defect planted on purpose: the checker must find it.
enum class Mutant {
  kNone,
  kNoFence,                  // stale tokens are taken for the newest
  kAckBeforeCommit,          // points are acknowledged before they are stored
  kForgetsRequeue,           // a lost attempt's stage is never granted again
  kWorkerIgnoresFence,       // a cut-off worker believes in its lease for ever
  kForgetsAlone,             // a stage that runs alone is taken for one that shares its device
  kGivesNamesAway,           // a name goes to whoever registers under it
  kIgnoresData,              // every worker is taken to hold every dataset
  kForgetsUnreferenced,      // a server that starts again does not cancel the stages that no trial references
  kForgetsLimit,             // a server that starts again knows of no time limit
  kCheckpointOutrunsPoints,  // a checkpoint is committed while points before it wait in the outbox
  kMisreadsValue,            // another value is observed than the curve has
  kMisjudges,                // a verdict names other units than its rule does
  kMovesLink,                // a link wants one step more than its trial was granted
  kGrantsBeyond,             // a server that starts again knows of no stop points
  kStaysParked,              // a parked stage that is wanted further is left where it is
  kForgetsCheckpoint,        // a parked stage begins afresh although its checkpoint is there
  kLosesParked,              // the checkpoints of parked stages are taken for garbage
  kForgetsBudget,            // the rules are asked as if there were no budget
  kProposesTwice,            // a client's repeated question is taken for another one
  kForgetsSearches,          // a server that starts again does not take up its searches
  kEndsEarly,                // a search is stored as ended with its first verdict
  kOverlooksFailures,        // what failed for good is never told to its search
  kGoesOnAstray,             // what had parked goes on with other values than it had
  kUsesAnother,              // a later phase runs something else than was chosen
  kForgetsBounds,            // a server that starts again knows of no bound of an account
  kForgetsOwners,            // or takes one account for the owner of everything
  kBelievesLabels,           // what a worker claims is taken for granted
  kMisnamesBound,            // another bound is named than the one that keeps a stage waiting
  kOffersTwice,              // a worker offers slots that are in use
  kForgetsDevices,           // a server that starts again knows of no training that takes several devices
  kChargesVictims,           // what was stopped for others counts as a fault
  kForgetsSaved,             // a server that starts again lets what was stopped for others begin afresh
  kForgetsClasses,           // a server that starts again takes all that runs for scavenged
  kWaitsForEver,             // what does not stop for others is left to run
  kMisnamesStopping,         // another stage is named than the one that stops for a waiting one
  kInventsEstimates,         // everything is taken to be over at once
  kForgetsEnds,              // every worker is taken to stay
  kForgetsKinds,             // a server that starts again knows not on which hardware an experiment began
  kMisnamesSize,             // another number of devices is named than the one that is asked for
  kMisnamesKept,             // another stage is named than the one that slots are kept for
  kMisnamesLabel,            // another label is named than the one that no worker has
  kMisnamesEnd,              // another time is named than the one that a worker has left
  kMisnamesFirst             // another account is named than the one whose turn it is not
};

struct Answer {
  absl::Status status = {};
  std::optional<Grant> grant = {};
  std::vector<std::pair<StatedAttempt, LeaseWish>> wishes = {};
  std::int64_t acked = 0;
  std::map<StageId, std::int64_t> until = {};  // stop points
};
using Respond = std::function<void(const Answer&)>;

class ServerProcess final : public Process {
 public:
  ServerProcess(World& world, Ledger& ledger, SchedulerPolicy policy, Mutant mutant)
      : Process(world, "server"),
        ledger_(ledger),
        policy_(policy),
        preempt_wait_(policy.preempt_wait),
        mutant_(mutant),
        script_(ledger, mutant == Mutant::kForgetsBudget, mutant == Mutant::kUsesAnother) {
    if (mutant == Mutant::kWaitsForEver) policy_.preempt_wait *= 1000;
  }

  // ---- calls; each answers later through `respond`, or never ----
  void ask(Event event, Respond respond);  // whatever the scheduler decides by itself
  void report_points(PointAppend append, Respond respond);
  void upload(const std::string& sha256, Respond respond);
  void commit_checkpoint(CheckpointCommitted event, Respond respond);
  void complete(AttemptCompleted event, std::int64_t last_seq, Respond respond);

  // ---- a person at the server's own terminal: answered at once, UNAVAILABLE when it cannot be ----
  absl::Status submit(const testing::Matrix& matrix);
  absl::Status submit(const SearchPlan& plan);
  // A client proposes a cell; the same `asked` is the same question again.
  absl::Status propose(const std::string& experiment, const std::string& asked, const std::string& cell);
  // A person lets a unit of a search go on, or stops it; the unit is chosen by the number, if there are any.
  absl::Status overrule(const std::string& experiment, std::int64_t unit, bool go_on);
  absl::Status set_state(const std::string& experiment, ExperimentState to);
  absl::Status drain(const std::string& worker, Drain to, Microseconds in = 0);
  absl::Status rerun(const std::string& experiment);
  absl::Status erase(const std::string& experiment);  // by force
  absl::Status share(const AccountRow& account);
  void estimate(std::uint64_t chance);  // how long some of what waits takes
  absl::Status collect_garbage();       // retention, then every blob that nothing names

  // ---- faults ----
  void set_disk_refuses(bool refuses) { disk_refuses_ = refuses; }
  void lie_about_next_commit() { lie_ = true; }  // it is stored, and yet an error is returned
  enum class CrashPoint { kNowhere, kBeforeCommit, kAfterCommit };
  void crash_at_next_commit(CrashPoint point) { crash_point_ = point; }

  void forget_planned_faults();

  const std::map<std::string, std::int64_t>& refusals() const { return refusals_; }  // by reason
  std::int64_t unreferenced_found() const { return unreferenced_found_; }            // stages, by servers that started
  // Whether the conductor would decide something of it now.
  bool has_more_to_decide(ExperimentId experiment);
  const Scheduler* scheduler() const { return scheduler_.get(); }
  std::string explain(StageId stage) const;  // empty while it is down

 private:
  void on_boot() override {
    rebuild();
    purge();
    conductor_.emplace(ledger_, script_);
    all_moved_ = true;
    ++boots_;
    conduct_soon(kSecond);
  }
  void on_crash() override;
  void rebuild();
  void step(const Event& event);
  absl::Status commit(const std::vector<Mutation>& mutations);
  void carry_out(const std::vector<Command>& commands);
  void answer(ReplyToken token, const Answer& answer);
  absl::Status ask_and_tell(Event event);
  void refuse_all(const Decision& decision, const absl::Status& status);
  void schedule_wake();
  std::string holder_to_stay(const Event& event) const;
  void purge();  // trial after trial, what deleted experiments left
  void forget_lost(const std::vector<Mutation>& mutations);
  void unfence(std::string& session, StageId stage, std::int64_t& attempt);
  Snapshot load();
  // ---- server_places.cc ----
  void forget_places(Snapshot& snapshot) const;
  void note_life(const Event& event, const Decision& decision);
  void charge_victims(Decision& decision) const;
  // ---- server_searches.cc ----
  void note_moved(const std::vector<Mutation>& mutations);
  void conduct_soon(Microseconds most);
  void conduct();
  // Whether all of it was decided. `moved`: of which trials something may be known; null: of all.
  bool conduct(ExperimentId experiment, const std::set<std::int64_t>* moved);
  absl::Status wish(ExperimentId experiment, const SearchWish& wish);
  SearchDecided tampered(SearchDecided event) const;
  bool search_runs(ExperimentId experiment) const;
  Now now_here() const { return {steady(), wall()}; }

  Ledger& ledger_;
  SchedulerPolicy policy_;
  Microseconds preempt_wait_;  // as it is meant to be
  Mutant mutant_;
  std::unique_ptr<Scheduler> scheduler_;
  std::map<ReplyToken, Respond> callers_;
  ReplyToken next_token_ = 1;
  std::optional<Microseconds> wake_;  // steady time of the wake under way
  bool disk_refuses_ = false, lie_ = false;
  CrashPoint crash_point_ = CrashPoint::kNowhere;
  std::set<StageId> forgotten_;
  std::map<std::string, std::int64_t> refusals_;
  std::int64_t unreferenced_found_ = 0;
  SimulatedScript script_;
  std::optional<Conductor> conductor_;  // since it booted
  bool conduct_planned_ = false;
  bool all_moved_ = true;                                 // anything may be known to no conductor; otherwise:
  std::map<ExperimentId, std::set<std::int64_t>> moved_;  // trials of which something may
  std::int64_t repeated_ = 0, boots_ = 0;
};

}  // namespace locus::simulation
