// A search's log for people.
#include "core/analysis/search_story.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/search/course.h"

namespace locus {
namespace {

constexpr std::size_t kNamedMost = 6;  // trials that a sentence lists

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// {"violin": {}} -> "violin"; a list of such -> "none + violin".
std::string short_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.size() == 1 && value.begin()->is_object() && value.begin()->empty())
    return value.begin().key();
  if (value.is_array() && !value.empty()) {
    std::vector<std::string> parts;
    for (const Json& one : value) parts.push_back(short_value(one));
    return joined(parts, " + ");
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string list_of_trials(const std::vector<std::int64_t>& trials) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(trials.size(), kNamedMost); ++i) names.push_back(std::to_string(trials[i]));
  std::string out = (trials.size() == 1 ? "trial " : "trials ") + joined(names);
  if (trials.size() > kNamedMost) out += " and " + std::to_string(trials.size() - kNamedMost) + " more";
  return out;
}

std::vector<std::int64_t> trials_of_units(const SearchSetup& setup, const std::vector<std::int64_t>& units) {
  std::set<std::int64_t> out;
  for (const std::int64_t unit : units) {
    if (unit < 0 || static_cast<std::size_t>(unit) >= setup.units.size()) continue;
    const SearchUnitRow& row = setup.units[static_cast<std::size_t>(unit)];
    out.insert(row.trials.begin(), row.trials.end());
    for (const auto& later : row.later_rungs) out.insert(later.begin(), later.end());
  }
  return {out.begin(), out.end()};
}

// "epoch 9", "8 seeds", "rung 2"; "the end" for the last.
std::string place_text(const SearchSetup& setup, std::int64_t rung) {
  const std::vector<std::int64_t>& rungs = setup.search.advance.rungs;
  if (rung < 0) return "the end";
  if (static_cast<std::size_t>(rung) >= rungs.size()) return "rung " + std::to_string(rung);
  const std::string at = std::to_string(rungs[static_cast<std::size_t>(rung)]);
  return setup.search.advance.resource == SearchResource::kSeeds ? at + " seeds" : "epoch " + at;
}

struct Teller {
  const SearchSetup& setup;

  std::string who(const std::vector<std::int64_t>& units) const {
    return counted(units.size(), "unit") + " (" + list_of_trials(trials_of_units(setup, units)) + ")";
  }

  std::string operator()(const BeginDecision& one) const {
    const SearchSetup& begun = one.setup;
    return (begun.phase.empty() ? "the search begins" : "the phase '" + begun.phase + "' begins") + std::string(": ") +
           counted(begun.units.size(), "unit") + " in " +
           counted(std::max<std::size_t>(1, begun.groups.size()), "group") + ", judged by " + begun.metric + " on " +
           begun.split;
  }
  std::string operator()(const ObserveDecision& one) const {
    const std::string metric = one.metric.empty() ? setup.metric : one.metric;
    const std::string trial = "trial " + std::to_string(one.trial);
    const std::string where = one.step == kToTheEnd ? "as its result" : "at step " + std::to_string(one.step);
    const std::string again = one.revises > 0 ? ", instead of decision " + std::to_string(one.revises) : "";
    if (!one.value) return trial + " has no " + metric + " " + where + ", for good" + again;
    return trial + " has " + metric + " " + number_text(*one.value) + " " + where + again;
  }
  std::string operator()(const ProposeDecision& one) const {
    const std::string by = one.proposer.is_object() ? one.proposer.value("name", std::string()) : std::string();
    if (one.units.empty()) return (by.empty() ? "nothing" : by + " proposes nothing") + std::string(" new");
    return (by.empty() ? "begin: " : by + " proposes: ") + who(one.units);
  }
  std::string operator()(const AdvanceDecision& one) const {
    std::string out = one.units.empty() ? "nobody goes on"
                                        : who(one.units) + (one.units.size() == 1 ? " goes on to " : " go on to ") +
                                              place_text(setup, one.rung);
    if (!one.settled.empty()) out += "; " + counted(one.settled.size(), "unit") + " will not";
    return out;
  }
  std::string operator()(const StopDecision& one) const {
    const std::string where = one.step > 0 ? " at step " + std::to_string(one.step) : "";
    return who(one.units) + (one.units.size() == 1 ? " stops" : " stop") + where +
           (one.reason.empty() ? "" : ": " + one.reason);
  }
  std::string operator()(const ChooseDecision& one) const {
    std::vector<std::string> parts;
    for (const ChosenCandidate& chosen : one.chosen) parts.push_back(chosen_text(chosen));
    return "chosen: " + joined(parts, "; ");
  }
  std::string operator()(const OverrideDecision& one) const {
    return who(one.units) + (one.go_on ? " may go on to " + place_text(setup, one.rung) : std::string(" stopped")) +
           " by request" + (one.reason.empty() ? "" : ": " + one.reason);
  }
  std::string operator()(const EndDecision& one) const {
    return (setup.phase.empty() ? "the search ends" : "the phase '" + setup.phase + "' ends") +
           (one.reason.empty() ? std::string() : ": " + one.reason);
  }

