// A search as a message.
#include "server/application/search_message.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/analysis/search_story.h"
#include "core/experiment/plan/search_section.h"
#include "core/search/course.h"
#include "core/search/judge.h"
#include "server/application/search_view.h"

namespace locus::server {
namespace {

int as_int(std::int64_t value) { return static_cast<int>(std::min<std::int64_t>(value, INT32_MAX)); }

void fill_space(const SearchSetup& setup, v1::SearchPhase* out) {
  static constexpr const char* kKinds[] = {"linear", "log", "int", "choice"};
  for (const Dimension& one : setup.search.space) {
    v1::SearchDimension* dimension = out->add_space();
    dimension->set_path(one.path);
    dimension->set_kind(kKinds[static_cast<std::size_t>(one.kind)]);
    if (one.kind != Dimension::Kind::kChoice) {
      dimension->set_low(one.low);
      dimension->set_high(one.high);
      continue;
    }
    for (const Json& choice : one.choices)
      dimension->add_choices(choice.is_string() ? choice.get<std::string>() : choice.dump());
  }
}

// Counts of a unit at each rung it was sent to.
void count_rungs(const UnitCourse& unit, const std::vector<std::int64_t>& ladder, v1::SearchBracket* bracket) {
  for (std::int64_t rung = 0; rung <= unit.rung; ++rung) {
    const auto at = static_cast<std::size_t>(rung);
    if (at >= ladder.size()) break;
    while (bracket->rungs_size() <= static_cast<int>(rung)) bracket->add_rungs();
    v1::SearchRung* counts = bracket->mutable_rungs(static_cast<int>(rung));
    counts->set_rung(ladder[at]);
    counts->set_sent(counts->sent() + 1);
    const bool there = at < unit.scores.size() && unit.scores[at] && std::isfinite(*unit.scores[at]);
    counts->set_there(counts->there() + (there ? 1 : 0));
    counts->set_advanced(counts->advanced() + (unit.rung > rung ? 1 : 0));
    counts->set_stopped(counts->stopped() + (unit.rung == rung && unit.state == UnitState::kStopped ? 1 : 0));
    counts->set_failed(counts->failed() + (unit.rung == rung && unit.state == UnitState::kFailed ? 1 : 0));
  }
}

// What the rungs of a unit are in epochs or seeds. Where nothing is advanced there is one, the whole training.
std::vector<std::int64_t> rungs_of(const PhaseCourse& course, std::vector<std::int64_t> ladder) {
  const SearchSetup& setup = *course.setup;
  if (setup.search.advance.rule == AdvanceRule::kNone && setup.steps_per_epoch > 0)
    ladder = {std::llround(static_cast<double>(setup.last_step) / setup.steps_per_epoch)};
  return ladder;
}

// Every bracket with all of its rungs, whether units stand there or not. A race is one of each group.
void fill_brackets(const PhaseCourse& course, v1::SearchPhase* out) {
  const bool race = course.setup->search.advance.rule == AdvanceRule::kRace;
  for (const std::vector<std::int64_t>& ladder : course.ladders) {
    v1::SearchBracket* bracket = out->add_brackets();
    for (const std::int64_t rung : rungs_of(course, ladder)) bracket->add_rungs()->set_rung(rung);
  }
  for (std::size_t i = 0; i < course.units.size(); ++i) {
    const UnitCourse& unit = course.units[i];
    const std::int64_t bracket = race ? course.setup->units[i].group : unit.bracket;
    if (bracket < 0 || bracket >= out->brackets_size()) continue;
    count_rungs(unit, rungs_of(course, course.ladder(static_cast<std::int64_t>(i))),
                out->mutable_brackets(static_cast<int>(bracket)));
  }
}

// The best score there is, in the metric's own direction.
std::optional<double> best_score(const PhaseCourse& course) {
  std::optional<double> best;
  for (const UnitCourse& unit : course.units) {
    for (const std::optional<double>& score : unit.scores) {
      if (score && std::isfinite(*score)) best = std::max(best.value_or(*score), *score);
    }
  }
  return best ? std::optional(course.turned(*best)) : std::nullopt;
}

void fill_budget(const SearchSource& source, std::size_t phase, v1::SearchPhase* out) {
  const PhaseCourse& course = source.fold.course(phase);
  const Search& search = course.setup->search;
  const SearchBudget& budget = search.budget;
  const Fold::Spent spent = source.fold.spent(phase);
  const auto add = [out](const char* name, double value, double limit) {
    v1::SearchBudgetLine* line = out->add_budget();
    line->set_name(name);
    line->set_spent(value);
    line->set_limit(limit);
  };
  if (budget.proposals) add("proposals", static_cast<double>(spent.proposals), static_cast<double>(*budget.proposals));
  if (budget.stages) add("stages", static_cast<double>(spent.stages), static_cast<double>(*budget.stages));
  if (budget.epochs) add("epochs", spent.epochs, *budget.epochs);
  if (budget.slot_hours) add("slot_hours", source.slot_hours, *budget.slot_hours);
  if (budget.target && budget.target->metric.empty()) {
    const auto& target = *budget.target;
    add("target", best_score(course).value_or(std::nan("")), target.at_least.value_or(target.at_most.value_or(0)));
  }
  if (search.parallel > 0) add("parallel", static_cast<double>(course.running()), static_cast<double>(search.parallel));
}

std::string error_note(const ChosenCandidate& chosen, double error) {
  char text[160];
  std::snprintf(text, sizeof text,
                "the margin of %.2g is below the %.2g that luck with the images alone makes of a score", *chosen.margin,
                error);
  return text;
}

void fill_choices(const SearchSource& source, std::size_t phase, v1::SearchPhase* out) {
  const std::vector<ChosenCandidate>* chosen = source.fold.choice(phase);
  if (chosen == nullptr) return;
  const SearchSetup& setup = source.fold.setup(phase);
  const bool by_rank = setup.choose && setup.choose->by == "rank";
  for (const ChosenCandidate& one : *chosen) {
    v1::SearchChoice* choice = out->add_choices();
    choice->set_group(assignment_text(one.group));
    choice->set_group_json(one.group);
    choice->set_values_json(one.candidate);
    if (one.value) choice->set_value(*one.value);
    if (one.margin) choice->set_margin(*one.margin);
    choice->set_seeds(as_int(one.seeds));
    choice->set_agreed(as_int(one.agreed));
    std::string note = one.note;
    // A mean rank is no score, so no image is right or wrong in it.
    const auto images = source.images.find(one.group);
    const auto error = one.value && !by_rank && images != source.images.end()
                           ? image_error(setup.metric, *one.value, images->second)
                           : std::nullopt;
    if (error) choice->set_image_error(*error);
    if (error && one.margin && *one.margin < *error) note += (note.empty() ? "" : "; ") + error_note(one, *error);
    choice->set_note(note);
  }
}

// What the unit's cell assigns at the paths of the space.
std::string values_of(const SearchSetup& setup, const std::string& assignment_json) {
  const Json assignment = Json::parse(assignment_json, nullptr, /*allow_exceptions=*/false);
  Json out = Json::object();
  for (const Dimension& one : setup.search.space) {
    if (assignment.is_object() && assignment.contains(one.path)) out[one.path] = assignment[one.path];
  }
  return canonical_json(out);
}

// Where each rung trains anew: cells that differ in their epochs alone, by what they share, in order of the epochs.
using RungCells = std::map<std::string, std::map<double, std::int64_t>>;

std::string shared_key(const CellRow& cell, double* epochs) {
  Json key = Json::parse(cell.row_key, nullptr, /*allow_exceptions=*/false);
  if (!key.is_object()) return "";
  *epochs = key.contains(kEpochsPath) && key[kEpochsPath].is_number() ? key[kEpochsPath].get<double>() : 0;
  key.erase(kEpochsPath);
  return canonical_json(key);
}

RungCells rung_cells(const SearchSource& source, const PhaseCourse& course) {
  RungCells out;
  if (!course.of_rungs()) return out;
  for (const auto& [ordinal, cell] : source.cells) {
    double epochs = 0;
    const std::string key = shared_key(cell, &epochs);
    out[key][epochs] = ordinal;
  }
  return out;
}

void fill_unit(const SearchSource& source, std::size_t phase, std::size_t index, const RungCells& rungs,
               v1::SearchUnit* out) {
  const PhaseCourse& course = source.fold.course(phase);
  const SearchUnitRow& row = course.setup->units[index];
  const UnitCourse& unit = course.units[index];
  out->set_group(as_int(row.group));
  out->set_proposal(row.proposal);
  out->set_cell(row.cell);
  if (const auto cell = source.cells.find(row.cell); cell != source.cells.end()) {
    out->set_label(cell->second.label);
    out->set_values_json(values_of(*course.setup, cell->second.assignment_json));
    double epochs = 0;
    if (const auto all = rungs.find(shared_key(cell->second, &epochs)); all != rungs.end()) {
      for (const auto& [at, ordinal] : all->second) out->add_cells(ordinal);
    }
  }
  for (const std::int64_t trial : row.trials) out->add_trials(trial);
  for (const auto& later : row.later_rungs) {
    for (const std::int64_t trial : later) out->add_trials(trial);
  }
  out->set_state(to_string(unit.state));
  out->set_bracket(as_int(unit.bracket));
  out->set_rung(as_int(unit.rung));
  if (unit.bracket >= 0) {
    const std::vector<std::int64_t> ladder = rungs_of(course, course.ladder(static_cast<std::int64_t>(index)));
    for (std::size_t rung = 0; rung < unit.scores.size() && rung < ladder.size(); ++rung) {
      if (!unit.scores[rung]) continue;
      v1::SearchScore* score = out->add_scores();
      score->set_rung(ladder[rung]);
      if (std::isfinite(*unit.scores[rung])) score->set_value(course.turned(*unit.scores[rung]));
    }
  }
  out->set_reason(explain_unit(source.fold, phase, static_cast<std::int64_t>(index)));
}

void fill_units(const SearchSource& source, std::size_t phase, std::optional<std::int64_t> trial, bool all,
                v1::SearchPhase* out) {
  const PhaseCourse& course = source.fold.course(phase);
  const RungCells rungs = rung_cells(source, course);
  if (trial) {
    const auto found = course.unit_of_trial().find(*trial);
    if (found != course.unit_of_trial().end())
      fill_unit(source, phase, static_cast<std::size_t>(found->second), rungs, out->add_units());
    return;
  }
  if (!all && course.units.size() > kUnitsListed) return;
  for (std::size_t i = 0; i < course.units.size(); ++i) fill_unit(source, phase, i, rungs, out->add_units());
}

void fill_phase(const SearchSource& source, std::size_t phase, v1::SearchPhase* out) {
  const SearchSetup& setup = source.fold.setup(phase);
  const Search& search = setup.search;
  out->set_name(setup.phase);
  out->set_state(source.fold.phase_ended(phase) ? "ended" : "running");
  out->set_propose(to_string(search.proposer));
  out->set_advance(to_string(search.advance.rule));
  out->set_resource(to_string(search.advance.resource));
  out->set_unit(to_string(search.advance.unit));
  out->set_shared(search.shared);
  out->set_metric(setup.metric);
  out->set_split(setup.split);
  out->set_direction(setup.maximize ? "max" : "min");
  for (const std::string& group : setup.groups) out->add_groups(assignment_text(group));
  out->set_proposals(as_int(search.proposals));
  const Pieces<UnitCourse>& units = source.fold.units(phase);
  out->set_proposed(as_int(std::count_if(units.begin(), units.end(), [](const UnitCourse& u) { return u.rung >= 0; })));
  fill_brackets(source.fold.course(phase), out);
  fill_budget(source, phase, out);
  fill_choices(source, phase, out);
  out->set_reason(source.fold.reason(phase));
  fill_space(setup, out);
}

}  // namespace

std::optional<double> image_error(const std::string& metric, double value, std::int64_t images) {
  if ((metric != "top1" && metric != "top5") || images <= 0 || !(value >= 0 && value <= 100)) return std::nullopt;
  return std::sqrt(value * (100 - value) / static_cast<double>(images));
}

std::vector<std::string> phase_names(const std::string& spec_json) {
  const Json spec = Json::parse(spec_json, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> out;
  if (spec.is_object() && spec.contains("phases") && spec["phases"].is_array()) {
    for (const Json& one : spec["phases"]) out.push_back(one.is_object() ? one.value("name", std::string()) : "");
  }
  if (out.empty()) out.emplace_back();
  return out;
}

v1::Search search_message(const SearchSource& source, std::optional<std::int64_t> trial, bool all_units) {
  v1::Search out;
  out.set_experiment(source.experiment.name);
  out.set_generation(source.row.generation);
  out.set_decided(source.fold.decided());
  out.set_state(to_string(source.row.state));
  out.set_reason(source.row.reason);
  for (std::size_t phase = 0; phase < std::max(source.fold.phases(), source.phases.size()); ++phase) {
    v1::SearchPhase* message = out.add_phases();
    if (phase < source.fold.phases()) {
      fill_phase(source, phase, message);
      fill_units(source, phase, trial, all_units, message);
    } else {
      message->set_name(source.phases[phase]);
      message->set_state("waiting");
    }
  }
  for (const std::string& sentence : expected_next(source.fold)) out.add_next(sentence);
  if (!source.trouble.empty()) out.add_next("the last decision could not be made: " + source.trouble);
  return out;
}

}  // namespace locus::server
