// What may start on slots that are kept for another that comes before it: only what is over, at the latest, when that one can
// begin, at the latest.
//
// The latest end of a stage is its limit of time, or once and a half what its like took, where that is known. Of others
// nothing is known, and they wait; where something runs whose end nobody knows, nobody knows when the slots are free. One
// that stands there still when its time is over is saved and stopped.
#include <algorithm>

#include "core/scheduling/state.h"
#include "core/scheduling/view.h"

namespace locus {
namespace {

constexpr int kLookedAt = 64;  // stages behind those that wait; so the cost of a step stays bounded
constexpr Microseconds kPerSecond = 1'000'000;

}  // namespace

std::optional<Microseconds> Scheduler::Records::longest(const Stage& stage) const {
  if (const std::int64_t limit = limit_of(stage); limit > 0) return limit * kPerSecond;
  if (stage.estimate > 0) return stage.estimate + stage.estimate / 2;
  return std::nullopt;
}

// Of a running one (Running::ends_by).
Microseconds Scheduler::Records::latest_end(const Stage& stage) const {
  const std::optional<Microseconds> most = longest(stage);
  return most ? stage.running->started + *most : 0;
}

bool Scheduler::Records::backfills(const Stage& stage, const Kept& kept) const {
  if (!kept.begins) return false;
  const std::optional<Microseconds> most = longest(stage);
  return most && now_.steady + *most <= *kept.begins;
}

// The first that `accept` takes, behind the heads of the queues, too, where others are only too long.
std::optional<Turn> Scheduler::Records::first_backfilled(const std::vector<Lane>& order, const Reservations& reserved,
                                                         const std::function<bool(const Turn&)>& accept) const {
  std::optional<Microseconds> latest;
  for (const auto& [slot, kept] : reserved) {
    if (kept.begins) latest = std::max(latest.value_or(0), *kept.begins);
  }
  if (!latest || *latest <= now_.steady) return std::nullopt;
  std::optional<Turn> found;
  int looked = 0;
  const auto all = [](int) { return true; };
  ready_.visit(order, all, [&](int, const Turn& turn) {
    if (found || ++looked > kLookedAt) return false;
    const std::optional<Microseconds> most = longest(stages_.at(turn.key.stage));
    if (most && now_.steady + *most <= *latest && accept(turn)) found = turn;
    return !found;
  });
  return found;
}

// Why one does not start meanwhile on slots that are kept for another, with the numbers.
std::string Scheduler::View::explain_gap(const Stage& stage, const Records::Kept& kept, const Reservations& reserved,
                                         Now now) const {
  const char* unlimited = " has no limits.stage_seconds and nothing like it has run";
  if (!kept.begins) {
    for (const auto& [slot, other] : reserved) {
      if (other.turn.key.stage != kept.turn.key.stage) continue;
      const Stage* there = records_.occupant(records_.workers_.at(slot.first), slot.second);
      if (there == nullptr || there->running->ends_by != 0) continue;
      return "; nothing is started there meanwhile, since nobody knows when that can begin: stage " +
             std::to_string(there->row.id) + " runs there, which" + unlimited;
    }
    return "";
  }
  const std::string gap = Records::duration_text(*kept.begins - now.steady);
  const std::optional<Microseconds> most = records_.longest(stage);
  if (!most)
    return "; what is over within " + gap + ", when that can begin, is started there meanwhile, but this" + unlimited;
  std::string length = Records::duration_text(*most);
  if (length == gap) length = "a little longer";
  return "; that can begin within " + gap + ", and this may take " + length +
         (records_.limit_of(stage) > 0 ? " by its limits.stage_seconds" : ", once and a half what its like took");
}

void Scheduler::State::halt_overdue() {
  if (backfilled_.empty()) return;
  std::optional<Reservations> reserved;
  for (auto next = backfilled_.begin(); next != backfilled_.end();) {
    const StageId id = *next;
    Stage* stage = find_stage(id);
    if (stage == nullptr || !stage->running || !stage->running->backfilled) {
      next = backfilled_.erase(next);
      continue;
    }
    ++next;
    const Running& running = *stage->running;
    if (running.halt || now_.steady < running.ends_by) continue;
    if (!reserved) reserved = reservations(turns());
    for (const int slot : running.slots) {
      const auto kept = reserved->find({running.worker, slot});
      if (kept == reserved->end()) continue;
      const Turn& first = kept->second.turn;
      const std::string whose = "stage " + std::to_string(first.key.stage);
      halt(*stage, {.reason = "it was to be over before " + whose + " can begin, for which the slot is kept",
                    .stage = first.key.stage,
                    .account = first.lane.account});
      break;
    }
  }
}

}  // namespace locus
