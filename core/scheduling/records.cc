// Questions about the records that several rules ask.
#include "core/scheduling/records.h"

#include <algorithm>
#include <limits>

namespace locus {
namespace {

constexpr char kSpreadKind[] = "train";  // the kind of stages that may take several devices

}  // namespace

const Scheduler::Records::Stage* Scheduler::Records::find_stage(StageId id) const {
  auto found = stages_.find(id);
  return found == stages_.end() ? nullptr : &found->second;
}

// Of an unreferenced stage: the last experiment that referenced it.
std::vector<std::string> Scheduler::Records::experiments_of(const Stage& stage) const {
  std::vector<std::string> names;
  if (const auto gone = unreferenced_.find(stage.row.id); gone != unreferenced_.end() && !gone->second->name.empty())
    names.push_back(gone->second->name);
  ExperimentId last = 0;
  for (const auto& [reference, until] : stage.references) {
    if (reference.first == last) continue;
    last = reference.first;
    auto found = experiments_.find(last);
    if (found != experiments_.end()) names.push_back(found->second.row.name);
  }
  return names;
}

// One for each account, class and placement that it is wanted under, with its first key of those there.
std::vector<Scheduler::Records::Ready> Scheduler::Records::ready_places(const Stage& stage) const {
  const bool follows = std::any_of(stage.row.inputs.begin(), stage.row.inputs.end(),
                                   [](const StageInput& input) { return input.from_stage != 0; });
  const std::int64_t done = steps_done(stage);
  std::vector<Ready> places;
  for (const auto& [reference, until] : stage.references) {
    const auto [experiment, trial] = reference;
    auto found = experiments_.find(experiment);
    if (found == experiments_.end() || found->second.row.state != ExperimentState::kActive) continue;
    // At its stop point it has to say yet that it is there, unless it has said so.
    if (!wants_more(until, done) && (until != done || until <= stage.parked_at)) continue;
    const ReadyKey key{.negative_priority = -found->second.row.priority,
                       .experiment = experiment,
                       .exclusive = requirements_.exclusive(stage.requirement) ? 1 : 0,
                       .negative_stop = until == kToTheEnd ? std::numeric_limits<std::int64_t>::min() : -until,
                       .begins_trial = follows ? 0 : 1,
                       .trial = trial,
                       .stage = stage.row.id};
    const Lane lane{found->second.row.service_class, accounts_.shared() ? found->second.account : 0};
    const bool spreads = stage.row.kind == kSpreadKind;
    const PlacementPtr& rules = spreads ? found->second.rules : found->second.rules_of_one;
    const int requirement = requirements_.placed(stage.requirement, rules);
    const auto place = std::find_if(places.begin(), places.end(), [&](const Ready& ready) {
      return ready.lane == lane && ready.requirement == requirement;
    });
    if (place == places.end()) {
      places.push_back({lane, requirement, key});
    } else if (key < place->key) {
      place->key = key;
    }
  }
  return places;
}

// Whether its labels are those that are asked for.
bool Scheduler::Records::meets(const Worker& worker, int requirement) const {
  const PlacementRules* rules = requirements_.rules(requirement);
  return rules == nullptr || first_unmet(*rules, worker.labels).empty();
}

// Of the placements under which it is wanted, that which takes fewest.
int Scheduler::Records::fewest_devices(const Stage& stage) const {
  std::optional<int> fewest;
  for (const Ready& place : stage.ready) {
    const int devices = requirements_.devices(place.requirement);
    fewest = std::min(fewest.value_or(devices), devices);
  }
  return fewest.value_or(1);
}

// Whether it has as many devices as are asked for together, and knows how to use them so.
bool Scheduler::Records::large_enough(const Worker& worker, int requirement) const {
  const int devices = requirements_.devices(requirement);
  return devices <= devices_together(worker);
}

void Scheduler::Records::take_rules(Experiment& experiment, const std::string& stored) const {
  experiment.rules = experiment.rules_of_one = stored_placement(stored);
  if (!experiment.rules || (experiment.rules->devices == 1 && experiment.rules->memory_gib == 0)) return;
  PlacementRules of_one = *experiment.rules;
  of_one.devices = 1;
  of_one.memory_gib = 0;
  const bool asks = of_one != PlacementRules{};
  experiment.rules_of_one = asks ? std::make_shared<const PlacementRules>(std::move(of_one)) : nullptr;
}

bool Scheduler::Records::could_run(const Worker& worker, int requirement) const {
  return worker.row.state == WorkerState::kActive && suits(worker, requirement);
}

// Looked at once for each offer: every grant asks it of every worker that waits.
bool Scheduler::Records::suits(const Worker& worker, int requirement) const {
  const auto at = static_cast<std::size_t>(requirement);
  if (worker.suits.size() <= at) worker.suits.resize(at + 1, -1);
  signed char& known = worker.suits[at];
  if (known < 0) {
    known = meets(worker, requirement) && large_enough(worker, requirement) &&
            !first_missing(requirements_[requirement], worker.revisions);
  }
  return known == 1;
}

// One that is to be avoided takes it only while nobody else could.
bool Scheduler::Records::accepts(const Worker& worker, int requirement) const {
  if (!could_run(worker, requirement)) return false;
  return !requirements_.avoided(requirement).contains(worker.row.id) || !untried(requirement);
}

// Under any of the placements that it is wanted under.
bool Scheduler::Records::takes(const Worker& worker, const Stage& stage) const {
  if (stage.ready.empty()) return accepts(worker, stage.requirement);
  return std::any_of(stage.ready.begin(), stage.ready.end(),
                     [&](const Ready& place) { return accepts(worker, place.requirement); });
}

// Whether a connected worker could run it that is not to be avoided.
bool Scheduler::Records::untried(int requirement) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.connected && !requirements_.avoided(requirement).contains(entry.first) &&
           could_run(entry.second, requirement);
  });
}

// The longest among the experiments that reference it: the limit of one must not end what another still needs.
std::int64_t Scheduler::Records::limit_of(const Stage& stage) const {
  std::int64_t most = 0;
  for (const auto& [reference, until] : stage.references) {
    const std::int64_t seconds = experiments_.at(reference.first).row.stage_seconds;
    if (seconds == 0) return 0;
    most = std::max(most, seconds);
  }
  return most;
}

// "4 s", "3 min", "2 h": rounded up, for sentences.
std::string Scheduler::Records::duration_text(Microseconds us) {
  const std::int64_t seconds = std::max<std::int64_t>(0, (us + 999'999) / 1'000'000);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string((seconds + 59) / 60) + " min";
  return std::to_string((seconds + 3599) / 3600) + " h";
}

}  // namespace locus
