// What waits and what runs, as those ask who start machines and who know how long such things took.
#include <algorithm>
#include <unordered_map>

#include "core/scheduling/view.h"

namespace locus {

StageSpan Scheduler::View::span_of(const Stage& stage, const std::function<bool(StageId)>& describe) const {
  StageSpan out{.id = stage.row.id, .until_step = Records::stop_point(stage.references), .kind = {}, .config_json = {}};
  if (stage.running) {
    out.resume_step = stage.running->resume_step;
  } else if (stage.resume) {
    out.resume_step = stage.resume->step;
  }
  if (!describe(stage.row.id)) return out;
  out.kind = stage.row.kind;
  out.config_json = stage.row.config_json;
  return out;
}

std::vector<StageSpan> Scheduler::View::spans(const std::function<bool(StageId)>& describe) const {
  std::vector<StageSpan> out;
  for (const auto& [id, stage] : records_.stages_) {
    if (stage.running || !stage.ready.empty()) out.push_back(span_of(stage, describe));
  }
  return out;
}

bool Scheduler::View::goes_by_estimates() const {
  bool connected = false;
  for (const auto& [id, worker] : records_.workers_) {
    if (worker.connected && Records::ends(worker)) return true;
    connected = connected || worker.connected;
  }
  return connected &&
         records_.ready_.any([this](int requirement) { return records_.needs_several_slots(requirement); });
}

// Where nobody could run it now, it is weighed by the known workers of its kind.
Scheduler::View::Offer Scheduler::View::offer_for(int requirement) const {
  const bool alone = records_.requirements_.exclusive(requirement);
  const int devices = records_.requirements_.devices(requirement);
  Offer out;
  std::optional<std::int64_t> here, known;
  for (const auto& [id, worker] : records_.workers_) {
    const bool able = worker.connected && records_.could_run(worker, requirement);
    out.workers += able ? 1 : 0;
    if (!records_.accounts_.shared() || (!able && !records_.meets(worker, requirement))) continue;
    std::optional<std::int64_t>& least = able ? here : known;
    for (std::size_t slot = 0; slot < worker.weight_of.size(); ++slot) {
      const std::int64_t weight = Records::weight_on(worker, {static_cast<int>(slot)}, alone) * devices;
      least = std::min(least.value_or(weight), weight);
    }
  }
  out.weight = here ? *here : known.value_or(AccountBook::kDevice * devices);
  return out;
}

std::vector<QueuedStage> Scheduler::View::queued(Now now, const std::function<bool(StageId)>& describe) const {
  std::map<int, Offer> offers;          // by requirement
  std::map<int, std::int64_t> planned;  // what accounts would hold besides by the stages so far
  std::unordered_map<StageId, std::size_t> places;
  std::vector<QueuedStage> out;
  const auto all = [](int) { return true; };
  records_.ready_.visit(records_.turns(), all, [&](int requirement, const Turn& turn) {
    const auto [place, first] = places.try_emplace(turn.key.stage, out.size());
    if (!first && !out[place->second].bounded) return true;
    const auto [offer, fresh] = offers.try_emplace(requirement);
    if (fresh) offer->second = offer_for(requirement);
    std::int64_t& more = planned[turn.lane.account];
    const bool may = records_.may_hold(turn.lane, more + offer->second.weight);
    if (!first && !may) return true;
    if (may) more += offer->second.weight;
    const Stage& stage = records_.stages_.at(turn.key.stage);
    if (first) out.push_back({.span = span_of(stage, describe), .asks = stage.row.requirements});
    QueuedStage& one = out[place->second];
    one.waited = std::max<Microseconds>(0, now.steady - stage.ready_since);
    one.workers = offer->second.workers;
    one.devices = records_.requirements_.devices(requirement);
    const PlacementRules* rules = records_.requirements_.rules(requirement);
    const std::int64_t given = rules == nullptr ? 0 : memory_given(*rules);
    one.memory_bytes = given > 0 || !one.asks ? given : one.asks->memory_bytes;
    one.require = rules == nullptr ? Labels() : clauses_of(*rules);
    one.bounded = !may;
    return true;
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.span.id < b.span.id; });
  return out;
}

}  // namespace locus
