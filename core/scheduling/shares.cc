// Shares of accounts: whose turn it is, what each holds, and what of it is stored.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/scheduling/state.h"

namespace locus {

// The lanes with work in the order in which they are granted it now: by class, then by account.
std::vector<Lane> Scheduler::Records::turns() const {
  std::vector<Lane> order = ready_.lanes();
  std::sort(order.begin(), order.end(), [this](const Lane& a, const Lane& b) {
    if (a.service_class != b.service_class) return a.service_class < b.service_class;
    return a.account != b.account && accounts_.before(a.account, b.account, now_.wall);
  });
  return order;
}

// The first place that it has in that order.
std::optional<Turn> Scheduler::Records::turn_of(const Stage& stage, const std::vector<Lane>& order) const {
  std::optional<Turn> best;
  for (const Ready& place : stage.ready) {
    const auto lane = std::find(order.begin(), order.end(), place.lane);
    const Turn turn{static_cast<std::size_t>(lane - order.begin()), place.lane, place.key, place.requirement};
    if (!best || turn < *best) best = turn;
  }
  return best;
}

std::int64_t Scheduler::Records::weight_of_device(const Worker& worker, int device) {
  std::int64_t sum = 0;
  for (std::size_t slot = 0; slot < worker.weight_of.size(); ++slot) {
    if (worker.device_of[slot] == device) sum += worker.weight_of[slot];
  }
  return sum > 0 ? sum : AccountBook::kDevice;
}

// What a stage takes that gets these slots: their weight, or where it runs alone that of every slot of the device.
std::int64_t Scheduler::Records::weight_on(const Worker& worker, const std::vector<int>& slots, bool alone) {
  if (slots.empty()) return AccountBook::kDevice;
  if (alone) return weight_of_device(worker, worker.device(slots.front()));
  std::int64_t sum = 0;
  for (const int slot : slots) {
    const auto index = static_cast<std::size_t>(slot);
    sum += index < worker.weight_of.size() ? worker.weight_of[index] : AccountBook::kDevice;
  }
  return sum;
}

// The accounts of the active experiments that want it; of all that reference it where none is active.
std::set<int> Scheduler::Records::owners_of(const Stage& stage) const {
  std::set<int> active, all;
  for (const auto& [reference, until] : stage.references) {
    const auto found = experiments_.find(reference.first);
    if (found == experiments_.end()) continue;
    all.insert(found->second.account);
    if (found->second.row.state == ExperimentState::kActive) active.insert(found->second.account);
  }
  return active.empty() ? all : active;
}

bool Scheduler::Records::may_hold(const Lane& lane, std::int64_t weight) const {
  return !accounts_.shared() || accounts_.within(lane.account, weight, lane.service_class, now_.wall);
}

// Charges what the stage takes to the account whose turn it was and the others that want it, in equal parts; of these only
// those whose bounds allow all of it.
void Scheduler::State::take_share(Stage& stage, const Lane& lane, std::int64_t weight) {
  Running& running = *stage.running;
  const std::set<int> owners = owners_of(stage);
  for (const int account : owners) {
    const Lane theirs{lane.service_class, account};
    if (!accounts_.shared() || account == lane.account || may_hold(theirs, weight)) running.accounts.push_back(account);
  }
  if (running.accounts.empty()) return;
  running.part = weight / static_cast<std::int64_t>(running.accounts.size());
  for (const int account : running.accounts) accounts_.hold(account, running.part, running.service_class, now_.wall);
}

void Scheduler::State::give_share(Stage& stage) {
  for (const int account : stage.running->accounts)
    accounts_.hold(account, -stage.running->part, stage.running->service_class, now_.wall);
}

// What an attempt that runs already holds. One of an earlier schema is charged to whoever wants its stage now.
void Scheduler::State::find_share(Stage& stage, const AttemptRow& row) {
  Running& running = *stage.running;
  for (const std::string& name : row.accounts) running.accounts.push_back(accounts_.number_of(name));
  if (running.accounts.empty()) {
    const std::set<int> owners = owners_of(stage);
    running.accounts.assign(owners.begin(), owners.end());
  }
  if (running.accounts.empty()) return;
  const std::vector<int> slots = row.slots.empty() ? std::vector{0} : row.slots;
  const std::int64_t weight = weight_on(workers_.at(running.worker), slots, requirements_.exclusive(stage.requirement));
  running.part = weight / static_cast<std::int64_t>(running.accounts.size());
  for (const int account : running.accounts) accounts_.find_holding(account, running.part, running.service_class);
}

std::vector<std::string> Scheduler::State::names_of(const std::vector<int>& accounts) const {
  std::vector<std::string> names;
  for (const int account : accounts) names.push_back(accounts_[account].row.name);
  return names;
}

void Scheduler::State::charge() {
  accounts_.charge_after(policy_.charged_every, now_.wall);
  for (UsageRow& row : accounts_.take_charged()) mutate(ChargeAccount{std::move(row)});
}

void Scheduler::State::take_slots(Worker& worker, const std::vector<SlotOffer>& slots) const {
  worker.device_of.clear();
  worker.weight_of.clear();
  worker.device_kind = slots.empty() ? "" : slots.front().device;
  for (const SlotOffer& slot : slots) {
    const bool cpu = slot.device == "cpu";
    worker.device_of.push_back(cpu ? 0 : 1 + slot.index);
    worker.weight_of.push_back(AccountBook::kDevice * (cpu ? 1 : policy_.other_device_weight));
  }
}

// Those that it announced before this scheduler began.
void Scheduler::State::find_slots(Worker& worker) const {
  const Json known = Json::parse(worker.row.slots_json, nullptr, /*allow_exceptions=*/false);
  std::vector<SlotOffer> slots;
  if (known.is_array()) {
    for (const Json& slot : known)
      slots.push_back({slot.value("device", std::string("cpu")), slot.value("index", 0), 1});
  }
  take_slots(worker, slots);
}

void Scheduler::State::handle(const AccountChanged& event) {
  const bool shared = accounts_.shared();
  if (!event.remove) {
    if (absl::Status status = check_account(event.row); !status.ok()) return reply(ReplyError{event.reply, status});
    accounts_.put(event.row, now_.wall);
    mutate(PutAccount{event.row});
  } else if (accounts_.remove(event.row.name)) {
    mutate(RemoveAccount{event.row.name});
  } else {
    return reply(ReplyError{event.reply,
                            make_error(absl::StatusCode::kNotFound, ErrorReason::kAccountNotFound,
                                       "account " + event.row.name +
                                           " has no share of its own to take away: it has a weight of 1 and no bounds",
                                       "name", {{"name", event.row.name}})});
  }
  const Json json{{"experiments", Json::array()}, {"removed", event.remove}};
  mutate(AppendEvent{"accounts/" + event.row.name, "account-changed", json.dump()});
  if (shared != accounts_.shared()) {  // every lane is another one
    for (auto& [id, stage] : stages_) refresh_ready(stage);
  }
  reply(ReplyDone{event.reply});
}

}  // namespace locus
