// Books of what accounts hold: see share_watch.h.
#include "tests/simulation/share_watch.h"

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/experiment/labels.h"
#include "tests/simulation/world.h"

namespace locus::simulation {
namespace {

constexpr std::int64_t kDevice = 1000;

}  // namespace

std::vector<SlotPlace> places_of(const WorkerRow& worker) {
  std::vector<SlotPlace> out;
  const Json slots = Json::parse(worker.slots_json);
  for (const Json& slot : slots) {
    const bool cpu = slot.at("device") == "cpu";
    out.push_back({cpu, cpu ? 0 : slot.at("index").get<int>()});
  }
  return out;
}

int devices_together(const WorkerRow& worker) {
  int cpus = 0;
  std::set<int> others;
  for (const SlotPlace& place : places_of(worker)) {
    if (place.cpu) ++cpus;
    if (!place.cpu) others.insert(place.device);
  }
  return std::max({1, cpus, static_cast<int>(others.size())});
}

std::int64_t heaviest_of(const Snapshot& stored) {
  std::int64_t most = 0;
  for (const WorkerRow& worker : stored.workers) {
    std::int64_t sum = 0;
    for (const SlotPlace& place : places_of(worker)) sum += place.weight();
    most = std::max(most, sum);
  }
  return most;
}

AccountRow account_of(const std::vector<AccountRow>& accounts, const std::string& name) {
  const auto found = std::ranges::find(accounts, name, &AccountRow::name);
  return found == accounts.end() ? AccountRow{.name = name} : *found;
}

std::set<std::pair<ServiceClass, std::string>> wanted_by(StageId stage, const Snapshot& stored, bool placed) {
  std::set<std::pair<ServiceClass, std::string>> out;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != stage || reference.until_step == kNoFurther) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    if (row->state == ExperimentState::kActive && (row->placement.empty() || placed))
      out.insert({row->service_class, row->owner});
  }
  return out;
}

std::int64_t ShareWatch::holding(const std::string& account) const {
  std::int64_t sum = 0;
  for (const auto& [stage, held] : held_) sum += held.part * std::ranges::count(held.accounts, account);
  return sum;
}

std::int64_t ShareWatch::urgent(const std::string& account) const {
  std::int64_t sum = 0;
  for (const auto& [stage, held] : held_) {
    if (held.service_class == ServiceClass::kUrgent) sum += held.part * std::ranges::count(held.accounts, account);
  }
  return sum;
}

void ShareWatch::enter(const EndAttempt& end) { held_.erase(end.stage_id); }

const ShareWatch::Held* ShareWatch::held(StageId stage) const {
  const auto found = held_.find(stage);
  return found == held_.end() ? nullptr : &found->second;
}

std::int64_t ShareWatch::seen(const std::string& what) const {
  const auto found = seen_.find(what);
  return found == seen_.end() ? 0 : found->second;
}

void ShareWatch::check_grant(const GrantAttempt& grant, const Waiting& granted, const std::vector<Waiting>& waiting,
                             const WorkerRow& worker, Store& store) {
  const std::vector<AccountRow> accounts = store.identity().accounts().value();
  if (!accounts.empty() && !granted.alone && !granted.estimated) check_turn(grant, waiting, accounts, store);
  const std::vector<SlotPlace> places = places_of(worker);
  std::int64_t weight = 0;
  for (int slot = 0; slot < static_cast<int>(places.size()); ++slot) {
    const SlotPlace& place = places[static_cast<std::size_t>(slot)];
    const bool beside = place == places[static_cast<std::size_t>(grant.slots.front())];
    if (granted.alone ? beside : std::ranges::count(grant.slots, slot) > 0) weight += place.weight();
  }
  Held& held = held_[grant.stage_id];
  held = {grant.accounts, 0, grant.service_class};
  if (!grant.accounts.empty()) held.part = weight / static_cast<std::int64_t>(grant.accounts.size());
  if (!accounts.empty()) check_bounds(grant, accounts);
}

void ShareWatch::check_bounds(const GrantAttempt& grant, const std::vector<AccountRow>& accounts) {
  for (const std::string& name : grant.accounts) {
    const AccountRow row = account_of(accounts, name);
    const auto over = [](std::int64_t holds, std::int64_t bound) {
      return bound != kUnbounded && holds > bound * kDevice;
    };
    if (row.devices != kUnbounded) ++seen_["grants within a bound"];
    if (row.device_hours == 0)
      throw Violation(26, "account " + name + " was granted a device and may use none for an hour");
    if (over(holding(name), row.devices))
      throw Violation(26, "account " + name + " was granted more than " + std::to_string(row.devices) + " devices");
    if (grant.service_class == ServiceClass::kUrgent && over(urgent(name), row.urgent_devices))
      throw Violation(
          26, "account " + name + " was granted more urgent devices than " + std::to_string(row.urgent_devices));
  }
}

