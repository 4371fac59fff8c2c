// Drives a scheduler the way its owner does: steps it, applies the mutations to a memory store, collects the
// answers.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/error.h"
#include "core/scheduling/scheduler.h"
#include "tests/scheduling/support/matrix.h"

namespace locus::testing {

using namespace std::chrono_literals;

inline Microseconds us(std::chrono::microseconds duration) { return duration.count(); }

class Harness {
 public:
  explicit Harness(SchedulerPolicy policy = {});

  // ---- time and the owner's duties ----
  void step(Event event);                           // INTERNAL failures are test failures
  void advance(std::chrono::microseconds by);       // with every tick that becomes due on the way
  void stop_process(std::chrono::microseconds by);  // time passes and nothing is stepped
  void set_wall(Microseconds to) { now_.wall = to; }
  void restart();  // a new scheduler from the store, steady clock unrelated to the old one
  Now now() const { return now_; }

  // ---- callers. Each returns its answer; a refused call's status is in last_error(). ----
  bool join(const std::string& name, const std::string& session, std::vector<StatedAttempt> running = {},
            std::map<std::string, int> revisions = default_revisions(), std::vector<SlotOffer> slots = {{"cpu", 0, 1}});
  bool announce(WorkerRegistered event);  // as it is; join() fills in an ordinary one
  bool join_labeled(const std::string& name, const std::string& session, WorkerLabels labels);
  std::optional<Grant> ask(const std::string& session, std::vector<int> free_slots = {0});  // does not wait
  ReplyToken ask_and_wait(const std::string& session, const std::string& request_id,
                          std::chrono::microseconds wait = 20s, std::vector<int> free_slots = {0});
  // Held attempts and what the server wants of each; nothing when refused.
  std::optional<std::vector<LeaseWish>> sync(const std::string& session, std::vector<StatedAttempt> running = {});
  // Of the held attempts those that have a stop point, and which.
  std::map<StageId, std::int64_t> stop_points(const std::string& session, std::vector<StatedAttempt> running);
  bool checkpoint(const std::string& session, const Grant& grant, std::int64_t step);
  bool succeed(const std::string& session, const Grant& grant);
  bool fail(const std::string& session, const Grant& grant, FailureClass failure_class,
            std::string reason = "it broke");
  bool complete(const std::string& session, const Grant& grant, AttemptState outcome);
  // Commits a checkpoint of that step and parks there.
  bool park(const std::string& session, const Grant& grant, std::int64_t step);
  std::optional<ReplySubmitted> submit(const Matrix& matrix);
  bool decide(const Matrix& matrix, const std::map<std::int64_t, std::int64_t>& wants);  // as decided()
  bool decide(SearchDecided event);
  bool set_state(const std::string& experiment, ExperimentState to);
  bool drain(const std::string& worker, Drain to, const std::string& reason = "for a test", Microseconds from = 0);
  bool forget(const std::string& worker);
  bool share(AccountRow row);
  bool unshare(const std::string& account);
  // Failed, held and cancelled stages of the matrix's trials, or of one trial.
  std::optional<ReplySubmitted> rerun(const std::string& experiment, std::int64_t trial = -1);
  bool erase(const std::string& experiment, bool force = false);
  void purge();  // trial after trial, what deleted experiments left

  // What was answered to a waiting call: absent while it waits.
  const Command* answer(ReplyToken token) const;
  std::optional<Grant> granted(ReplyToken token) const;
  const absl::Status& last_error() const { return last_error_; }
  ErrorReason last_reason() const;

  // ---- looking ----
  StageRow stage(const std::string& identity);
  StageRow train(const std::string& cell, std::int64_t seed = 0) { return stage(train_identity(cell, seed)); }
  StageRow evaluate(const std::string& cell, std::int64_t seed = 0) { return stage(evaluate_identity(cell, seed)); }
  StageRow measure(const std::string& cell, std::int64_t seed = 0) { return stage(measure_identity(cell, seed)); }
  std::string explain(const StageRow& row) const { return scheduler_->explain(row.id, now_); }
  std::vector<EventRow> events(const std::string& kind);
  WorkerRow worker(const std::string& name);
  Store& store() { return *store_; }
  Scheduler& scheduler() { return *scheduler_; }
  static std::map<std::string, int> default_revisions();

 private:
  static WorkerRegistered ordinary(const std::string& name, const std::string& session,
                                   std::vector<StatedAttempt> running, std::map<std::string, int> revisions,
                                   std::vector<SlotOffer> slots);
  bool search_runs(ExperimentId id);
  bool done(ReplyToken token);
  std::string artifact(const std::string& content);

  SchedulerPolicy policy_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Scheduler> scheduler_;
  Now now_{.steady = 1'000'000'000, .wall = 1'700'000'000'000'000};
  ReplyToken next_token_ = 1;
  int next_request_ = 1;
  std::map<ReplyToken, Command> answers_;
  absl::Status last_error_;
};

StatedAttempt stated(const Grant& grant, std::int64_t step = 0, std::int64_t steps = 0);

}  // namespace locus::testing
