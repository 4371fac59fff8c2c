// Work that stops so that other work can start, while accounts have shares:
//
//  - for an urgent stage that finds no room, of what is less urgent;
//  - for a normal one, of what is scavenged;
//  - for an account below its share by what the stage takes, where work has waited for long, of accounts that stay at their
//    share or above without what is stopped.
//
// Never of the account that it is for, nor what runs alone, whose figures would be lost; nothing before it has run for a
// while, save for urgent work; and of a device only now and then. Whoever is stopped comes after whom it is stopped for,
// before and after the exchange: a class only stops later classes, and an account only rises to its share where the other
// does not sink below its own. So no two stop each other in turn.
//
// A stage that takes several slots has all that it lacks emptied at once, on one worker, and not where slots are kept
// already for another that takes several. One that holds several slots gives up all of them, whatever is needed of it.
#include <algorithm>
#include <compare>

#include "core/scheduling/state.h"

namespace locus {
namespace {

// Who is stopped first: the last class, of it the account that holds most for its weight, then what loses least, then the
// youngest.
struct VictimKey {
  int negative_class = 0;
  std::int64_t negative_ratio = 0;
  Microseconds lost = 0, negative_start = 0;
  StageId stage = 0;
  auto operator<=>(const VictimKey&) const = default;
};

}  // namespace

// How accounts stand to one another, which no exchange changes: halts move nothing until an attempt has ended.
struct Scheduler::State::Standing {
  explicit Standing(const State& state) {
    for (const auto& [id, worker] : state.workers_) {
      if (worker.connected && worker.row.state == WorkerState::kActive)
        for (const std::int64_t weight : worker.weight_of) capacity += weight;
      for (const auto& [place, stage] : worker.holders)
        scavenged = scavenged || stage->running->service_class == ServiceClass::kScavenge;
    }
    const std::vector<Lane> lanes = state.ready_.lanes();
    std::set<int> active;
    for (const Lane& lane : lanes) active.insert(lane.account);
    for (int account = 0; account < state.accounts_.size(); ++account) {
      if (state.accounts_[account].holding > 0) active.insert(account);
    }
    for (const int account : active) weights += state.accounts_[account].row.weight;
  }

  std::int64_t capacity = 0, weights = 0;  // of all slots; of all accounts that hold or want something
  bool scavenged = false;                  // something of that class runs
};

// One look for a stage that waits: what would have to stop, and where.
class Scheduler::State::Exchange {
 public:
  Exchange(const State& state, const Standing& standing, const Turn& turn, const Reservations& reserved)
      : state_(state),
        standing_(standing),
        turn_(turn),
        reserved_(reserved),
        stage_(state.stages_.at(turn.key.stage)),
        owners_(state.owners_of(stage_)) {
    for (const StageId id : state.halting_) note_halting(id);
  }

  // Nothing: it has room, or nowhere may enough be stopped.
  std::vector<StageId> victims() const {
    if (busy_ || !may_gain()) return {};
    std::optional<std::pair<std::size_t, std::vector<VictimKey>>> best;
    for (const auto& [id, worker] : state_.workers_) {
      if (!worker.connected || state_.now_.steady - worker.heard > state_.policy_.lease) continue;
      if (!state_.accepts(worker, turn_.requirement) || !state_.ends_in_time(worker, stage_.row.id)) continue;
      if (kept_for_another(worker)) continue;
      Waiting all{.reply = 0, .worker = id, .request_id = {}, .free_slots = {}, .deadline = 0};
      for (int slot = 0; slot < static_cast<int>(worker.device_of.size()); ++slot) {
        if (state_.holder(worker, slot) == nullptr) all.free_slots.push_back(slot);
      }
      if (!state_.slots_for(all, turn_, reserved_).empty()) return {};
      const std::vector<VictimKey> here = victims_on(worker);
      if (!here.empty() && (!best || std::pair(here.size(), here) < *best)) best = {here.size(), here};
    }
    std::vector<StageId> out;
    if (best) {
      for (const VictimKey& key : best->second) out.push_back(key.stage);
    }
    return out;
  }

