// What people may see of accounts: what each holds and has used, and why a stage of theirs waits for others.
#include <algorithm>

#include "core/scheduling/view.h"

namespace locus {
namespace {

constexpr int kCountedAhead = 1000;

}  // namespace

std::vector<AccountView> Scheduler::View::accounts(Now now) const {
  const AccountBook& book = records_.accounts_;
  std::vector<AccountView> out;
  std::vector<int> numbers;
  std::vector<std::size_t> queued(static_cast<std::size_t>(book.size()));
  for (const auto& [id, stage] : records_.stages_) {
    if (stage.ready.empty()) continue;
    const std::set<int> owners = records_.owners_of(stage);
    for (const int owner : owners) ++queued[static_cast<std::size_t>(owner)];
  }
  for (int number = 0; number < book.size(); ++number) {
    const AccountBook::Account& account = book[number];
    if (account.configured || account.holding > 0 || queued[static_cast<std::size_t>(number)] > 0)
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) { return a != b && book.before(a, b, now.wall); });
  for (const int number : numbers) {
    const AccountBook::Account& account = book[number];
    const bool counted = book.shared();
    out.push_back({.row = account.row,
                   .configured = account.configured,
                   .holding = account.holding,
                   .urgent = account.urgent,
                   .used = counted ? book.used(number, now.wall) : 0,
                   .used_lately = counted ? book.used_lately(number, now.wall) : 0,
                   .queued = queued[static_cast<std::size_t>(number)]});
  }
  return out;
}

bool Scheduler::View::meets_one(const Worker& worker, const Stage& stage) const {
  return stage.ready.empty() || std::any_of(stage.ready.begin(), stage.ready.end(), [&](const Records::Ready& place) {
           return records_.meets(worker, place.requirement);
         });
}

// Of a stage that `able` connected workers have everything for but the labels: how many of them fail each clause.
std::string Scheduler::View::explain_placement(const Stage& stage, int able) const {
  std::string text = "waits for a worker of another kind: ";
  for (const Records::Ready& place : stage.ready) {
    const PlacementRules* rules = records_.requirements_.rules(place.requirement);
    if (rules == nullptr) continue;
    if (&place != &stage.ready.front()) text += "; or ";
    const char* between = "";
    for (const auto& [key, pattern] : clauses_of(*rules)) {
      const PlacementRules clause{.require = {{key, pattern}}, .prefer = {}};
      int failing = 0;
      for (const auto& [id, worker] : records_.workers_) {
        if (!worker.connected || worker.row.state != WorkerState::kActive) continue;
        if (first_missing(records_.requirements_[stage.requirement], worker.revisions)) continue;
        failing += first_unmet(clause, worker.labels).empty() ? 0 : 1;
      }
      if (failing == 0) continue;
      text += between + std::to_string(failing) + " of " + std::to_string(able) +
              (able == 1 ? " worker that could run it has" : " workers that could run it have") + " no " + key + "=" +
              pattern;
      const auto alike = rules->alike.find(key);
      if (alike != rules->alike.end() && !alike->second.empty()) text += ", on which it began (placement.alike)";
      between = ", ";
    }
  }
  return text + explain_kind(stage);
}

// The first of the workers whose labels are as asked, and why it does not run the stage.
std::string Scheduler::View::explain_kind(const Stage& stage) const {
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !meets_one(worker, stage)) continue;
    const auto missing = first_missing(records_.requirements_[stage.requirement], worker.revisions);
    const bool drains = worker.row.state == WorkerState::kDraining;
    if (!drains && !missing) continue;
    return "; " + worker.row.name + ", of that kind, " + (drains ? "drains" : "lacks " + *missing);
  }
  return "";
}

// Of a stage that a connected worker could run: which bound keeps every account from taking it, on every such worker.
// Empty when none does.
std::string Scheduler::View::explain_bounds(const Stage& stage) const {
  if (!records_.accounts_.shared() || stage.ready.empty()) return "";
  std::optional<std::int64_t> least;
  const std::int64_t fewest = records_.fewest_devices(stage);
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    const bool alone = records_.requirements_.exclusive(stage.requirement);
    for (std::size_t slot = 0; slot < std::max<std::size_t>(worker.slots, 1); ++slot) {
      const std::int64_t weight = Records::weight_on(worker, {static_cast<int>(slot)}, alone) * fewest;
      least = std::min(least.value_or(weight), weight);
    }
  }
  if (!least) return "";
  std::string text;
  for (const Records::Ready& place : stage.ready) {
    const std::string bound =
        records_.accounts_.bound_of(place.lane.account, *least, place.lane.service_class, records_.now_.wall);
    if (bound.empty()) return "";
    text += (text.empty() ? "waits for its account: " : "; ") + bound;
  }
  return text;
}

// How many stages come before it: of its own account, and whose turn it is before that.
std::string Scheduler::View::explain_place(const Stage& stage) const {
  const std::vector<Lane> order = records_.turns();
  const std::optional<Turn> turn = records_.turn_of(stage, order);
  if (!turn) return "it is next";
  const AccountBook& book = records_.accounts_;
  const std::string whose = book.shared() ? " of account " + book[turn->lane.account].row.name : "";
  const int ahead = records_.ready_.ahead_of(turn->lane, turn->key, kCountedAhead);
  std::string place = "it is next" + whose;
  if (ahead > 0) {
    place = std::to_string(ahead) + (ahead == kCountedAhead ? " or more" : "") + (ahead == 1 ? " stage" : " stages") +
            whose + (ahead == 1 ? " is" : " are") + " before it";
  }
  if (turn->rank == 0) return place;
  const Lane& first = order.front();
  if (first.service_class != turn->lane.service_class)
    return place + ", after the " + to_string(first.service_class) + " ones";
  const auto share = [&](int account) {
    return book[account].row.name + " holds " + devices_text(book[account].holding) + " with a weight of " +
           std::to_string(book[account].row.weight);
  };
  return place + "; account " + share(first.account) + " and comes first, " + share(turn->lane.account);
}

}  // namespace locus