void ShareWatch::check_turn(const GrantAttempt& grant, const std::vector<Waiting>& waiting,
                            const std::vector<AccountRow>& accounts, Store& store) {
  const Snapshot stored = store.load().value();
  const auto wanting = wanted_by(grant.stage_id, stored, true);
  const auto ratio_less = [&](const std::string& a, const std::string& b) {
    return holding(a) * account_of(accounts, b).weight < holding(b) * account_of(accounts, a).weight;
  };
  if (wanting.empty()) return;  // it was paused since
  // What has a limit of time may start on slots that are kept for others, which what comes before it may not.
  const auto limited = [&](const StageReference& reference) {
    if (reference.stage != grant.stage_id) return false;
    return std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id)->stage_seconds > 0;
  };
  if (std::ranges::any_of(stored.references, limited)) return;
  for (const Waiting& other : waiting) {
    if (other.stage == grant.stage_id || !other.fresh || other.alone) continue;
    for (const auto& [service_class, name] : wanted_by(other.stage, stored, false)) {
      const AccountRow row = account_of(accounts, name);
      if (row.devices != kUnbounded || row.urgent_devices != kUnbounded || row.device_hours != kUnbounded)
        continue;  // it may be at one of them
      const bool before =
          std::ranges::all_of(wanting, [&, &service_class = service_class, &name = name](const auto& want) {
            return service_class < want.first ||
                   (service_class == want.first && name != want.second && ratio_less(name, want.second));
          });
      ++seen_["turns compared"];
      if (before) {
        throw Violation(27, "stage " + std::to_string(grant.stage_id) + " was granted before stage " +
                                std::to_string(other.stage) + " of account " + name + ", which holds " +
                                std::to_string(holding(name)));
      }
    }
  }
}

// Read by one who knows nothing but the store and which worker is whose.
void ShareWatch::check_labels(const GrantAttempt& grant, Store& store) {
  const Snapshot stored = store.load().value();
  const auto worker = std::ranges::find(stored.workers, grant.worker_id, &WorkerRow::id);
  const Json said = worker->labels_json.empty() ? Json::object() : Json::parse(worker->labels_json);
  // Only the first worker and its twin were granted the pool.
  const bool granted = worker->name == "w0" && said.at("granted").value("pool", "") == "vision";
  bool asked = false, free = false;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != grant.stage_id) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    const PlacementPtr rules = stored_placement(row->placement);
    (rules && !rules->require.empty() ? asked : free) = true;
  }
  if (!asked || free) return;
  ++seen_["grants where a label was asked for"];
  if (!granted)
    throw Violation(29, "stage " + std::to_string(grant.stage_id) + " was granted to " + worker->name +
                            ", which has no "
                            "pool=vision");
}

void ShareWatch::check_reason(const std::string& reason, Store& store) const {
  const std::string before = "waits for its account: account ", between = " may hold ", hours = " may use ";
  if (!reason.starts_with(before)) return;
  if (const std::size_t use = reason.find(hours); use != std::string::npos && use < reason.find(between)) {
    const AccountRow row =
        account_of(store.identity().accounts().value(), reason.substr(before.size(), use - before.size()));
    if (row.device_hours == kUnbounded ||
        !reason.substr(use + hours.size()).starts_with(std::to_string(row.device_hours) + " "))
      throw Violation(28, "it is said that " + reason);
    return;
  }
  const std::size_t end = reason.find(between);
  if (end == std::string::npos) return;
  const std::string name = reason.substr(before.size(), end - before.size());
  const AccountRow row = account_of(store.identity().accounts().value(), name);
  const std::string said = reason.substr(end + between.size());
  const std::int64_t bound = said.find("(urgent_devices)") < said.find("(devices)") ? row.urgent_devices : row.devices;
  const bool names_it = said.starts_with(std::to_string(bound) + " ");
  const std::int64_t most = heaviest_of(store.load().value());
  if (bound == kUnbounded || !names_it || holding(name) + most <= bound * kDevice)
    throw Violation(28,
                    "it is said that " + reason + ", and it holds " + std::to_string(holding(name)) + " thousandths");
}

}  // namespace locus::simulation
