// The scheduler core: a pure step function. No threads, clock, randomness or I/O of its own, so a seeded
// simulation can run it.
//
// The owner (server/app's strand, or the simulation) calls step(), applies the mutations in one store
// transaction, and only then carries out the commands. If the store refuses, the owner answers the tokens in
// the commands with that error, those of waiting() with UNAVAILABLE, and rebuilds the scheduler from
// Store::load(): the store is the truth, this object a cache of what is not finished. After a rebuild, as
// after a restart, no session is known: workers are told WORKER_NOT_FOUND, register again with what they hold
// and go on.
//
// What the owner has checked before step(), since only the store knows: artifacts named by
// CheckpointCommitted and AttemptCompleted are stored (ARTIFACT_NOT_FOUND otherwise), all points of a
// completed attempt are (SEQUENCE_GAP otherwise), and a completion that repeats what the store already holds
// for that attempt is answered without a step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/experiment/labels.h"
#include "core/experiment/lease.h"
#include "core/experiment/model.h"
#include "core/identity/account.h"
#include "core/limits.h"
#include "core/ports/mutations.h"
#include "core/ports/snapshot.h"

namespace locus {

using ReplyToken = std::int64_t;  // names one waiting caller; chosen by the owner, unique

struct Now {
  Microseconds steady = 0, wall = 0;
};

// Every number the rules use; the defaults are the product's, tests and simulation take smaller ones.
struct SchedulerPolicy {
  Microseconds heartbeat = kHeartbeat.count();
  Microseconds lease = kLease.count();
  Microseconds grace = kReattachGrace.count();  // silence after which the attempts of a worker are lost
  Microseconds long_poll = std::chrono::microseconds(kLongPoll).count();  // the longest wait for work
  Microseconds retry_first = kRetryFirst.count(), retry_most = kRetryMost.count();
  std::size_t cancellations_per_step = 256;  // so many unreferenced stages are cancelled in one step: some milliseconds
  int failures = kFailuresPerStage;          // that many faults of the work: failed
  int faults = kInfrastructureFaults;        // that many of the infrastructure: held
  int strikes = 3;  // workers lost in a row without a checkpoint between: held as poison. Also how many
                    // stages must fail alike before an experiment is paused, or in a row before a worker is
                    // drained
  Microseconds usage_half_life = kUsageHalfLife.count();  // of what an account has used
  Microseconds charged_every = kUsageCharged.count();     // at the latest, of what is held for long
  int other_device_weight = 10;                           // of a slot that is not a CPU's, whose weight is 1
  Microseconds min_run = 600'000'000;        // no attempt is stopped for others before, but for urgent ones
  Microseconds reclaim_after = 300'000'000;  // so long work below its account's share waits before others are stopped
  Microseconds preempt_every = 600'000'000;  // of a device, for one stage at most
  Microseconds preempt_wait = 60'000'000;    // for the checkpoint of one that is to stop; then it is ended without
};

struct SlotOffer {
  std::string device;
  int index = 0, threads = 1;
};

// ---- events ----
//
// A daemon of another session than the holder of its name is refused while that one lives (WORKER_NAME_TAKEN), unless
// both name the same instance, since then the holder has died, or the holder names none.
struct WorkerRegistered {
  ReplyToken reply = 0;
  std::string name, session, host, version, catalog_digest, slots_json;
  std::vector<SlotOffer> slots;
  std::map<std::string, int> revisions;
  std::vector<StatedAttempt> running;
  std::string instance;                           // WorkerRow::instance
  bool take_over = false;                         // the name and its work, whoever holds it
  std::optional<std::set<std::string>> datasets;  // ids it holds; absent: all of its revisions
  std::string data_json;                          // WorkerRow::data_json
  // Until its daemon drains by itself, and what that was at its start; absent: it stays.
  std::optional<Microseconds> time_left = {};
  Microseconds lifetime = 0;
  WorkerLabels labels = {};  // granted to it, and what it says by itself
  bool gangs = false;        // its devices can be taken together
  std::string apart = {};    // otherwise: why not, a predicate; empty: its release is too old for that
};
struct WorkRequested {
  ReplyToken reply = 0;
  std::string session, request_id;
  std::vector<int> free_slots;
  Microseconds wait = 0;
};
// The caller has gone.
struct WorkRequestDropped {
  ReplyToken reply = 0;
};
struct LeasesSynced {
  ReplyToken reply = 0;
  std::string session;
  std::vector<StatedAttempt> running;
};
struct CheckpointCommitted {
  ReplyToken reply = 0;
  std::string session;
  StageId stage_id = 0;
  std::int64_t attempt = 0, step = 0;
  std::string sha256;
  bool best = false;
};
struct AttemptCompleted {
  ReplyToken reply = 0;
  std::string session;
  StageId stage_id = 0;
  std::int64_t attempt = 0;
  AttemptState outcome{};
  FailureClass failure_class = FailureClass::kNone;
  std::string reason, environment_json = "{}";
  std::vector<Result> results;
  std::vector<StageOutput> outputs;
  std::int64_t step = 0;  // of kParked: where, at the checkpoint that was committed last
};
// A planned submission after its identities were looked up in the store: what exists is named by id, what is
// new by row. Failed, held and cancelled stages in it are revived, faults forgiven, and parked ones that a link wants
// to go further. ABORTED (WRONG_STATE) when a stage or the experiment changed since the look-up: look up again and repeat.
struct ExperimentSubmitted {
  ReplyToken reply = 0;
  ExperimentRow row;                   // id 0: new; otherwise the stored one, row.revision already raised;
                                       // a cancelled one becomes active again, a paused one stays paused
  std::int64_t expected_revision = 0;  // as in SaveExperiment
  std::vector<CellRow> cells;
  std::vector<TrialRow> trials;  // new, kept and newly retired ones
  struct StageDraft {
    StageRow row;  // id 0: to be created; otherwise as stored
    struct Input {
      std::string slot, identity;
    };
    std::vector<Input> inputs;
    // Of a stored stage that has ended without success: its newest checkpoint, and which live experiments have it
    // among theirs.
    std::optional<CheckpointRow> resume;
    std::vector<StageReference> references;
  };
  std::map<std::string, StageDraft> stages;  // by identity, in any order
  struct Link {
    std::int64_t trial = 0;
    std::string role, identity;
    std::int64_t until_step = kToTheEnd;
  };
  std::vector<Link> links;  // of every unretired trial that does not wait for its search
  std::string request_id;
  std::optional<AppendDecisions> decisions = {};  // that begin its search; their experiment id is filled in
};
// Cancelled and paused are refused (WRONG_STATE) when every stage has ended and no search of it runs: the experiment is left
// as it is. Cancelled is the experiment at once, and what of its stages runs and no other trial references; the others follow in pieces, the first
// in this step, the next ones at Ticks.
struct ExperimentStateRequested {
  ReplyToken reply = 0;
  ExperimentId id = 0;
  ExperimentState to{};
  bool search_running = false;  // as stored: it has a search, which has not ended
};
// Failed, held and cancelled stages of an experiment are queued again, faults forgiven, as in a submission, and parked ones
// that a link wants to go further; a cancelled experiment becomes active. What is named was looked up in the store: ABORTED (WRONG_STATE) when
// it changed since, or since stages were still to be cancelled, which they are then. Stages among them that are not
// terminal or have succeeded are left as they are.
struct StagesRerun {
  ReplyToken reply = 0;
  ExperimentRow row;                                              // as stored
  std::int64_t cells = 0;                                         // how many it has
  std::vector<TrialRow> trials;                                   // those of the links
  std::map<std::string, ExperimentSubmitted::StageDraft> stages;  // with everything they take inputs from
  std::vector<ExperimentSubmitted::Link> links;
  bool search_running = false;  // as stored: a cancelled experiment becomes active even if no stage is queued by it
};
// What a search has decided, after its identities were looked up in the store, as for a submission: appended to its log, and
// its trials linked to stages or their stop points moved, in one transaction. Parked stages of which a live link wants more
// than was done are queued from `resume`, failed, held and cancelled ones where their link is new or wants more than
// before. What runs beyond a lowered stop point parks at its next validation; what is queued and nobody wants a step of
// any more parks at once, what is blocked is cancelled. Answered by ReplyDone. ABORTED (WRONG_STATE) when the log has grown or a
// stage changed since the look-up: judge again. A cancelled experiment takes decisions that link nothing.
struct SearchDecided {
  ReplyToken reply = 0;
  ExperimentRow row;  // as stored
  AppendDecisions decisions;
  std::vector<CellRow> cells;                                     // that proposals add
  std::vector<TrialRow> trials;                                   // likewise, and those of the links
  std::map<std::string, ExperimentSubmitted::StageDraft> stages;  // of the links, with everything they take inputs from
  std::vector<ExperimentSubmitted::Link> links;                   // new, or with another stop point
};
// WRONG_STATE while its search runs or stages that only this experiment references are unfinished, unless `force`, which cancels
// them, in pieces as above.
struct ExperimentDeleted {
  ReplyToken reply = 0;
  ExperimentRow row;  // as stored
  bool force = false;
  bool search_running = false;  // as stored: of a live experiment it counts as an unfinished stage does
};
// A piece of what deleted experiments leave is to go (PurgeDeleted). It takes its turn among the other events: a
// submission that found one of these stages in the store must find it there still when it is applied. While there are
// unreferenced stages left to cancel, a piece of those is cancelled instead (ReplyDone::later).
struct PurgeDue {
  ReplyToken reply = 0;
  int trials = 0;
};
// A worker is given no more work, or is again. WORKER_NOT_FOUND.
struct WorkerDrainRequested {
  ReplyToken reply = 0;
  std::string name;
  Drain to = Drain::kNone;
  std::string reason;
  Microseconds from = 0;  // wall clock, WorkerRow::drain_from_us; what is past is now
};
// An offline worker is left out of lists until it registers again. WRONG_STATE for another, WORKER_NOT_FOUND.
struct WorkerForgetRequested {
  ReplyToken reply = 0;
  std::string name;
};
// How long stages would take: queued ones from where they are, running ones from where they were granted, as far as that can
// be told; 0: it cannot. Those that are not named keep what was said of them before.
struct StagesEstimated {
  std::map<StageId, Microseconds> busy;
};
// An account is given its share and bounds, instead of what it had; or they are taken away (ACCOUNT_NOT_FOUND where it
// has none). Holds from the next grant on: what runs goes on, and counts. While nobody has a share, all are one account.
struct AccountChanged {
  ReplyToken reply = 0;
  AccountRow row;
  bool remove = false;
};
// Whether stages are granted at all; a reason while they are not.
struct IntakeChanged {
  std::string closed_because;
};
// Time has passed; step it at or after next_wake().
struct Tick {};

using Event = std::variant<WorkerRegistered, WorkRequested, WorkRequestDropped, LeasesSynced, CheckpointCommitted,
                           AttemptCompleted, ExperimentSubmitted, ExperimentStateRequested, StagesRerun, SearchDecided,
                           ExperimentDeleted, PurgeDue, WorkerDrainRequested, WorkerForgetRequested, StagesEstimated,
                           AccountChanged, IntakeChanged, Tick>;

// ---- commands ----
struct Grant {
  StageId stage_id = 0;
  std::int64_t attempt = 0;
  std::string kind, config_json;
  std::vector<int> slots;
  std::string device;  // the kind that these are of: "cpu", "cuda"
  std::map<std::string, std::string> inputs;
  std::string resume_sha256;
  std::int64_t resume_step = 0;
  std::string title;               // for people: "NAME/17 train, seed 3"
  std::int64_t limit_seconds = 0;  // of this attempt; 0: none
  std::int64_t until_step = kToTheEnd;
  std::int64_t memory_bytes = 0;  // of each device that it is to be taken to need; 0: what is estimated
};
struct ReplyError {
  ReplyToken reply = 0;
  absl::Status status;
};
struct ReplyDone {
  ReplyToken reply = 0;
  bool later = false;  // PurgeDue: nothing was purged yet, ask again
};                     // registered, committed, completed, state set
struct ReplyGrant {
  ReplyToken reply = 0;
  std::optional<Grant> grant;
};  // absent: the wait ran out
struct ReplyWishes {
  ReplyToken reply = 0;
  std::vector<std::pair<StatedAttempt, LeaseWish>> wishes;
  bool drain = false;
  std::map<StageId, std::int64_t> until = {};  // stop points now, of those among them that have one
};
struct ReplySubmitted {
  ReplyToken reply = 0;
  ExperimentId id = 0;
  std::int64_t stages_done = 0, stages_to_run = 0;
};
using Command = std::variant<ReplyError, ReplyDone, ReplyGrant, ReplyWishes, ReplySubmitted>;

struct Decision {
  std::vector<Mutation> mutations;
  std::vector<Command> commands;
};

// What people may see of the living state, beyond the store.
struct WorkerView {
  WorkerId id = 0;
  std::string name, state;
  Microseconds silent_for = 0;
  std::vector<StatedAttempt> running;
  std::optional<Microseconds> ends_in;  // its daemon drains by itself then, or it is drained
  std::vector<std::pair<std::string, std::string>> extensions = {};  // name and digest; of one that is connected
};

// What an attempt of a stage has before it, or has had when it began.
struct StageSpan {
  StageId id = 0;
  std::int64_t resume_step = 0, until_step = kToTheEnd;
  std::string kind, config_json;  // empty where they were not asked for
};

// A stage that only waits for a place to run: what it asks where several want it under different rules is what the first in
// grant order asks that may have it.
struct QueuedStage {
  StageSpan span;
  RequirementsPtr asks;
  Microseconds waited = 0;        // since it could start, within this process
  int workers = 0;                // connected ones that take new work and could run it
  int devices = 1;                // that it takes together
  std::int64_t memory_bytes = 0;  // of each, as was said or planned; 0: not known
  Labels require = {};            // what the labels of a worker must meet, key -> pattern
  // Its account may hold no more, with what comes before it: no further device would start it.
  bool bounded = false;
};

// Who takes new work now.
struct WorkerOffer {
  std::string name, slots_json;
  std::map<std::string, int> revisions;  // of what it can run, the datasets it holds among them
  std::size_t slots = 0, busy = 0;
  int together = 1;        // devices that one stage could take of it
  int devices = 1;         // of one kind that it has
  std::string apart = {};  // why it takes one of these at a time, a predicate; empty: it takes several
};
struct Fleet {
  std::vector<WorkerOffer> workers;
  int draining = 0;        // connected, but they take none
  std::size_t queued = 0;  // stages that wait for a slot
};

// An account that has a share, or holds or waits for devices.
struct AccountView {
  AccountRow row;
  bool configured = false;
  std::int64_t holding = 0, urgent = 0;    // thousandths of devices, by weight
  std::int64_t used = 0, used_lately = 0;  // device-microseconds: decayed, and within kQuotaDays
  std::size_t queued = 0;                  // stages that wait for a slot
};

// Thread-compatible: lives on one strand.
class Scheduler {
 public:
  // Silence while the server was away proves nothing: every worker counts as heard from `now`.
  Scheduler(const Snapshot& snapshot, Now now, SchedulerPolicy policy = {});
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  Decision step(const Event& event, Now now);
  // The steady time at which a Tick is due at the latest; nothing when nothing is timed. While attempts run
  // it comes every heartbeat, so that the scheduler notices when its own process was stopped and lets no
  // lease lapse over that.
  std::optional<Microseconds> next_wake() const;
  std::vector<ReplyToken> waiting() const;  // long polls not answered yet