  std::string chosen_text(const ChosenCandidate& one) const {
    const std::string group = assignment_text(one.group);
    std::string out = group.empty() ? "" : "for " + group + " ";
    if (one.candidate.empty()) return out + "nothing, since nobody was left";
    out += assignment_text(one.candidate);
    if (one.value) out += " (" + number_text(*one.value);
    if (one.value && one.margin) out += ", " + number_text(*one.margin) + " ahead";
    if (one.value) out += ")";
    return out;
  }
};

struct Concerned {
  const SearchSetup& setup;
  std::vector<std::int64_t> operator()(const BeginDecision& one) const {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < one.setup.units.size(); ++i) all.push_back(static_cast<std::int64_t>(i));
    return trials_of_units(one.setup, all);
  }
  std::vector<std::int64_t> operator()(const ObserveDecision& one) const { return {one.trial}; }
  std::vector<std::int64_t> operator()(const AdvanceDecision& one) const {
    std::vector<std::int64_t> units = one.units;
    units.insert(units.end(), one.settled.begin(), one.settled.end());
    return trials_of_units(setup, units);
  }
  std::vector<std::int64_t> operator()(const ChooseDecision&) const { return {}; }
  std::vector<std::int64_t> operator()(const EndDecision&) const { return {}; }
  template <class Decision>
  std::vector<std::int64_t> operator()(const Decision& one) const {
    return trials_of_units(setup, one.units);
  }
};

// What has been granted to each group.
std::vector<double> epochs_granted(const PhaseCourse& course) {
  std::vector<double> out(course.members().size(), 0);
  for (std::size_t group = 0; group < course.members().size(); ++group) {
    for (const std::int64_t unit : course.members()[group]) {
      const std::int64_t rung = course.units[static_cast<std::size_t>(unit)].rung;
      if (rung >= 0) out[group] += course.cost(unit, rung).epochs;
    }
  }
  return out;
}

// The score of the highest rung at which there is one.
std::optional<double> newest_score(const UnitCourse& unit) {
  std::optional<double> out;
  for (const std::optional<double>& score : unit.scores) {
    if (score && std::isfinite(*score)) out = score;
  }
  return out;
}

class BestSoFar {
 public:
  explicit BestSoFar(std::size_t phase) : phase_(phase) {}

  // A row that `course` has taken in already.
  void take(const DecisionRow& row, const SearchDecision& decision, const PhaseCourse& course) {
    if (static_cast<std::size_t>(row.phase) != phase_) return;
    if (row.kind == "begin" && row.generation != generation_) {
      generation_ = row.generation;
      best_.clear();
      curves_.clear();
    }
    curves_.resize(std::max(curves_.size(), course.members().size()));
    best_.resize(curves_.size());
    const auto* observed = std::get_if<ObserveDecision>(&decision);
    if (observed == nullptr) {
      granted_ = epochs_granted(course);
    } else if (observed->metric.empty()) {
      look(observed->trial, course);
    }
  }

