// Folds the log of a search.
#include "core/search/fold.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/search/course.h"

namespace locus {
namespace {

absl::Status broken(const DecisionRow& row, const std::string& why) {
  return make_error(absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                    "decision " + std::to_string(row.number) + " of a search, '" + row.kind +
                        "', does not follow those before it: " + why + "; restore the store from a backup",
                    "", {{"number", std::to_string(row.number)}, {"kind", row.kind}});
}

// Whether units, and the rung they are sent to, exist. Nothing, or what is wrong.
std::optional<std::string> strange(const PhaseCourse& phase, const std::vector<std::int64_t>& units,
                                   std::optional<std::int64_t> rung) {
  for (const std::int64_t unit : units) {
    if (unit < 0 || static_cast<std::size_t>(unit) >= phase.units.size())
      return "there is no unit " + std::to_string(unit);
    if (rung && (*rung < 0 || *rung > phase.top(unit))) return "there is no rung " + std::to_string(*rung);
  }
  return std::nullopt;
}

// Whether the candidates' units are among so many.
std::optional<std::string> strange(const std::vector<SearchChoiceGroup>& groups, std::int64_t count) {
  for (const SearchChoiceGroup& group : groups) {
    for (const SearchCandidate& candidate : group.candidates) {
      for (const std::int64_t unit : candidate.units) {
        if (unit < 0 || unit >= count) return "a candidate has no unit " + std::to_string(unit);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> strange(const SearchSetup& setup) {
  const auto groups = static_cast<std::int64_t>(setup.groups.size());
  for (const SearchUnitRow& unit : setup.units) {
    if (unit.group < 0 || unit.group >= groups) return "there is no group " + std::to_string(unit.group);
  }
  const Advance& advance = setup.search.advance;
  const bool ladder = advance.rule == AdvanceRule::kHalve || advance.rule == AdvanceRule::kAsha;
  if (ladder && advance.rungs.empty()) return "its rule has no rungs";
  if (advance.rule == AdvanceRule::kHyperband && advance.brackets.empty()) return "Hyperband has no brackets";
  for (const Bracket& bracket : advance.brackets) {
    if (bracket.rungs.empty() || bracket.units.empty()) return "a bracket is empty";
  }
  if (setup.choose) return strange(setup.choose->groups, static_cast<std::int64_t>(setup.units.size()));
  return std::nullopt;
}

std::optional<std::string> strange(const PhaseCourse& phase, const SearchDecision& decision) {
  if (const auto* begin = std::get_if<BeginDecision>(&decision)) return strange(begin->setup);
  if (const auto* one = std::get_if<ObserveDecision>(&decision)) {
    if (!phase.unit_of_trial().contains(one->trial)) return "no unit has the trial " + std::to_string(one->trial);
    return std::nullopt;
  }
  if (const auto* one = std::get_if<ProposeDecision>(&decision)) {
    for (const SearchUnitRow& row : one->added) {
      if (row.group < 0 || static_cast<std::size_t>(row.group) >= phase.members().size())
        return "there is no group " + std::to_string(row.group);
    }
    const auto count = static_cast<std::int64_t>(phase.units.size() + one->added.size());
    for (const std::int64_t unit : one->units) {
      if (unit < 0 || unit >= count) return "there is no unit " + std::to_string(unit);
    }
    return strange(one->choices, count);
  }
  if (const auto* one = std::get_if<AdvanceDecision>(&decision)) {
    if (auto why = strange(phase, one->settled, std::nullopt)) return why;
    return strange(phase, one->units, one->rung);
  }
  if (const auto* one = std::get_if<StopDecision>(&decision)) return strange(phase, one->units, std::nullopt);
  if (const auto* one = std::get_if<OverrideDecision>(&decision)) {
    return strange(phase, one->units, one->rung >= 0 ? std::optional(one->rung) : std::nullopt);
  }
  return std::nullopt;
}

void override_of(PhaseCourse& phase, const OverrideDecision& one) {
  for (const std::int64_t unit : one.units) {
    if (one.go_on) {
      phase.let_go_on(unit, one.rung < 0 ? phase.top(unit) : one.rung, one.reason);
    } else {
      phase.stop(unit, phase.stood_at(unit), false, one.reason);
    }
  }
}

// What a decision that the checks have passed does.
void apply(PhaseCourse& phase, const SearchDecision& decision, std::int64_t number) {
  if (const auto* begin = std::get_if<BeginDecision>(&decision)) {
    phase.begin(begin->setup);
  } else if (const auto* observed = std::get_if<ObserveDecision>(&decision)) {
    phase.observe(*observed, number);
  } else if (const auto* proposed = std::get_if<ProposeDecision>(&decision)) {
    phase.add(proposed->added, proposed->choices);
    for (const std::int64_t unit : proposed->units) phase.send(unit, 0);
  } else if (const auto* advanced = std::get_if<AdvanceDecision>(&decision)) {
    for (const std::int64_t unit : advanced->units) phase.send(unit, advanced->rung);
    for (const std::int64_t unit : advanced->settled) phase.settle(unit);
  } else if (const auto* stopped = std::get_if<StopDecision>(&decision)) {
    for (const std::int64_t unit : stopped->units) phase.stop(unit, stopped->step, stopped->settled, stopped->reason);
  } else if (const auto* chosen = std::get_if<ChooseDecision>(&decision)) {
    phase.choice = chosen->chosen;
  } else if (const auto* overridden = std::get_if<OverrideDecision>(&decision)) {
    override_of(phase, *overridden);
  } else {
    phase.end(std::get<EndDecision>(decision).reason);
  }
}

// What the links of one trial want.
std::int64_t want_of(const PhaseCourse& phase, std::int64_t unit, std::int64_t trial) {
  const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
  const UnitFlags& flags = phase.flags[static_cast<std::size_t>(unit)];
  const SeenValue* result = phase.seen(trial, kToTheEnd);
  if (result != nullptr && result->good()) return kToTheEnd;
  if (flags.stopped) return course.settled || phase.ended ? kNoFurther : flags.stopped_at;
  const std::int64_t top = phase.top(unit);
  if (phase.of_seeds() || phase.of_rungs() || course.rung == top) return kToTheEnd;
  if (course.settled || phase.ended) return kNoFurther;
  return phase.sent_step(unit);
}

// What a running unit's curve has not shown yet.
void add_curve(const PhaseCourse& phase, std::int64_t unit, std::int64_t trial, std::vector<DueValue>& out) {
  const std::int64_t every = phase.validation_steps(unit), sent = phase.sent_step(unit);
  std::set<std::string> metrics;
  for (const StopRule& rule : phase.setup->search.stops)
    metrics.insert(rule.metric == phase.setup->metric ? "" : rule.metric);
  for (const std::string& metric : metrics) {
    const auto ask = [&](std::int64_t step) {
      if (phase.seen(trial, step, metric) == nullptr) out.push_back({trial, step, metric, true});
    };
    for (std::int64_t step = every; every > 0 && step < sent; step += every) ask(step);
    ask(sent);
  }
}

void add_due(const PhaseCourse& phase, std::int64_t unit, std::vector<DueValue>& out) {
  const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
  const auto& target = phase.setup->search.budget.target;
  const bool other = target && !target->metric.empty() && target->metric != phase.setup->metric;
  for (std::int64_t rung = 0; rung <= course.rung; ++rung) {
    if (course.scores[static_cast<std::size_t>(rung)]) continue;
    const std::int64_t step = phase.score_step(unit, rung);
    for (const std::int64_t trial : phase.trials_at(unit, rung)) {
      if (phase.seen(trial, step) == nullptr) out.push_back({trial, step});
      if (other && phase.seen(trial, step, target->metric) == nullptr)
        out.push_back({trial, step, target->metric, true});
    }
  }
  if (phase.setup->search.stops.empty() || course.rung < 0) return;
  for (const std::int64_t trial : phase.trials_at(unit, course.rung)) add_curve(phase, unit, trial, out);
}

// In trial order, results after what comes before them; once each, firmly where one rule wants it so.
void sort_due(std::vector<DueValue>& values) {
  const auto key = [](const DueValue& one) {
    return std::tuple(one.trial, one.step == kToTheEnd, one.step, one.metric);
  };
  std::sort(values.begin(), values.end(), [&](const DueValue& a, const DueValue& b) {
    return std::tuple(key(a), a.only_if_there) < std::tuple(key(b), b.only_if_there);
  });
  values.erase(
      std::unique(values.begin(), values.end(), [&](const DueValue& a, const DueValue& b) { return key(a) == key(b); }),
      values.end());
}

void add_lost(const PhaseCourse& phase, std::int64_t unit, std::vector<DueValue>& out) {
  for (std::int64_t rung = 0; rung <= phase.units[static_cast<std::size_t>(unit)].rung; ++rung) {
    const std::int64_t step = phase.score_step(unit, rung);
    for (const std::int64_t trial : phase.trials_at(unit, rung)) {
      const SeenValue* value = phase.seen(trial, step);
      if (value != nullptr && !value->good()) out.push_back({trial, step});
    }
  }
}

// The unit of a trial; nothing where the phase has none.
std::optional<std::int64_t> unit_with(const PhaseCourse& phase, std::int64_t trial) {
  const auto found = phase.unit_of_trial().find(trial);
  return found == phase.unit_of_trial().end() ? std::nullopt : std::optional(found->second);
}

std::vector<DueValue> of_trial(std::vector<DueValue> values, std::int64_t trial) {
  std::erase_if(values, [&](const DueValue& one) { return one.trial != trial; });
  sort_due(values);
  return values;
}

}  // namespace

struct Fold::Impl {
  std::int64_t decided = 0, generation = 0;
  std::vector<PhaseCourse> phases;
};

Fold::Fold() : impl_(std::make_shared<Impl>()) {}

absl::StatusOr<Fold> Fold::of(std::span<const DecisionRow> log) {
  Fold out;
  for (const DecisionRow& row : log) LOCUS_RETURN_IF_ERROR(out.take(row));
  return out;
}

Fold::Impl& Fold::own() { return owned(impl_); }

absl::Status Fold::take(const DecisionRow& row) {
  if (row.number != impl_->decided + 1) return broken(row, "the one before it is " + std::to_string(impl_->decided));
  LOCUS_ASSIGN_OR_RETURN(const SearchDecision decision, read(row));
  const bool begins = std::holds_alternative<BeginDecision>(decision);
  const auto place = static_cast<std::size_t>(row.phase);
  const bool anew = begins && row.generation > impl_->generation;
  if (row.phase < 0 || place > impl_->phases.size() || (!begins && place == impl_->phases.size()))
    return broken(row, "phase " + std::to_string(row.phase) + " has not begun");
  if (row.generation < impl_->generation || (!begins && row.generation != impl_->generation))
    return broken(row, "generation " + std::to_string(row.generation) + " is not the present one");
  if (begins && place > 0 && place == impl_->phases.size() && !impl_->phases[place - 1].ended)
    return broken(row, "the phase before it has not ended");
  static const PhaseCourse nothing;
  if (const auto why = strange(begins ? nothing : impl_->phases[place], decision)) return broken(row, *why);
  Impl& mine = own();
  if (anew) mine.phases.resize(place);
  if (place == mine.phases.size()) mine.phases.emplace_back();
  PhaseCourse& phase = mine.phases[place];
  apply(phase, decision, row.number);
  // A stop leaves the others to be judged; any other answer of the rules comes after they have been.
  if (const auto* stopped = std::get_if<StopDecision>(&decision)) {
    for (const std::int64_t unit : stopped->units) phase.forget_fresh(unit);
  } else if (!row.rule.empty()) {
    phase.forget_fresh();
  }
  mine.decided = row.number;
  mine.generation = row.generation;
  return absl::OkStatus();
}

std::int64_t Fold::decided() const { return impl_->decided; }
std::int64_t Fold::generation() const { return impl_->generation; }
std::size_t Fold::phases() const { return impl_->phases.size(); }
const PhaseCourse& Fold::course(std::size_t phase) const { return impl_->phases.at(phase); }
const SearchSetup& Fold::setup(std::size_t phase) const { return *course(phase).setup; }
const Pieces<UnitCourse>& Fold::units(std::size_t phase) const { return course(phase).units; }
bool Fold::phase_ended(std::size_t phase) const { return course(phase).ended; }
const std::string& Fold::reason(std::size_t phase) const { return course(phase).reason; }
Fold::Spent Fold::spent(std::size_t phase) const { return course(phase).spent; }

const std::vector<ChosenCandidate>* Fold::choice(std::size_t phase) const {
  const auto& choice = course(phase).choice;
  return choice ? &*choice : nullptr;
}

bool Fold::ended() const {
  const auto& phases = impl_->phases;
  if (phases.empty() || static_cast<std::int64_t>(phases.size()) < phases.front().setup->phases) return false;
  return std::all_of(phases.begin(), phases.end(), [](const PhaseCourse& phase) { return phase.ended; });
}

std::optional<std::size_t> Fold::present() const {
  const auto& phases = impl_->phases;
  if (phases.empty()) return std::nullopt;
  const auto open = std::find_if(phases.begin(), phases.end(), [](const PhaseCourse& phase) { return !phase.ended; });
  return open == phases.end() ? phases.size() - 1 : static_cast<std::size_t>(open - phases.begin());
}

std::map<std::int64_t, std::int64_t> Fold::wants() const {
  std::map<std::int64_t, std::int64_t> out;
  for (const PhaseCourse& phase : impl_->phases) {
    for (std::int64_t unit = 0; static_cast<std::size_t>(unit) < phase.units.size(); ++unit) {
      for (const std::int64_t trial : phase.granted(unit, phase.units[static_cast<std::size_t>(unit)].rung))
        out[trial] = want_of(phase, unit, trial);
    }
  }
  return out;
}

std::optional<std::int64_t> Fold::want(std::int64_t trial) const {
  for (auto phase = impl_->phases.rbegin(); phase != impl_->phases.rend(); ++phase) {
    const auto unit = unit_with(*phase, trial);
    if (!unit) continue;
    const auto granted = phase->granted(*unit, phase->units[static_cast<std::size_t>(*unit)].rung);
    if (std::find(granted.begin(), granted.end(), trial) != granted.end()) return want_of(*phase, *unit, trial);
  }
  return std::nullopt;
}

const PhaseCourse* Fold::judged() const {
  const auto place = present();
  return place && !impl_->phases[*place].ended ? &impl_->phases[*place] : nullptr;
}

std::vector<DueValue> Fold::due() const {
  std::vector<DueValue> out;
  const PhaseCourse* phase = judged();
  for (std::int64_t unit = 0; phase != nullptr && static_cast<std::size_t>(unit) < phase->units.size(); ++unit) {
    if (phase->running(unit)) add_due(*phase, unit, out);
  }
  sort_due(out);
  return out;
}

std::vector<DueValue> Fold::due(std::int64_t trial) const {
  std::vector<DueValue> out;
  const PhaseCourse* phase = judged();
  const auto unit = phase == nullptr ? std::nullopt : unit_with(*phase, trial);
  if (unit && phase->running(*unit)) add_due(*phase, *unit, out);
  return of_trial(std::move(out), trial);
}

std::vector<DueValue> Fold::lost() const {
  std::vector<DueValue> out;
  const PhaseCourse* phase = judged();
  for (std::int64_t unit = 0; phase != nullptr && static_cast<std::size_t>(unit) < phase->units.size(); ++unit)
    add_lost(*phase, unit, out);
  sort_due(out);
  return out;
}

std::vector<DueValue> Fold::lost(std::int64_t trial) const {
  std::vector<DueValue> out;
  const PhaseCourse* phase = judged();
  if (const auto unit = phase == nullptr ? std::nullopt : unit_with(*phase, trial)) add_lost(*phase, *unit, out);
  return of_trial(std::move(out), trial);
}

std::int64_t Fold::observed(std::int64_t trial, std::int64_t step, const std::string& metric) const {
  for (auto phase = impl_->phases.rbegin(); phase != impl_->phases.rend(); ++phase) {
    if (const SeenValue* value = phase->seen(trial, step, metric)) return value->number;
  }
  return 0;
}

const char* to_string(UnitState state) {
  switch (state) {
    case UnitState::kWaiting:
      return "waiting";
    case UnitState::kRunning:
      return "running";
    case UnitState::kParked:
      return "parked";
    case UnitState::kStopped:
      return "stopped";
    case UnitState::kFailed:
      return "failed";
    case UnitState::kFinished:
      break;
  }
  return "finished";
}

}  // namespace locus