  std::vector<WorkerView> workers(Now now) const;
  Fleet fleet() const;
  // In order of their ids. `describe` says of which the configuration is wanted, too.
  std::vector<QueuedStage> queued(Now now, const std::function<bool(StageId)>& describe) const;
  // Whether something goes by StagesEstimated now: a connected worker has said when it ends, or one is connected and what
  // waits needs several slots, beside which only is started what is over in time.
  bool goes_by_estimates() const;
  // Of what waits for a place, and of what runs; in order of their ids. `describe` as above.
  std::vector<StageSpan> spans(const std::function<bool(StageId)>& describe) const;
  // In the order in which they would be granted work now.
  std::vector<AccountView> accounts(Now now) const;
  std::optional<StatedAttempt> progress(StageId stage) const;  // of a running stage, as last reported
  std::optional<StageState> stage_state(StageId stage) const;  // nothing: terminal or unknown, the store knows
  std::string explain(StageId stage, Now now) const;           // why it is in its state, a sentence; empty likewise
  // How long until that changes, as far as can be told: its end, the end of its back-off, a free slot.
  std::optional<Microseconds> expected_after(StageId stage, Now now) const;

 private:
  class Records;
  class State;
  class View;
  std::unique_ptr<State> state_;
};

}  // namespace locus
