// What runs on the slots of a worker, and how many of them belong together.
#include <algorithm>

#include "core/scheduling/state.h"

namespace locus {

std::vector<int> Scheduler::Records::slots_of_device(const Worker& worker, int device) {
  std::vector<int> slots;
  for (std::size_t slot = 0; slot < worker.device_of.size(); ++slot) {
    if (worker.device_of[slot] == device) slots.push_back(static_cast<int>(slot));
  }
  return slots;
}

// Whether a stage that has these slots may have that one, too: all of the CPU, or each of a device of its own.
bool Scheduler::Records::spreads_alike(const Worker& worker, const std::vector<int>& chosen, int slot) {
  return std::all_of(chosen.begin(), chosen.end(), [&](int other) {
    if (other == slot || worker.cpu(other) != worker.cpu(slot)) return false;
    return worker.cpu(slot) || worker.device(other) != worker.device(slot);
  });
}

int Scheduler::Records::devices_of_a_kind(const Worker& worker) {
  std::set<int> devices(worker.device_of.begin(), worker.device_of.end());
  const auto cpus = std::count(worker.device_of.begin(), worker.device_of.end(), 0);
  devices.erase(0);
  return static_cast<int>(std::max<std::ptrdiff_t>({1, cpus, std::ssize(devices)}));
}

// How many of them a stage could take together.
int Scheduler::Records::devices_together(const Worker& worker) { return worker.gangs ? devices_of_a_kind(worker) : 1; }

// Why that is one, for sentences that begin with the worker; empty: it is not for a reason of its own.
std::string Scheduler::Records::why_apart(const Worker& worker) {
  if (worker.gangs) return "";
  return worker.apart.empty() ? "is of a release that trains on one at a time: update it" : worker.apart;
}

std::size_t Scheduler::Records::slots_busy(const Worker& worker) { return std::min(worker.busy, worker.slots); }

void Scheduler::State::occupy(Worker& worker, const Stage& stage) {
  const std::vector<int>& slots = stage.running->slots;
  if (!worker.running.insert(stage.row.id).second) return;
  for (const int slot : slots) worker.holders.emplace(std::pair(slot, stage.row.id), &stage);
  if (slots.empty()) worker.holders.emplace(std::pair(-1, stage.row.id), &stage);
  worker.busy += std::max<std::size_t>(1, slots.size());
  worker.alone += requirements_.exclusive(stage.requirement) ? 1 : 0;
}

void Scheduler::State::vacate(Worker& worker, const Stage& stage) {
  const std::vector<int>& slots = stage.running->slots;
  if (worker.running.erase(stage.row.id) == 0) return;
  fruitless_until_ = 0;
  for (const int slot : slots) worker.holders.erase({slot, stage.row.id});
  if (slots.empty()) worker.holders.erase({-1, stage.row.id});
  worker.busy -= std::max<std::size_t>(1, slots.size());
  worker.alone -= requirements_.exclusive(stage.requirement) ? 1 : 0;
  if (worker.running.empty()) expect_silence(worker);
}

// The stage that has the slot; null: none.
const Scheduler::Records::Stage* Scheduler::Records::holder(const Worker& worker, int slot) const {
  const auto first = worker.holders.lower_bound({slot, std::numeric_limits<StageId>::min()});
  return first == worker.holders.end() || first->first.first != slot ? nullptr : first->second;
}

// Likewise, or what runs alone on its device; null: it is free.
const Scheduler::Records::Stage* Scheduler::Records::occupant(const Worker& worker, int slot) const {
  if (const Stage* stage = holder(worker, slot)) return stage;
  if (worker.alone == 0) return nullptr;
  const std::vector<const Stage*> beside = running_on({worker.row.id, worker.device(slot)});
  const auto alone = std::find_if(beside.begin(), beside.end(),
                                  [&](const Stage* stage) { return requirements_.exclusive(stage->requirement); });
  return alone == beside.end() ? nullptr : *alone;
}

std::vector<const Scheduler::Records::Stage*> Scheduler::Records::running_on(const Device& device) const {
  const Worker& worker = workers_.at(device.first);
  std::vector<const Stage*> out;
  for (const auto& [place, stage] : worker.holders) {
    const bool there = place.first < 0 || worker.device(place.first) == device.second;
    if (there && std::find(out.begin(), out.end(), stage) == out.end()) out.push_back(stage);
  }
  std::sort(out.begin(), out.end(), [](const Stage* a, const Stage* b) { return a->row.id < b->row.id; });
  return out;
}

// Whether what runs on the device of that slot runs alone.
bool Scheduler::Records::taken_alone(const Worker& worker, int slot) const {
  if (worker.alone == 0) return false;
  const std::vector<const Stage*> beside = running_on({worker.row.id, worker.device(slot)});
  return std::any_of(beside.begin(), beside.end(),
                     [&](const Stage* stage) { return requirements_.exclusive(stage->requirement); });
}

// Whether the whole device of that slot is free, by our books and by what the worker says.
bool Scheduler::Records::vacant(const Worker& worker, int slot, const Waiting& waiting) const {
  const std::vector<int> whole = slots_of_device(worker, worker.device(slot));
  const auto offered = [&](int other) {
    return std::find(waiting.free_slots.begin(), waiting.free_slots.end(), other) != waiting.free_slots.end();
  };
  return std::all_of(whole.begin(), whole.end(), offered) && running_on({worker.row.id, worker.device(slot)}).empty();
}

}  // namespace locus
