// Attempts that stop for others: they are asked to save what they have and stop, and after a while are ended without. Nothing of
// it counts against the stage: it is queued in its former place, prefers the worker whose files it has, and goes on from its
// newest checkpoint. A server that starts again has forgotten whom it asked, and looks again.
#include <algorithm>

#include "core/scheduling/state.h"

namespace locus {

void Scheduler::State::halt(Stage& stage, Halt halt) {
  halt.since = now_.steady;
  fruitless_until_ = 0;  // what stops for another makes room
  const Json json{{"experiments", experiments_of(stage)},
                  {"attempt", stage.row.attempt},
                  {"worker", workers_.at(stage.running->worker).row.name},
                  {"for_stage", halt.stage},
                  {"reason", halt.reason}};
  mutate(AppendEvent{"stages/" + std::to_string(stage.row.id), "attempt-stopping", event_text(json)});
  stage.running->halt = std::move(halt);
  halting_.insert(stage.row.id);
}

void Scheduler::State::end_halted() {
  const std::set<StageId> halting = halting_;
  for (const StageId id : halting) {
    Stage* stage = find_stage(id);
    if (stage == nullptr || !stage->running || !stage->running->halt) {
      halting_.erase(id);
      continue;
    }
    const Halt& halt = *stage->running->halt;
    if (now_.steady - halt.since < policy_.preempt_wait) continue;
    const Ending ending{.outcome = AttemptState::kCancelled,
                        .failure_class = FailureClass::kPreempted,
                        .reason = halt.reason + "; it had not stopped after " + duration_text(policy_.preempt_wait),
                        .uncounted = true};
    halting_.erase(id);
    end_attempt(*stage, ending, EndAttempt{});
  }
}

}  // namespace locus
