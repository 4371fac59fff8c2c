// The scheduler's strand: events in, one store transaction per batch of decisions, then the answers out.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <unordered_map>

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "server/runtime/stage_index.h"

namespace locus::server {

// Owns the scheduler and the one thread it lives on. Public members are thread-safe. Replies come exactly
// once, on the strand, and must not block. The store is the truth: when it refuses, the callers learn why and
// the scheduler is rebuilt from it.
class Coordinator {
 public:
  using Reply = std::function<void(Command)>;
  // Something of an experiment moved that is not stored as an event: kind "points", "progress" or "log". Called on
  // the strand.
  using Notice = std::function<void(const std::string& experiment, const std::string& kind)>;

  // Loads the scheduler. `store` and `clock` must outlive it.
  static absl::StatusOr<std::unique_ptr<Coordinator>> start(Store& store, Clock& clock, Notice notice);
  ~Coordinator();

  // Sends an event that has a `reply` member; the token names the caller until it is answered. `record` is written in the
  // transaction of what the scheduler makes of it, unless it refuses.
  template <class E>
  ReplyToken post(E event, Reply reply, std::optional<AppendAudit> record = std::nullopt) {
    const ReplyToken token = ++last_token_;
    event.reply = token;
    enqueue({[event = std::move(event)]() mutable -> absl::StatusOr<Event> { return Event(std::move(event)); }, token,
             std::move(reply), std::move(record)});
    return token;
  }
  // The same, with the event made on the strand from what is stored at that moment; a status is the answer.
  ReplyToken post_prepared(std::function<absl::StatusOr<Event>(ReplyToken)> prepare, Reply reply,
                           std::optional<AppendAudit> record = std::nullopt);
  // The caller of a work request has gone: it is answered with CANCELLED unless it was answered already.
  void drop(ReplyToken token);

  struct LiveState {
    const Scheduler& scheduler;
    const StageIndex& index;
    Now now;
  };
  // Runs `read` on the strand and waits for it. Never from the strand itself.
  template <class R>
  R inspect(std::function<R(const LiveState&)> read) {
    std::promise<R> promise;
    auto future = promise.get_future();
    on_strand([&] { promise.set_value(read(live_state())); });
    return future.get();
  }
  // From a reply only: on the strand already.
  const StageIndex& index() const { return index_; }

  // Decisions of searches stored since it was started, by kind ("observe", "advance", ...). From any thread.
  std::map<std::string, std::int64_t> decisions() const;

  // Told of experiments of which a stage has ended or parked, or that were submitted, resumed or rerun: where a search may go on; and of
  // the trials whose stages did, if nothing else has happened to it (null otherwise). Called on the strand, from the next event on; must not
  // block. An empty one ends it, and has been taken when this returns.
  using Movement = std::function<void(ExperimentId, const std::set<std::int64_t>* trials)>;
  void on_movement(Movement callback);

  void note_points(StageId stage) { note(stage, "points"); }
  void note_log(StageId stage) { note(stage, "log"); }
  // Posts an event that nobody waits for.
  void post_unanswered(Event event);
  // Waiting work requests are answered without a grant, new ones refused with SERVER_DRAINING.
  void drain();
  // Answers what is queued and ends the thread. Afterwards every event is refused. Idempotent.
  void stop();

 private:
  struct Pending {
    std::function<absl::StatusOr<Event>()> make;
    ReplyToken token = 0;
    Reply reply;
    std::optional<AppendAudit> record;
  };

  Coordinator(Store& store, Clock& clock, Notice notice);
  void enqueue(Pending pending);
  void note(StageId stage, const char* kind);
  void on_strand(std::function<void()> task);
  LiveState live_state() const { return {*scheduler_, index_, now_}; }
  Now observe_now();
  void pump();
  bool process(const std::vector<Event>& events, bool last_chance);
  void commit_answers(const Decision& decision);
  void fail(const std::vector<Event>& events, const Decision& decision, const absl::Status& status);
  void answer(ReplyToken token, Command command);
  absl::Status rebuild(const std::vector<Event>& to_retry);
  void add_record(const Event& event, Decision* decision) const;
  void note_progress(const Event& event);
  void note_movement(const std::vector<Mutation>& mutations);
  void note_decisions(const std::vector<Mutation>& mutations);
  void arm();

  Store& store_;
  Clock& clock_;
  const Notice notice_;
  struct Strand;
  const std::unique_ptr<Strand> strand_;
  std::atomic<ReplyToken> last_token_{0};
  std::atomic<bool> stopped_{false};
  std::thread thread_;

  mutable std::mutex decisions_mutex_;
  std::map<std::string, std::int64_t> decisions_;  // by kind

  // On the strand only.
  std::optional<Scheduler> scheduler_;
  StageIndex index_;
  std::unordered_map<ReplyToken, Reply> replies_;
  std::unordered_map<ReplyToken, AppendAudit> records_;  // of those that are not answered yet
  std::deque<Pending> queue_;
  std::unordered_map<StageId, std::int64_t> steps_seen_;
  Movement moved_;
  std::string intake_closed_because_;  // outlives a rebuild
  bool pump_posted_ = false, draining_ = false, stale_ = false;
  Now now_;
};

// Posts an event and waits for its answer; for threads that may block.
template <class E>
Command call(Coordinator& coordinator, E event, std::optional<AppendAudit> record = std::nullopt) {
  std::promise<Command> promise;
  auto future = promise.get_future();
  coordinator.post(
      std::move(event), [&](Command command) { promise.set_value(std::move(command)); }, std::move(record));
  return future.get();
}

}  // namespace locus::server
