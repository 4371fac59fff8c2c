// Books of where stages may start: see place_watch.h.
#include "tests/simulation/place_watch.h"

#include <algorithm>

#include "core/experiment/labels.h"
#include "tests/simulation/world.h"

namespace locus::simulation {
namespace {

using Rows = std::vector<const ExperimentRow*>;

// Of the active experiments that want a step of it.
Rows wanting(StageId stage, const Snapshot& stored) {
  Rows out;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != stage || reference.until_step == kNoFurther) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    if (row->state == ExperimentState::kActive) out.push_back(&*row);
  }
  return out;
}

int devices_asked(const ExperimentRow& row, const std::string& kind) {
  const PlacementPtr rules = stored_placement(row.placement);
  return rules && kind == "train" ? rules->devices : 1;
}

// Whether one that these want comes before one that those want, whoever's turn it is.
bool certainly_before(const Rows& first, const Rows& second, bool shared) {
  const auto before = [&](const ExperimentRow* a, const ExperimentRow* b) {
    if (a->service_class != b->service_class) return a->service_class < b->service_class;
    if (shared) return false;
    return std::pair(-a->priority, a->id) < std::pair(-b->priority, b->id);
  };
  return !first.empty() && !second.empty() && std::ranges::all_of(first, [&](const auto* a) {
    return std::ranges::all_of(second, [&](const auto* b) { return before(a, b); });
  });
}

}  // namespace

Microseconds PlaceWatch::estimate(StageId stage) const {
  const auto found = estimates_.find(stage);
  return found == estimates_.end() ? 0 : found->second;
}

std::int64_t PlaceWatch::seen(const std::string& what) const {
  const auto found = seen_.find(what);
  return found == seen_.end() ? 0 : found->second;
}

// By the longest limit of those that reference it, or once and a half what it is estimated to take.
std::optional<Microseconds> PlaceWatch::longest(StageId stage, const Snapshot& stored) const {
  Microseconds limit = 0;
  bool limited = true;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != stage) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    limited = limited && row->stage_seconds > 0;
    limit = std::max(limit, row->stage_seconds * kSecond);
  }
  if (limited && limit > 0) return limit;
  const Microseconds said = estimate(stage);
  return said > 0 ? std::optional(said + said / 2) : std::nullopt;
}

void PlaceWatch::check_grant(const GrantAttempt& grant, const std::vector<Queued>& queued,
                             const ExchangeWatch& exchanges, Store& store, Now clock) {
  const Microseconds now = clock.steady;
  const Snapshot stored = store.load().value();
  const auto worker = std::ranges::find(stored.workers, grant.worker_id, &WorkerRow::id);
  check_ahead(grant, queued, exchanges, stored, now);
  check_life(grant, *worker, now);
  check_drain(grant, *worker, clock.wall);
  check_alike(grant, *worker, stored);
  const std::optional<Microseconds> most = longest(grant.stage_id, stored);
  running_[grant.stage_id] = {grant.worker_id, most ? std::optional(now + *most) : std::nullopt, false};
}

// A training that nothing keeps from the worker but what runs there, and that fits on no other.
bool PlaceWatch::waits_for_all_of(const Queued& waiting, const WorkerRow& worker, const Snapshot& stored) const {
  const int devices = devices_together(worker);
  const bool only = std::ranges::all_of(stored.workers, [&](const WorkerRow& other) {
    return other.id == worker.id || devices_together(other) < devices;
  });
  if (!waiting.fresh || !only || devices < 2 || places_of(worker).size() != static_cast<std::size_t>(devices))
    return false;
  const Rows rows = wanting(waiting.stage, stored);
  return !rows.empty() && std::ranges::all_of(rows, [&](const ExperimentRow* row) {
    const auto account = std::ranges::find(stored.accounts, row->owner, &AccountRow::name);
    const bool bound =
        account != stored.accounts.end() && (account->devices != kUnbounded || account->urgent_devices != kUnbounded ||
                                             account->device_hours != kUnbounded);
    const PlacementPtr rules = stored_placement(row->placement);
    return devices_asked(*row, waiting.kind) == devices && rules->alike.empty() && !bound;
  });
}

void PlaceWatch::check_ahead(const GrantAttempt& grant, const std::vector<Queued>& queued,
                             const ExchangeWatch& exchanges, const Snapshot& stored, Microseconds now) {
  const auto worker = std::ranges::find(stored.workers, grant.worker_id, &WorkerRow::id);
  if (worker->name != "w0") return;  // only the first can run everything
  const Rows ours = wanting(grant.stage_id, stored);
  StageId first = 0;
  for (const Queued& other : queued) {
    if (other.stage == grant.stage_id) continue;
    const Rows theirs = wanting(other.stage, stored);
    if (waits_for_all_of(other, *worker, stored) && certainly_before(theirs, ours, !stored.accounts.empty())) {
      first = other.stage;
      continue;
    }
    // One that needs less of it could have that kept instead, and leave the rest to others.
    const bool needs_some = std::ranges::any_of(theirs, [&](const ExperimentRow* row) {
      const int devices = devices_asked(*row, other.kind);
      return devices > 1 && devices != devices_together(*worker);
    });
    if (needs_some || (other.kind == "measure" && !places_of(*worker).front().cpu)) return;
  }
  if (first == 0) return;
  const std::string text = "stage " + std::to_string(grant.stage_id) + " was granted on " + worker->name +
                           ", all of which is kept for stage " + std::to_string(first) + ", ";
  Microseconds begins = now;
  for (const auto& [stage, running] : running_) {
    if (running.worker != grant.worker_id || (!running.ends && exchanges.asked_to_stop(stage))) continue;
    if (running.told && !running.ends) return;  // it may be known by now
    if (!running.ends) throw Violation(35, text + "and nobody knows when stage " + std::to_string(stage) + " ends");
    begins = std::max(begins, *running.ends);
  }
  const std::optional<Microseconds> most = longest(grant.stage_id, stored);
  if (!most || now + *most > begins) {
    throw Violation(35, text + "which can begin within " + std::to_string((begins - now) / kSecond) + " s, " +
                            (most ? "for up to " + std::to_string(*most / kSecond) + " s" : "for who knows how long"));
  }
  ++seen_["grants that fit before another begins"];
}