  // Why that one stops for it, a clause for people.
  std::string because(const Stage& victim) const {
    const std::string& ours = state_.accounts_[turn_.lane.account].row.name;
    const std::string text = "pre-empted by stage " + std::to_string(stage_.row.id) + " (" + stage_.row.kind +
                             ") of account " + ours + ", which ";
    if (by_class(victim)) {
      const bool urgent = turn_.lane.service_class == ServiceClass::kUrgent;
      return text + (urgent ? "is urgent and found no room" : "comes before work that is scavenged");
    }
    std::string theirs;
    for (const int account : victim.running->accounts)
      theirs += (theirs.empty() ? "" : " and ") + state_.accounts_[account].row.name + " " + holds_text(account);
    return text + "has waited for " + duration_text(state_.now_.steady - stage_.ready_since) + ": " + ours + " holds " +
           holds_text(turn_.lane.account) + ", " + theirs;
  }

 private:
  std::string holds_text(int account) const {
    const std::int64_t share = standing_.capacity * state_.accounts_[account].row.weight / standing_.weights;
    return number_text(state_.accounts_[account].holding) + " of a share of " + devices_text(share);
  }

  // Whether there could be anybody: most that wait have no claim, and are not looked at further.
  bool may_gain() const {
    const ServiceClass ours = turn_.lane.service_class;
    if (ours == ServiceClass::kUrgent) return true;
    if (state_.now_.steady - stage_.ready_since > state_.policy_.reclaim_after && below_share(1)) return true;
    return ours == ServiceClass::kNormal && standing_.scavenged;
  }

  // Nothing that is stopped there would be kept for it, either (Room::several_of).
  bool kept_for_another(const Worker& worker) const {
    if (state_.requirements_.devices(turn_.requirement) == 1) return false;
    for (auto kept = reserved_.lower_bound({worker.row.id, 0});
         kept != reserved_.end() && kept->first.first == worker.row.id; ++kept) {
      const Turn& other = kept->second.turn;
      if (other.key.stage != stage_.row.id && other < turn_ && state_.requirements_.devices(other.requirement) > 1)
        return true;
    }
    return false;
  }

  // What is being stopped already counts as exchanged.
  void note_halting(StageId id) {
    const Stage* halting = state_.Records::find_stage(id);
    if (halting == nullptr || !halting->running || !halting->running->halt) return;
    const Running& running = *halting->running;
    for (const int account : running.accounts) moved_[account] -= running.part;
    moved_[running.halt->account] += running.halt->weight;
    busy_ = busy_ || running.halt->stage == stage_.row.id;
  }

  std::vector<VictimKey> victims_on(const Worker& worker) const {
    if (!state_.requirements_.exclusive(turn_.requirement)) return victims_among(worker, all_slots(worker), false);
    std::vector<VictimKey> best;
    const std::set<int> devices(worker.device_of.begin(), worker.device_of.end());
    for (const int device : devices) {
      std::vector<VictimKey> here = victims_among(worker, slots_of_device(worker, device), true);
      if (!here.empty() && (best.empty() || std::pair(here.size(), here) < std::pair(best.size(), best)))
        best = std::move(here);
    }
    return best;
  }

  static std::vector<int> all_slots(const Worker& worker) {
    std::vector<int> slots;
    for (int slot = 0; slot < static_cast<int>(worker.device_of.size()); ++slot) slots.push_back(slot);
    return slots;
  }

  // Where it could start: the slots of a worker, or of one device; how many of them it takes, and what that weighs.
  struct Place {
    const Worker& worker;
    std::vector<int> slots;
    bool all = false;
    std::size_t wanted = 1;
    std::int64_t takes = 0;
  };

