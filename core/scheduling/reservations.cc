// Stages that need more than one free slot: those that run alone on their device, since their catalog entry says so, and
// those that train on several devices of a worker together (placement.devices).
//
//  - one that runs alone is granted only when nothing runs on the device and the worker itself offers every slot of it, and
//    while it runs, nothing is granted beside it;
//  - one that takes several devices is granted all of them at once, or none;
//  - while one waits, what it needs is emptied for it: nothing behind it in grant order is started there. What comes before
//    it in that order still is, so priorities keep their meaning; within an experiment what runs alone comes after what
//    shares devices. Each that runs alone has, in grant order, the emptiest device that none before it has. Of those that
//    take several devices the first in order has the slots of the worker that lacks fewest, the next ones those of other
//    workers: on a worker one at a time, so that never two hold a part each of what both need.
//
// It never starves: where it waits, what runs only becomes less, save by stages before it, of which there are finitely many
// as for every other stage; and it changes to another place only when that one is emptier. One that no connected worker is
// large enough for keeps nothing free.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core/scheduling/records.h"

namespace locus {
namespace {

constexpr Microseconds kNobodyKnows = std::numeric_limits<Microseconds>::max();

// What one that waits would be given, and how much of that is in use.
struct Emptied {
  std::vector<int> slots;
  std::size_t busy = 0;
  std::optional<Microseconds> begins;  // steady; when none of them is in use any more, at the latest
};

}  // namespace

// The places of workers that are heard, as they are while reservations are made. What could be given where is found once
// and kept in order, since each of thousands that wait may be given a place.
class Scheduler::Records::Room {
 public:
  explicit Room(const Records& records) : records_(records) {
    for (const auto& [id, worker] : records.workers_) {
      if (worker.connected && records.now_.steady - worker.heard <= records.policy_.lease) workers_.push_back(&worker);
    }
    for (const StageId id : records.halting_) {
      const Stage* stage = records.find_stage(id);
      if (stage != nullptr && stage->running && stage->running->halt) halted_for_.insert(stage->running->halt->stage);
    }
  }

  // Keeps what that stage needs, if any worker has it: false where none does.
  bool keep(const Turn& turn) {
    const bool alone = records_.requirements_.exclusive(turn.requirement);
    const int devices = alone ? kAlone : records_.requirements_.devices(turn.requirement);
    const std::optional<Place> place =
        halted_for_.contains(turn.key.stage) ? look_through(turn, devices) : first_of(turn, devices);
    if (!place) return false;
    const Worker& worker = *workers_[place->worker];
    for (const int slot : place->emptied.slots)
      kept_.emplace(SlotOf{worker.row.id, slot}, Kept{turn, place->emptied.begins});
    if (!alone) several_.insert(place->worker);
    for (auto& [other, ranking] : rankings_) rank(ranking, other, place->worker);
    return true;
  }
  Reservations take() { return std::move(kept_); }

 private:
  static constexpr int kAlone = 0;  // instead of a number of devices: all of one
  struct Place {
    std::size_t worker = 0;  // among workers_
    Emptied emptied;
  };
  // By how much of them is in use, then by worker and device: what could be kept for those that take as much.
  using Key = std::tuple<std::size_t, std::size_t, std::size_t>;
  struct Ranking {
    std::map<Key, Emptied> places;
    std::vector<std::vector<Key>> of_worker;
  };

  std::optional<Place> first_of(const Turn& turn, int devices) {
    const auto [found, fresh] = rankings_.try_emplace(devices);
    Ranking& ranking = found->second;
    if (fresh) {
      ranking.of_worker.resize(workers_.size());
      for (std::size_t worker = 0; worker < workers_.size(); ++worker) rank(ranking, devices, worker);
    }
    for (const auto& [key, emptied] : ranking.places) {
      if (fits(std::get<1>(key), emptied, turn)) return Place{std::get<1>(key), emptied};
    }
    return std::nullopt;
  }

