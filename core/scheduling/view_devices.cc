// Why a stage that takes several devices of a worker together waits, and who makes way for whom.
#include <algorithm>

#include "core/scheduling/view.h"

namespace locus {

// Of a stage that connected workers have everything for but the size; empty when one is large enough.
std::string Scheduler::View::explain_size(const Stage& stage) const {
  const int needed = records_.fewest_devices(stage);
  if (needed == 1) return "";
  const Worker *largest = nullptr, *apart = nullptr;
  const auto more = [](const Worker* than, const Worker& worker) {
    return than == nullptr || Records::devices_of_a_kind(worker) > Records::devices_of_a_kind(*than);
  };
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || worker.row.state != WorkerState::kActive || !meets_one(worker, stage)) continue;
    if (first_missing(records_.requirements_[stage.requirement], worker.revisions)) continue;
    if (Records::devices_together(worker) >= needed) return "";
    const Worker*& place = worker.gangs ? largest : apart;
    if (more(place, worker)) place = &worker;
  }
  std::string text = "waits for a larger worker: it needs " + std::to_string(needed) + " devices of one node";
  if (largest != nullptr) {
    text += ", the largest has " + std::to_string(Records::devices_together(*largest)) + " (" + largest->row.name + ")";
  }
  if (apart != nullptr && Records::devices_of_a_kind(*apart) >= needed) {
    text += std::string(largest != nullptr ? "; " : ", ") + apart->row.name + " has " +
            std::to_string(Records::devices_of_a_kind(*apart)) + " and " + Records::why_apart(*apart);
  } else if (largest == nullptr && apart != nullptr) {
    text += ", and " + apart->row.name + " " + Records::why_apart(*apart);
  }
  return text;
}

// Of a running stage that is to stop for others.
std::string Scheduler::View::explain_halt(const Records::Halt& halt, Now now) {
  return "; it is being saved and stopped: " + halt.reason + " (since " +
         clock_text(now.wall - (now.steady - halt.since)) + ")";
}

// Of a queued stage: what stops for it, and for whom it was stopped itself.
std::string Scheduler::View::explain_exchange(const Stage& stage, Now now) const {
  std::string text;
  for (const auto& [id, worker] : records_.workers_) {
    for (const StageId running : worker.running) {
      const auto& halt = records_.stages_.at(running).running->halt;
      if (halt && halt->stage == stage.row.id)
        text += "; waits for stage " + std::to_string(running) + " on " + worker.row.name +
                " to checkpoint and stop (since " + clock_text(now.wall - (now.steady - halt->since)) + "; after " +
                Records::duration_text(records_.policy_.preempt_wait) + " it is ended without)";
    }
  }
  const bool told = !stage.resume && stage.row.attempt > 0;  // by explain_way()
  if (stage.row.failure_class == FailureClass::kPreempted && stage.not_before == 0 && !stage.row.reason.empty() &&
      !told)
    text += "; its last attempt ended: " + stage.row.reason;
  return text;
}

// A connected worker is large enough.
std::string Scheduler::View::explain_several(const Stage& stage, Now now) const {
  const std::string needed = std::to_string(records_.fewest_devices(stage)) + " devices of one worker together: ";
  const Reservations reserved = records_.reservations(records_.turns());
  const Worker* worker = nullptr;
  int kept = 0, used = 0;
  for (const auto& [slot, held] : reserved) {
    if (held.turn.key.stage != stage.row.id) continue;
    worker = &records_.workers_.at(slot.first);
    ++kept;
    used += records_.occupant(*worker, slot.second) != nullptr ? 1 : 0;
  }
  if (worker == nullptr) return "takes " + needed + "what comes before it has them; " + explain_place(stage);
  const std::string free = std::to_string(kept - used) + " of " + worker->row.name;
  if (used == 0) return "takes " + needed + free + " are kept free for it until it asks for work with all of them";
  std::string text = "takes " + needed + (kept == used ? "none" : std::to_string(kept - used)) + " of " +
                     worker->row.name + (kept - used == 1 ? " is" : " are") + " free and kept for it, " +
                     std::to_string(used) + (used == 1 ? " is" : " are") + " in use";
  if (const auto until = until_free_slot(stage, now)) text += " until about " + clock_text(now.wall + *until);
  return text + "; nothing that comes after it is started there meanwhile, but what is over by then";
}

}  // namespace locus