  // Of the first in the order of victims that make as many of these slots free as it takes, those without whom it would not
  // do; none where it would not in any case.
  std::vector<VictimKey> victims_among(const Worker& worker, const std::vector<int>& slots, bool all) const {
    const auto devices = static_cast<std::size_t>(state_.requirements_.devices(turn_.requirement));
    Place place{worker, slots, all, all ? slots.size() : devices};
    if (slots.size() < place.wanted) return {};
    place.takes = weight_on(worker, {slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(place.wanted)}, all);
    if (!state_.may_hold(turn_.lane, place.takes)) return {};
    std::set<VictimKey> could;
    for (const int slot : slots) {
      const Stage* holder = state_.occupant(worker, slot);
      if (holder != nullptr && may_stop(worker, *holder, place.takes)) could.insert(key_of(*holder));
    }
    std::vector<VictimKey> out;
    std::map<int, std::int64_t> given;
    for (const VictimKey& key : could) {
      if (freed_by(place, out) >= place.wanted) break;
      const Stage& victim = state_.stages_.at(key.stage);
      if (!by_class(victim) && !keeps_shares(victim, given)) continue;
      for (const int account : victim.running->accounts) given[account] += victim.running->part;
      out.push_back(key);
    }
    if (freed_by(place, out) < place.wanted) return {};
    for (std::size_t i = out.size(); i-- > 0;) {
      std::vector<VictimKey> others = out;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (freed_by(place, others) >= place.wanted) out = std::move(others);
    }
    return out;
  }

  // How many of the slots that it takes there are free once these have stopped.
  std::size_t freed_by(const Place& place, const std::vector<VictimKey>& victims) const {
    std::vector<int> chosen;
    for (const int slot : place.slots) {
      if (kept_before(reserved_, {place.worker.row.id, slot}, turn_) != nullptr) continue;
      const Stage* holder = state_.occupant(place.worker, slot);
      const bool stops = holder != nullptr && std::any_of(victims.begin(), victims.end(), [&](const VictimKey& key) {
                           return key.stage == holder->row.id;
                         });
      if ((holder == nullptr || stops) && (place.all || spreads_alike(place.worker, chosen, slot)))
        chosen.push_back(slot);
    }
    return std::min(chosen.size(), place.wanted);
  }

  // Whether its class alone makes way.
  bool by_class(const Stage& victim) const {
    const ServiceClass ours = turn_.lane.service_class, theirs = victim.running->service_class;
    return ours < theirs && (ours == ServiceClass::kUrgent || theirs == ServiceClass::kScavenge);
  }

  bool may_stop(const Worker& worker, const Stage& victim, std::int64_t takes) const {
    const Running& running = *victim.running;
    if (running.halt || state_.requirements_.exclusive(victim.requirement)) return false;
    const bool own = std::any_of(running.accounts.begin(), running.accounts.end(), [&](int account) {
      return account == turn_.lane.account || owners_.contains(account);
    });
    if (own) return false;
    const Microseconds now = state_.now_.steady;
    const bool lately = std::any_of(running.slots.begin(), running.slots.end(), [&](int slot) {
      const auto last = worker.preempted_at.find(slot);
      return last != worker.preempted_at.end() && now - last->second < state_.policy_.preempt_every;
    });
    if (lately) return false;
    if (by_class(victim) && turn_.lane.service_class == ServiceClass::kUrgent) return true;
    if (now - running.started < state_.policy_.min_run) return false;
    if (by_class(victim)) return true;
    return running.service_class >= turn_.lane.service_class &&
           now - stage_.ready_since > state_.policy_.reclaim_after && below_share(takes);
  }

  // Whether the account stays within its share with that, too.
  bool below_share(std::int64_t takes) const {
    const int account = turn_.lane.account;
    return (held(account) + takes) * standing_.weights <= standing_.capacity * state_.accounts_[account].row.weight;
  }