  // Where something stops for the stage already, what is in use is another number for it than for others.
  std::optional<Place> look_through(const Turn& turn, int devices) const {
    std::optional<Place> best;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      for (Emptied& here : places_of(worker, devices, turn.key.stage)) {
        if ((!best || here.busy < best->emptied.busy) && fits(worker, here, turn))
          best = Place{worker, std::move(here)};
      }
    }
    return best;
  }

  bool fits(std::size_t worker, const Emptied& here, const Turn& turn) const {
    const Worker& one = *workers_[worker];
    return records_.accepts(one, turn.requirement) && records_.ends_in_time(one, turn.key.stage) &&
           records_.may_hold(turn.lane, weight_on(one, here.slots, records_.requirements_.exclusive(turn.requirement)));
  }

  void rank(Ranking& ranking, int devices, std::size_t worker) {
    for (const Key& key : ranking.of_worker[worker]) ranking.places.erase(key);
    ranking.of_worker[worker].clear();
    for (Emptied& here : places_of(worker, devices, 0)) {
      const Key key{here.busy, worker, ranking.of_worker[worker].size()};
      ranking.of_worker[worker].push_back(key);
      ranking.places.emplace(key, std::move(here));
    }
  }

  // `stage`: for which some may be stopping; 0: for none.
  std::vector<Emptied> places_of(std::size_t worker, int devices, StageId stage) const {
    if (devices == kAlone) return devices_of(*workers_[worker], stage);
    std::vector<Emptied> out;
    if (several_.contains(worker)) return out;
    if (auto here = several_of(*workers_[worker], devices, stage)) out.push_back(*std::move(here));
    return out;
  }

  // Its devices that nobody has kept a slot of.
  std::vector<Emptied> devices_of(const Worker& worker, StageId stage) const {
    std::vector<Emptied> out;
    const std::set<int> devices(worker.device_of.begin(), worker.device_of.end());
    for (const int device : devices) {
      const std::vector<const Stage*> running = records_.running_on({worker.row.id, device});
      Emptied here{slots_of_device(worker, device), 0, free_after(running)};
      for (const Stage* one : running) here.busy += stops_for(*one, stage) ? 0 : 1;
      const bool taken = std::any_of(here.slots.begin(), here.slots.end(), [&](int slot) {
        return kept_.contains({worker.row.id, slot});
      });
      if (!taken) out.push_back(std::move(here));
    }
    return out;
  }

  // As many slots as it takes together, those in use last.
  std::optional<Emptied> several_of(const Worker& worker, int devices, StageId stage) const {
    std::vector<std::tuple<Microseconds, int, const Stage*>> slots;  // when it is free at the latest, and of whom
    for (int slot = 0; slot < static_cast<int>(worker.device_of.size()); ++slot) {
      if (kept_.contains({worker.row.id, slot})) continue;
      const Stage* holder = records_.occupant(worker, slot);
      const bool soon = holder == nullptr || stops_for(*holder, stage);
      slots.emplace_back(soon ? 0 : free_after({holder}).value_or(kNobodyKnows), slot, holder);
    }
    std::sort(slots.begin(), slots.end());
    Emptied here{{}, 0, records_.now_.steady};
    for (const auto& [free, slot, holder] : slots) {
      if (here.slots.size() == static_cast<std::size_t>(devices)) break;
      if (!spreads_alike(worker, here.slots, slot)) continue;
      here.slots.push_back(slot);
      here.busy += holder != nullptr && !stops_for(*holder, stage) ? 1 : 0;
      if (free == kNobodyKnows) here.begins.reset();
      if (here.begins) here.begins = std::max(*here.begins, free);
    }
    if (here.slots.size() < static_cast<std::size_t>(devices)) return std::nullopt;
    return here;
  }

  // What is being stopped for it is as good as free: otherwise a place that is half free would be kept instead.
  static bool stops_for(const Stage& running, StageId stage) {
    return running.running->halt && running.running->halt->stage == stage;
  }