  std::vector<std::vector<BestPoint>> finish() && {
    for (std::size_t group = 0; group < curves_.size() && group < granted_.size(); ++group) {
      if (curves_[group].empty() || curves_[group].back().epochs >= granted_[group]) continue;
      BestPoint last = curves_[group].back();
      last.epochs = granted_[group];
      curves_[group].push_back(last);
    }
    return std::move(curves_);
  }

 private:
  void look(std::int64_t trial, const PhaseCourse& course) {
    const auto found = course.unit_of_trial().find(trial);
    if (found == course.unit_of_trial().end()) return;
    const auto unit = static_cast<std::size_t>(found->second);
    const std::optional<double> score = newest_score(course.units[unit]);
    const auto group = static_cast<std::size_t>(course.setup->units[unit].group);
    if (!score || group >= curves_.size() || (best_[group] && *best_[group] >= *score)) return;
    best_[group] = score;
    const double epochs = group < granted_.size() ? granted_[group] : 0;
    curves_[group].push_back({epochs, course.turned(*score), course.setup->units[unit].trials.front()});
  }

  const std::size_t phase_;
  std::int64_t generation_ = 0;
  std::vector<std::optional<double>> best_;  // larger better
  std::vector<double> granted_;
  std::vector<std::vector<BestPoint>> curves_;
};

}  // namespace

std::string assignment_text(const std::string& assignment_json) {
  const Json assignment = Json::parse(assignment_json, nullptr, /*allow_exceptions=*/false);
  if (!assignment.is_object()) return assignment_json;
  std::vector<std::string> parts;
  for (const auto& [path, value] : assignment.items()) {
    const bool plain = value.is_number() || value.is_boolean() || value.is_null();
    parts.push_back(plain ? path + " " + value.dump() : short_value(value));
  }
  return joined(parts);
}

absl::StatusOr<SearchDecision> SetupsSoFar::take(const DecisionRow& row) {
  LOCUS_ASSIGN_OR_RETURN(SearchDecision decision, read(row));
  if (const auto* begun = std::get_if<BeginDecision>(&decision)) {
    setups_.insert_or_assign(row.phase, begun->setup);
    return decision;
  }
  const auto setup = setups_.find(row.phase);
  if (setup == setups_.end()) {
    return make_error(absl::StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                      "decision " + std::to_string(row.number) + " is of phase " + std::to_string(row.phase) +
                          ", which has not begun before it; run `locus check`");
  }
  if (const auto* proposed = std::get_if<ProposeDecision>(&decision)) {
    std::vector<SearchUnitRow>& units = setup->second.units;
    units.insert(units.end(), proposed->added.begin(), proposed->added.end());
  }
  return decision;
}

const SearchSetup* SetupsSoFar::of(std::int64_t phase) const {
  const auto found = setups_.find(phase);
  return found == setups_.end() ? nullptr : &found->second;
}

std::string decision_text(const SearchSetup& setup, const SearchDecision& decision) {
  return std::visit(Teller{setup}, decision);
}

std::vector<std::int64_t> trials_of(const SearchSetup& setup, const SearchDecision& decision) {
  return std::visit(Concerned{setup}, decision);
}

absl::StatusOr<std::vector<std::vector<BestPoint>>> best_so_far(const Fold& fold, std::size_t phase,
                                                                std::span<const DecisionRow> log) {
  BestSoFar best(phase);
  Fold then;
  for (const DecisionRow& row : log) {
    if (row.number > fold.decided()) break;
    LOCUS_RETURN_IF_ERROR(then.take(row));
    LOCUS_ASSIGN_OR_RETURN(const SearchDecision decision, read(row));
    if (then.phases() > phase) best.take(row, decision, then.course(phase));
  }
  return std::move(best).finish();
}

}  // namespace locus