  // Whether all that hold it have their share without it, too.
  bool keeps_shares(const Stage& victim, const std::map<int, std::int64_t>& given) const {
    const Running& running = *victim.running;
    return !running.accounts.empty() && std::all_of(running.accounts.begin(), running.accounts.end(), [&](int account) {
      const auto lost = given.find(account);
      const std::int64_t left = held(account) - running.part - (lost == given.end() ? 0 : lost->second);
      return left * standing_.weights >= standing_.capacity * state_.accounts_[account].row.weight;
    });
  }

  std::int64_t held(int account) const {
    const auto moved = moved_.find(account);
    return state_.accounts_[account].holding + (moved == moved_.end() ? 0 : moved->second);
  }

  VictimKey key_of(const Stage& victim) const {
    const Running& running = *victim.running;
    std::int64_t most = 0;
    for (const int account : running.accounts)
      most = std::max(most, held(account) * 1000 / std::max<std::int64_t>(1, state_.accounts_[account].row.weight));
    return {-static_cast<int>(running.service_class), -most, lost_of(victim), -running.started, victim.row.id};
  }

  // The time that its steps since the newest checkpoint took; all of its time where it has stated none.
  Microseconds lost_of(const Stage& victim) const {
    const Running& running = *victim.running;
    const std::int64_t done = running.progress.step - running.first_step;
    if (running.first_at == 0 || done <= 0) return state_.now_.steady - running.started;
    const std::int64_t saved = victim.resume ? std::min(victim.resume->step, running.progress.step) : 0;
    return (running.listed - running.first_at) / done * (running.progress.step - saved);
  }

  const State& state_;
  const Standing& standing_;
  const Turn& turn_;
  const Reservations& reserved_;
  const Stage& stage_;
  std::set<int> owners_;
  std::map<int, std::int64_t> moved_;  // between accounts, by what is being stopped
  bool busy_ = false;                  // something is being stopped for it already
};

// Once a heartbeat: workers hear of it no sooner.
void Scheduler::State::preempt() {
  if (!accounts_.shared() || !intake_closed_.empty() || now_.steady < next_preemption_) return;
  next_preemption_ = now_.steady + policy_.heartbeat;
  const std::vector<Lane> order = turns();
  const Reservations reserved = reservations(order);
  std::vector<Turn> heads;
  ready_.first(order, [&](int, const Turn& turn) {
    heads.push_back(turn);
    return false;
  });
  std::sort(heads.begin(), heads.end());
  const Standing standing(*this);
  std::set<StageId> seen;  // one may stand in several lanes
  for (const Turn& turn : heads) {
    if (!seen.insert(turn.key.stage).second) continue;
    const Exchange exchange(*this, standing, turn, reserved);
    const std::vector<StageId> victims = exchange.victims();
    std::vector<std::pair<StageId, std::string>> reasons;  // as long as nobody holds less
    for (const StageId id : victims) reasons.emplace_back(id, exchange.because(stages_.at(id)));
    for (auto& [id, reason] : reasons) make_way(stages_.at(id), turn, std::move(reason), id == victims.front());
  }
}

// `first` of those that stop for it: what it will hold is counted once.
void Scheduler::State::make_way(Stage& victim, const Turn& turn, std::string reason, bool first) {
  Running& running = *victim.running;
  Worker& worker = workers_.at(running.worker);
  const bool alone = requirements_.exclusive(turn.requirement);
  const std::int64_t weight =
      weight_on(worker, {running.slots.front()}, alone) * requirements_.devices(turn.requirement);
  halt(victim, {.reason = std::move(reason),
                .stage = turn.key.stage,
                .account = turn.lane.account,
                .weight = first ? weight : 0});
  for (const int slot : running.slots) {
    const std::vector<int> device = worker.cpu(slot) ? std::vector{slot} : slots_of_device(worker, worker.device(slot));
    for (const int each : device) worker.preempted_at[each] = now_.steady;
  }
}

}  // namespace locus
