// Sentences about where a search stands.
#include <algorithm>
#include <cmath>

#include "core/search/halving.h"
#include "core/search/judge_rules.h"

namespace locus {
namespace {

std::string ordinal(std::int64_t place) {
  const std::int64_t tens = place % 100, ones = place % 10;
  const bool plain = tens >= 11 && tens <= 13;
  return std::to_string(place) + (plain || ones == 0 || ones > 3 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : "rd");
}

std::string rung_name(const PhaseCourse& phase, const std::vector<std::int64_t>& ladder, std::int64_t rung) {
  const std::int64_t resource = ladder[static_cast<std::size_t>(rung)];
  if (phase.setup->search.advance.rule == AdvanceRule::kNone) return "the end";
  return phase.of_seeds() ? counted(resource, "seed") : "epoch " + std::to_string(resource);
}

// Of one barrier that is not open yet.
void add_barriers(const PhaseCourse& phase, std::size_t group, std::int64_t bracket, bool closed,
                  std::vector<std::string>& out) {
  const LadderStandings* units = phase.standings.ladder(static_cast<std::int64_t>(group), bracket);
  if (units == nullptr) return;
  const Share keep = share_of(phase);
  const std::int64_t top = std::ssize(phase.ladders[static_cast<std::size_t>(bracket)]) - 1;
  for (std::int64_t rung = 0; rung < top; ++rung) {
    const Barrier barrier = barrier_at(*units, rung, closed);
    if (barrier.open) continue;
    const std::int64_t all = rung == 0 ? units->units : barrier.members;
    const std::int64_t go_on = std::max<std::int64_t>(1, all * keep.numerator / keep.denominator);
    std::string line = rung_name(phase, phase.ladders[static_cast<std::size_t>(bracket)], rung) + ": " +
                       std::to_string(barrier.there) + " of " + std::to_string(all) + " are there, the best " +
                       std::to_string(go_on) + " go on";
    if (phase.members().size() > 1) line += ", of " + phase.setup->groups[group];
    if (phase.ladders.size() > 1) line += ", bracket " + std::to_string(bracket + 1);
    out.push_back(line);
    return;
  }
}

void add_race(const PhaseCourse& phase, std::size_t group, std::vector<std::string>& out) {
  const RaceCourse race = race_of(phase, static_cast<std::int64_t>(group));
  if (race.decided || race.live.empty()) return;
  std::string line = "race: " + counted(static_cast<std::int64_t>(race.live.size()), "candidate") + " left after " +
                     counted(race.seeds, "seed") + ", at most " + std::to_string(phase.ladder(race.live[0]).back());
  if (phase.members().size() > 1) line += ", of " + phase.setup->groups[group];
  out.push_back(line);
}

// The place of a unit among those of its group and bracket that have a score at the rung.
std::string place_at(const PhaseCourse& phase, std::int64_t unit, std::int64_t rung) {
  const auto i = static_cast<std::size_t>(unit);
  const double own = phase.units[i].scores[static_cast<std::size_t>(rung)].value_or(worst_score());
  std::int64_t place = 1, all = 0;
  for (const std::int64_t other : phase.members()[static_cast<std::size_t>(phase.setup->units[i].group)]) {
    const UnitCourse& course = phase.units[static_cast<std::size_t>(other)];
    if (course.bracket != phase.units[i].bracket || course.rung < rung) continue;
    const auto& score = course.scores[static_cast<std::size_t>(rung)];
    if (!score) continue;
    ++all;
    if (other != unit && (*score > own || (*score == own && other < unit))) ++place;
  }
  return ordinal(place) + " of " + std::to_string(all) + " with " + shown(phase.turned(own));
}

std::string goes_on(const PhaseCourse& phase, std::int64_t unit, std::int64_t rung) {
  const Advance& advance = phase.setup->search.advance;
  const auto i = static_cast<std::size_t>(unit);
  std::int64_t all = 0;
  for (const std::int64_t other : phase.members()[static_cast<std::size_t>(phase.setup->units[i].group)]) {
    const UnitCourse& course = phase.units[static_cast<std::size_t>(other)];
    const bool sent = course.bracket == phase.units[i].bracket && course.rung >= rung;
    // Asynchronous halving counts who is there, the others who was sent.
    const bool counts = advance.rule != AdvanceRule::kAsha || (sent && course.scores[static_cast<std::size_t>(rung)]);
    if (sent && counts) ++all;
  }
  const Share keep = advance.rule == AdvanceRule::kHalve ? advance.keep : Share{1, advance.eta};
  std::int64_t best = all * keep.numerator / keep.denominator;
  if (advance.rule != AdvanceRule::kAsha || !advance.park) best = std::max<std::int64_t>(1, best);
  if (best == 0) return "nobody goes on before " + std::to_string(advance.eta) + " are there";
  return "the first " + (best == 1 ? std::string() : std::to_string(best) + " ") + (best == 1 ? "goes on" : "go on");
}

std::string stands(const PhaseCourse& phase, std::int64_t unit, const std::string& how) {
  const UnitCourse& course = phase.units[static_cast<std::size_t>(unit)];
  const AdvanceRule rule = phase.setup->search.advance.rule;
  std::string out =
      how + " at " + rung_name(phase, phase.ladder(unit), course.rung) + ": " + place_at(phase, unit, course.rung);
  if (rule == AdvanceRule::kRace) return out + ", in a race by " + to_string(phase.setup->search.advance.race.rule);
  return out + "; " + goes_on(phase, unit, course.rung);
}

}  // namespace

std::vector<std::string> expected_next(const Fold& fold) {
  std::vector<std::string> out;
  const auto place = fold.present();
  if (!place) return out;
  const PhaseCourse& phase = fold.course(*place);
  const std::string prefix = phase.setup->phase.empty() ? "" : phase.setup->phase + ": ";
  if (phase.ended) return {prefix + "ended: " + phase.reason};
  const SearchBudgetLeft budget(phase, 0);
  const bool closed = proposals_closed(phase, budget);
  const Search& search = phase.setup->search;
  std::int64_t waiting = 0;
  for (std::size_t i = 0; i < phase.units.size(); ++i) {
    const UnitCourse& course = phase.units[i];
    if (course.rung < 0 && course.bracket >= 0 && !phase.flags[i].stopped) ++waiting;
  }
  if (waiting > 0 && closed) {
    out.push_back(counted(waiting, "unit") + " will not begin: " + budget.limit());
  } else if (waiting > 0) {
    out.push_back(counted(waiting, "unit") + " to begin, at most " + std::to_string(search.parallel) +
                  " unfinished at a time");
  } else if (!closed) {
    out.emplace_back("a client's next proposal");
  }
  const bool whole_rungs = search.advance.rule == AdvanceRule::kHalve || search.advance.rule == AdvanceRule::kHyperband;
  for (std::size_t group = 0; group < phase.members().size(); ++group) {
    const auto brackets = static_cast<std::int64_t>(phase.ladders.size());
    for (std::int64_t bracket = 0; whole_rungs && bracket < brackets; ++bracket)
      add_barriers(phase, group, bracket, closed, out);
    if (search.advance.rule == AdvanceRule::kRace) add_race(phase, group, out);
  }
  if (const std::int64_t running = phase.running(); running > 0) out.push_back(counted(running, "unit") + " under way");
  if (!prefix.empty()) {
    for (std::string& line : out) line = prefix + line;
  }
  return out;
}

std::string explain_unit(const Fold& fold, std::size_t place, std::int64_t unit) {
  const PhaseCourse& phase = fold.course(place);
  const auto i = static_cast<std::size_t>(unit);
  const UnitCourse& course = phase.units.at(i);
  const std::string reason = course.reason.empty() ? "" : ": " + course.reason;
  switch (course.state) {
    case UnitState::kWaiting:
      if (phase.ended) return "never begun: " + phase.reason;
      if (course.bracket < 0) return "never begun: no bracket has a place for it";
      return "waits for its turn" +
             (phase.setup->search.parallel > 0
                  ? ": at most " + std::to_string(phase.setup->search.parallel) + " are unfinished at a time"
                  : std::string());
    case UnitState::kRunning:
      return "on its way to " + rung_name(phase, phase.ladder(unit), course.rung) +
             (course.overruled ? ", by a person" + reason : "");
    case UnitState::kParked:
      return stands(phase, unit, "parked");
    case UnitState::kStopped:
      if (phase.flags[i].stopped) {
        const double steps = phase.steps_per_epoch(unit);
        const std::string at = steps > 0 ? shown(static_cast<double>(phase.flags[i].stopped_at) / steps) : "?";
        return course.rung < 0 ? "stopped before it began" + reason : "stopped at epoch " + at + reason;
      }
      return stands(phase, unit, "did not go on");
    case UnitState::kFailed: {
      std::int64_t failed = 0;
      const auto trials = phase.trials_at(unit, course.rung);
      for (const std::int64_t trial : trials) {
        const SeenValue* value = phase.seen(trial, phase.score_step(unit, course.rung));
        if (value != nullptr && !value->good()) ++failed;
      }
      return "judged worst at " + rung_name(phase, phase.ladder(unit), course.rung) + ": " + std::to_string(failed) +
             " of " + counted(static_cast<std::int64_t>(trials.size()), "trial") + " failed or diverged";
    }
    case UnitState::kFinished:
      break;
  }
  const double score = course.scores.back().value_or(worst_score());
  return "got to " + rung_name(phase, phase.ladder(unit), course.rung) + ": " + shown(phase.turned(score)) + ", " +
         place_at(phase, unit, course.rung);
}

}  // namespace locus