void PlaceWatch::check_life(const GrantAttempt& grant, const WorkerRow& worker, Microseconds now) {
  const auto life = lives_.find(worker.name);
  if (life == lives_.end()) return;
  const Microseconds takes = estimate(grant.stage_id), left = life->second.ends - now;
  const Microseconds needed = takes <= life->second.length ? takes : life->second.length / 2;
  if (left <= 0 || needed > left) {
    throw Violation(36, "stage " + std::to_string(grant.stage_id) + ", which takes " + std::to_string(takes / kSecond) +
                            " s, was granted to " + worker.name + ", which ends in " + std::to_string(left / kSecond) +
                            " s");
  }
  ++seen_["grants to a worker that ends"];
}

void PlaceWatch::check_drain(const GrantAttempt& grant, const WorkerRow& worker, Microseconds wall) {
  if (!worker.drains_later()) return;
  const Microseconds takes = estimate(grant.stage_id), left = worker.drain_from_us - wall;
  if (left <= 0 || takes > left) {
    throw Violation(36, "stage " + std::to_string(grant.stage_id) + ", which takes " + std::to_string(takes / kSecond) +
                            " s, was granted to " + worker.name + ", which is drained in " +
                            std::to_string(left / kSecond) + " s");
  }
  ++seen_["grants to a worker that is drained later"];
}

void PlaceWatch::check_alike(const GrantAttempt& grant, const WorkerRow& worker, const Snapshot& stored) {
  const Labels labels = stored_labels(worker.labels_json).effective();
  const Rows rows = wanting(grant.stage_id, stored);
  const bool all = std::ranges::all_of(rows, [](const ExperimentRow* row) {
    const PlacementPtr rules = stored_placement(row->placement);
    return rules && !rules->alike.empty();
  });
  if (rows.empty() || !all) return;
  const bool any = std::ranges::any_of(rows, [&](const ExperimentRow* row) {
    const PlacementPtr rules = stored_placement(row->placement);
    return std::ranges::all_of(rules->alike, [&](const auto& entry) {
      const auto label = labels.find(entry.first);
      return label != labels.end() && label->second == entry.second;
    });
  });
  if (!any)
    throw Violation(37, "stage " + std::to_string(grant.stage_id) + " was granted to " + worker.name +
                            ", which is not like those that its experiment began on");
  ++seen_["grants on workers alike"];
}

// What a submission lets go of may be settled anew.
void PlaceWatch::enter(const SaveExperiment& saved) {
  const PlacementPtr rules = stored_placement(saved.row.placement);
  std::erase_if(settled_, [&](const auto& entry) {
    if (entry.first.first != saved.row.id) return false;
    const auto kept = rules ? rules->alike.find(entry.first.second) : Labels::const_iterator();
    return !rules || kept == rules->alike.end() || kept->second != entry.second;
  });
}

void PlaceWatch::enter(const SetExperimentPlacement& settled) {
  const PlacementPtr rules = stored_placement(settled.placement);
  for (const auto& [key, value] : rules ? rules->alike : Labels{}) {
    const auto [known, fresh] = settled_.try_emplace({settled.id, key}, value);
    if (fresh || known->second == value) continue;
    throw Violation(37, "experiment " + std::to_string(settled.id) + " began on workers of " + key + "=" +
                            known->second + " and goes on on those of " + value);
  }
}

void PlaceWatch::registered(const WorkerRegistered& event, Microseconds now) {
  lives_.erase(event.name);
  if (event.time_left) lives_[event.name] = {now + *event.time_left, event.lifetime};
}

void PlaceWatch::estimated(const std::map<StageId, Microseconds>& busy) {
  for (const auto& [stage, time] : busy) {
    estimates_[stage] = time;
    if (const auto running = running_.find(stage); running != running_.end()) running->second.told = true;
  }
}

// A server that starts again knows what is stored, and that what runs began before now.
void PlaceWatch::restarted(Store& store, Microseconds now) {
  lives_.clear();
  estimates_.clear();
  const Snapshot stored = store.load().value();
  for (auto& [stage, running] : running_) {
    const std::optional<Microseconds> most = longest(stage, stored);
    running.ends = most ? std::optional(now + *most) : std::nullopt;
    running.told = false;
  }
}

}  // namespace locus::simulation
