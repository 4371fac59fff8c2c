// Stages that run alone on their device: their catalog entry says so, their configuration carries it.
//
//  - one is granted only when nothing runs on the device and the worker itself offers every slot of it;
//  - while it runs, nothing is granted beside it;
//  - while it waits, one device is emptied for it: nothing behind it in grant order is started there. What comes before
//    it in that order still is, so priorities keep their meaning; within an experiment it comes after what shares
//    devices. Each such stage, in grant order, has the emptiest device that none before it has.
//
// It never starves: on its device, what runs only becomes less, save by stages before it, of which there are
// finitely many as for every other stage; and it changes to another device only when that one is emptier.
#include <algorithm>

#include "core/scheduling/records.h"

namespace locus {

std::vector<const Scheduler::Records::Stage*> Scheduler::Records::running_on(const Device& device) const {
  const Worker& worker = workers_.at(device.first);
  std::vector<const Stage*> out;
  for (const StageId id : worker.running) {
    const Stage& stage = stages_.at(id);
    const std::vector<int>& slots = stage.running->slots;
    if (slots.empty() || worker.device(slots.front()) == device.second) out.push_back(&stage);
  }
  return out;
}

Scheduler::Records::Reservations Scheduler::Records::reservations(const std::vector<Lane>& order) const {
  struct Candidate {
    Device device;
    std::size_t busy;
  };
  const auto alone = [this](int requirement) { return requirements_.exclusive(requirement); };
  Reservations out;
  std::optional<std::vector<Candidate>> left;
  std::set<StageId> seen;  // it may stand in several lanes
  ready_.visit(order, alone, [&](int requirement, const Turn& turn) {
    if (!seen.insert(turn.key.stage).second) return true;
    if (!left) {  // seldom asked for, so only now
      left.emplace();
      for (const auto& [id, worker] : workers_) {
        if (!worker.connected || now_.steady - worker.heard > policy_.lease) continue;
        std::set<int> devices(worker.device_of.begin(), worker.device_of.end());
        if (devices.empty()) devices.insert(0);
        for (const int device : devices) left->push_back({{id, device}, running_on({id, device}).size()});
      }
      std::stable_sort(left->begin(), left->end(),
                       [](const Candidate& a, const Candidate& b) { return a.busy < b.busy; });
    }
    const auto found = std::find_if(left->begin(), left->end(), [&](const Candidate& candidate) {
      const Worker& worker = workers_.at(candidate.device.first);
      return accepts(worker, requirement) && ends_in_time(worker, turn.key.stage) &&
             may_hold(turn.lane, weight_of_device(worker, candidate.device.second));
    });
    if (found == left->end()) return false;
    out.emplace(found->device, turn);
    left->erase(found);
    return true;
  });
  return out;
}

// Whether the whole device of that slot is free, by our books and by what the worker says.
bool Scheduler::Records::vacant(const Worker& worker, int slot, const Waiting& waiting) const {
  const int device = worker.device(slot);
  for (std::size_t other = 0; other < worker.device_of.size(); ++other) {
    const auto& free = waiting.free_slots;
    if (worker.device_of[other] == device && std::find(free.begin(), free.end(), static_cast<int>(other)) == free.end())
      return false;
  }
  return running_on({worker.row.id, device}).empty();
}

// The slot such a stage would get by answering that request, if any.
std::optional<int> Scheduler::Records::slot_for(const Waiting& waiting, int requirement, const Turn& turn,
                                                const Reservations& reserved) const {
  const Worker& worker = workers_.at(waiting.worker);
  if (!accepts(worker, requirement) || !ends_in_time(worker, turn.key.stage)) return std::nullopt;
  const bool alone = requirements_.exclusive(requirement);
  for (const int slot : waiting.free_slots) {
    const Device device{worker.row.id, worker.device(slot)};
    const auto kept = reserved.find(device);
    if (kept != reserved.end() && kept->second < turn) continue;
    if (!may_hold(turn.lane, weight_on(worker, slot, alone))) continue;
    if (alone && !vacant(worker, slot, waiting)) continue;
    const std::vector<const Stage*> beside = running_on(device);
    if (std::none_of(beside.begin(), beside.end(),
                     [&](const Stage* stage) { return requirements_.exclusive(stage->requirement); }))
      return slot;
  }
  return std::nullopt;
}

// Whether no free slot of the worker may be given to a stage with that place in grant order.
bool Scheduler::Records::shut(const Worker& worker, const Turn& turn, const Reservations& reserved) const {
  for (std::size_t slot = 0; slot < std::max<std::size_t>(worker.slots, 1); ++slot) {
    const Device device{worker.row.id, worker.device(static_cast<int>(slot))};
    const std::vector<const Stage*> beside = running_on(device);
    const bool used = std::any_of(beside.begin(), beside.end(), [&](const Stage* stage) {
      const std::vector<int>& slots = stage->running->slots;
      return requirements_.exclusive(stage->requirement) ||
             std::find(slots.begin(), slots.end(), static_cast<int>(slot)) != slots.end();
    });
    const auto kept = reserved.find(device);
    if (!used && (kept == reserved.end() || !(kept->second < turn))) return false;
  }
  return true;
}

}  // namespace locus
