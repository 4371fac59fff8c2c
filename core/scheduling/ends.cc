// Workers that end at a known time: what is still granted to them, and what waits.
//
// A stage whose estimate ends later than its worker is granted to another, or later. One that would outlast a whole life of
// such a worker will be saved and handed on in any case; it is granted while at least half of that life is left, so that it
// gets on. Without an estimate nothing is held back: what is cut short goes on from its checkpoint elsewhere.
#include <algorithm>

#include "core/scheduling/state.h"
#include "core/scheduling/view.h"

namespace locus {

bool Scheduler::Records::ends_in_time(const Worker& worker, StageId id) const {
  if (!worker.ends_at) return true;
  const Microseconds left = *worker.ends_at - now_.steady;
  const Microseconds estimate = stages_.at(id).estimate;
  const Microseconds needed = estimate <= worker.lifetime ? estimate : worker.lifetime / 2;
  return left > 0 && needed <= left;
}

void Scheduler::State::handle(const StagesEstimated& event) {
  for (const auto& [id, busy] : event.busy) {
    if (Stage* stage = find_stage(id)) stage->estimate = std::max<Microseconds>(0, busy);
  }
}

std::vector<QueuedStage> Scheduler::View::queued(Now now, const std::function<bool(StageId)>& describe) const {
  std::map<int, int> able;  // workers, by requirement
  std::vector<QueuedStage> out;
  for (const auto& [id, stage] : records_.stages_) {
    if (stage.ready.empty()) continue;
    const auto [found, fresh] = able.try_emplace(stage.requirement, 0);
    for (const auto& [worker_id, worker] : records_.workers_) {
      if (fresh && worker.connected && records_.could_run(worker, stage.requirement)) ++found->second;
    }
    QueuedStage one{.id = id,
                    .asks = stage.row.requirements,
                    .waited = std::max<Microseconds>(0, now.steady - stage.ready_since),
                    .resume_step = stage.resume ? stage.resume->step : 0,
                    .until_step = Records::stop_point(stage.references),
                    .workers = found->second,
                    .kind = {},
                    .config_json = {},
                    .devices = records_.fewest_devices(stage)};
    if (describe(id)) {
      one.kind = stage.row.kind;
      one.config_json = stage.row.config_json;
    }
    out.push_back(std::move(one));
  }
  return out;
}

bool Scheduler::View::any_ends() const {
  return std::any_of(records_.workers_.begin(), records_.workers_.end(),
                     [](const auto& entry) { return entry.second.connected && entry.second.ends_at; });
}

// Of a stage that workers could run, but none before it ends; empty when one could.
std::string Scheduler::View::explain_late(const Stage& stage, Now now) const {
  const Worker* last = nullptr;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    if (records_.ends_in_time(worker, stage.row.id)) return "";
    if (last == nullptr || *worker.ends_at > *last->ends_at) last = &worker;
  }
  if (last == nullptr) return "";
  const Microseconds left = *last->ends_at - now.steady;
  std::string text = "waits for a worker that stays: " + last->row.name +
                     (left > 0 ? " ends in " + Records::duration_text(left) : " is about to end");
  if (stage.estimate > 0) text += " and this takes about " + Records::duration_text(stage.estimate);
  return text;
}

}  // namespace locus
