// Workers that end at a known time: what is still granted to them, and what waits.
//
// A stage whose estimate ends later than its worker is granted to another, or later. One that would outlast a whole life of
// such a worker will be saved and handed on in any case; it is granted while at least half of that life is left, so that it
// gets on. Before a drain that a person set for later there is no such life: what would outlast it waits for it to pass.
// Without an estimate nothing is held back: what is cut short goes on from its checkpoint elsewhere.
#include <algorithm>
#include <limits>

#include "core/scheduling/state.h"
#include "core/scheduling/view.h"

namespace locus {

namespace {

// Of what people say in their time, whatever the clock did since.
Microseconds before_drain(const WorkerRow& worker, Now now) {
  return worker.drains_later() ? worker.drain_from_us - now.wall : std::numeric_limits<Microseconds>::max();
}

}  // namespace

Microseconds Scheduler::Records::time_left(const Worker& worker, Now now) {
  const Microseconds own = worker.ends_at ? *worker.ends_at - now.steady : std::numeric_limits<Microseconds>::max();
  return std::min(own, before_drain(worker.row, now));
}

bool Scheduler::Records::ends_in_time(const Worker& worker, StageId id) const {
  const Microseconds estimate = stages_.at(id).estimate;
  if (worker.row.drains_later()) {
    const Microseconds left = before_drain(worker.row, now_);
    if (left <= 0 || estimate > left) return false;
  }
  if (!worker.ends_at) return true;
  const Microseconds left = *worker.ends_at - now_.steady;
  const Microseconds needed = estimate <= worker.lifetime ? estimate : worker.lifetime / 2;
  return left > 0 && needed <= left;
}

void Scheduler::State::handle(const StagesEstimated& event) {
  for (const auto& [id, busy] : event.busy) {
    Stage* stage = find_stage(id);
    if (stage == nullptr) continue;
    stage->estimate = std::max<Microseconds>(0, busy);
    // One that was let in before others is held to what was expected of it then.
    if (stage->running && !stage->running->backfilled) stage->running->ends_by = latest_end(*stage);
  }
}

// Of a stage that workers could run, but none before it ends; empty when one could.
std::string Scheduler::View::explain_late(const Stage& stage, Now now) const {
  const Worker* last = nullptr;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    if (records_.ends_in_time(worker, stage.row.id)) return "";
    if (last == nullptr || Records::time_left(worker, now) > Records::time_left(*last, now)) last = &worker;
  }
  if (last == nullptr) return "";
  const Microseconds left = Records::time_left(*last, now);
  std::string text = "waits for a worker that stays: " + last->row.name +
                     (left <= 0                              ? " is about to end"
                      : left == before_drain(last->row, now) ? " is drained in " + Records::duration_text(left)
                                                             : " ends in " + Records::duration_text(left));
  if (stage.estimate > 0) text += " and this takes about " + Records::duration_text(stage.estimate);
  return text;
}

}  // namespace locus