  std::optional<Microseconds> free_after(const std::vector<const Stage*>& running) const {
    Microseconds last = records_.now_.steady;
    for (const Stage* stage : running) {
      if (stage->running->ends_by == 0) return std::nullopt;
      last = std::max(last, stage->running->ends_by);
    }
    return last;
  }

  const Records& records_;
  std::vector<const Worker*> workers_;  // by id
  std::set<StageId> halted_for_;        // for which something is being stopped
  std::map<int, Ranking> rankings_;     // by devices that are taken together
  Reservations kept_;
  std::set<std::size_t> several_;  // workers with slots that are kept for one that takes several devices
};

bool Scheduler::Records::needs_several_slots(int requirement) const {
  return requirements_.exclusive(requirement) || requirements_.devices(requirement) > 1;
}

Scheduler::Records::Reservations Scheduler::Records::reservations(const std::vector<Lane>& order) const {
  std::optional<Room> room;  // seldom asked for
  std::set<StageId> seen;    // one may stand in several lanes
  const auto needs_more = [this](int requirement) { return needs_several_slots(requirement); };
  ready_.visit(order, needs_more, [&](int, const Turn& turn) {
    if (!seen.insert(turn.key.stage).second) return true;
    if (!room) room.emplace(*this);
    return room->keep(turn);
  });
  return room ? room->take() : Reservations{};
}

// That for which the slot is kept, if it comes before that one; null: the slot is not kept from it.
const Scheduler::Records::Kept* Scheduler::Records::kept_before(const Reservations& reserved, const SlotOf& slot,
                                                                const Turn& turn) {
  const auto kept = reserved.find(slot);
  if (kept == reserved.end() || kept->second.turn.key.stage == turn.key.stage) return nullptr;
  return kept->second.turn < turn ? &kept->second : nullptr;
}

// The slots that it would get by answering that request; none where it cannot start there.
std::vector<int> Scheduler::Records::slots_for(const Waiting& waiting, const Turn& turn,
                                               const Reservations& reserved) const {
  const Worker& worker = workers_.at(waiting.worker);
  if (!accepts(worker, turn.requirement) || !ends_in_time(worker, turn.key.stage)) return {};
  const bool alone = requirements_.exclusive(turn.requirement);
  const auto wanted = static_cast<std::size_t>(requirements_.devices(turn.requirement));
  const Stage& stage = stages_.at(turn.key.stage);
  std::vector<int> open, kept, chosen;
  for (const int slot : waiting.free_slots) {
    const std::vector<int> whole = alone ? slots_of_device(worker, worker.device(slot)) : std::vector{slot};
    bool late = false, behind = false;
    for (const int each : whole) {
      const Kept* before = kept_before(reserved, {worker.row.id, each}, turn);
      behind = behind || before != nullptr;
      late = late || (before != nullptr && !backfills(stage, *before));
    }
    if (!late) (behind ? kept : open).push_back(slot);
  }
  open.insert(open.end(), kept.begin(), kept.end());
  for (const int slot : open) {
    if (!may_hold(turn.lane, weight_on(worker, {slot}, alone))) continue;
    if (alone ? !vacant(worker, slot, waiting) : taken_alone(worker, slot)) continue;
    if (wanted > 1 && (holder(worker, slot) != nullptr || !spreads_alike(worker, chosen, slot))) continue;
    chosen.push_back(slot);
    if (chosen.size() == wanted) break;
  }
  if (chosen.size() < wanted || !may_hold(turn.lane, weight_on(worker, chosen, alone))) return {};
  return chosen;
}

// Whether no free slot of the worker may be given to a stage with that place in grant order.
bool Scheduler::Records::shut(const Worker& worker, const Turn& turn, const Reservations& reserved) const {
  for (int slot = 0; slot < static_cast<int>(worker.device_of.size()); ++slot) {
    if (holder(worker, slot) != nullptr || taken_alone(worker, slot)) continue;
    if (!kept_before(reserved, {worker.row.id, slot}, turn)) return false;
  }
  return true;
}

}  // namespace locus
