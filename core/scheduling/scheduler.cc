// The scheduler's public face: see scheduler.h.
#include "core/scheduling/scheduler.h"

#include "core/scheduling/state.h"
#include "core/scheduling/view.h"

namespace locus {

Scheduler::Scheduler(const Snapshot& snapshot, Now now, SchedulerPolicy policy)
    : state_(std::make_unique<State>(snapshot, now, policy)) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

Decision Scheduler::step(const Event& event, Now now) { return state_->step(event, now); }
std::optional<Microseconds> Scheduler::next_wake() const { return state_->next_wake(); }
std::vector<ReplyToken> Scheduler::waiting() const { return state_->waiting(); }
std::vector<WorkerView> Scheduler::workers(Now now) const { return View(state_->records()).workers(now); }
Fleet Scheduler::fleet() const { return View(state_->records()).fleet(); }
std::vector<QueuedStage> Scheduler::queued(Now now, const std::function<bool(StageId)>& describe) const {
  return View(state_->records()).queued(now, describe);
}
bool Scheduler::goes_by_estimates() const { return View(state_->records()).goes_by_estimates(); }
std::vector<StageSpan> Scheduler::spans(const std::function<bool(StageId)>& describe) const {
  return View(state_->records()).spans(describe);
}
std::vector<AccountView> Scheduler::accounts(Now now) const { return View(state_->records()).accounts(now); }
std::optional<StatedAttempt> Scheduler::progress(StageId stage) const {
  return View(state_->records()).progress(stage);
}
std::optional<StageState> Scheduler::stage_state(StageId stage) const {
  return View(state_->records()).stage_state(stage);
}
std::optional<Microseconds> Scheduler::expected_after(StageId stage, Now now) const {
  return View(state_->records()).expected_after(stage, now);
}
std::string Scheduler::explain(StageId stage, Now now) const { return View(state_->records()).explain(stage, now); }

}  // namespace locus
