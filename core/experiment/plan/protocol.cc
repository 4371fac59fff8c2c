// Plans phases.
#include "core/experiment/plan/protocol.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/experiment/plan/changed.h"
#include "core/experiment/plan/factors.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/search_section.h"
#include "core/limits.h"

namespace locus {
namespace {

constexpr char kChosen[] = "$chosen";

bool among(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

std::string comma_list(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ", ") + one;
  return out.empty() ? "none" : out;
}

std::vector<std::string> distinct_at(const ExperimentPlan& plan, const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const PlannedCell& cell : plan.cells) {
    if (std::string one = assignment_at(cell, paths); seen.insert(one).second) out.push_back(std::move(one));
  }
  return out;
}

// A value used at a path, in the cells of a group or in all.
struct Used {
  std::string path;
  Json value;
  Json group = Json::object();
};

void use_values(const Phase& phase, const std::vector<Used>& values, Specification& spec) {
  for (const Used& one : values) {
    Override given;
    given.field = phase.field + ".use." + one.path;
    for (const auto& [path, value] : one.group.items()) given.where[path] = {value, "", given.field};
    given.set[one.path] = {one.value, "", given.field};
    spec.overrides.push_back(std::move(given));
  }
}

const Factor* factor_at(const Specification& spec, const std::string& path) {
  for (const Axis& axis : spec.axes) {
    for (const Factor& factor : axis) {
      if (factor.path == path) return &factor;
    }
  }
  return nullptr;
}

// What the phase says that its document cannot.
void change(const Phase& phase, Specification& spec, Mistakes& mistakes) {
  for (const auto& [path, value] : phase.set.items()) {
    const std::string field = phase.field + ".set." + path;
    mistakes.note(add_setting(spec, spec.fixed, path, value, field));
    if (const Factor* factor = factor_at(spec, path)) {
      mistakes.note(invalid_search(path + " is a factor of this phase, at " + factor->field +
                                       ", and cannot be set; give its matrix one value instead",
                                   field));
    }
  }
  spec.judges = phase.choose.has_value();
  for (const PhaseUse& use : phase.use) {
    if (const Factor* factor = factor_at(spec, use.path)) {
      mistakes.note(invalid_search(use.path + " is a factor of this phase, at " + factor->field +
                                       "; give it to the matrix of the phase that chooses it alone",
                                   phase.field + ".use." + use.path));
    }
  }
}

// What every phase is planned by.
struct Terms {
  const Catalog& catalog;
  const PhaseProposals& proposed;
};

absl::StatusOr<ExperimentPlan> plan_using(const Phase& phase, const Terms& terms, const std::vector<Used>& values,
                                          const Factor* candidates) {
  auto plan = plan_changed(phase.document, terms.catalog, [&](Specification& spec, Mistakes& mistakes) {
    change(phase, spec, mistakes);
    if (const auto given = terms.proposed.find(phase.name); given != terms.proposed.end())
      take_proposals(given->second, spec, mistakes);
    if (!mistakes.none()) return;
    use_values(phase, values, spec);
    if (candidates != nullptr) spec.axes.push_back({*candidates});
  });
  if (plan.ok()) return plan;
  return each_of(plan.status(), [&](const absl::Status& one) { return relocate_to(phase, one); });
}

// The candidates' values at a path, in order; the middle of the space where a client has yet to propose some.
std::vector<Json> values_at(const PlannedPhase& chooser, const std::string& path) {
  std::vector<Json> out;
  if (chooser.plan.cells.empty() && chooser.plan.search) {
    for (const Dimension& one : chooser.plan.search->search.space) {
      if (one.path == path) out.push_back(value_at(one, 0.5));
    }
    return out;
  }
  for (const std::string& one : distinct_at(chooser.plan, {path})) out.push_back(Json::parse(one).at(path));
  return out;
}

// Completes the choice from the factors that the plan has.
void complete_choice(const Phase& phase, PlannedPhase& planned, Mistakes& mistakes) {
  PhaseChoice& choice = *planned.choose;
  const std::string field = phase.field + ".choose";
  const ExperimentPlan& plan = planned.plan;
  if (plan.search && plan.search->search.endless())
    mistakes.note(
        invalid_search("a client may propose any number here, so the choice would never be made; give the "
                       "search proposals or a budget",
                       phase.field + ".search.proposals"));
  if (!phase.names_factors) {
    if (plan.search) {
      for (const Dimension& one : plan.search->search.space) choice.factors.push_back(one.path);
    }
    if (choice.factors.empty()) {
      mistakes.note(
          refuse(ErrorReason::kMissingKey,
                 "choose says what is chosen, as in factors: [train.lr]; the phase has no search whose paths it "
                 "could be",
                 field + ".factors", {{"key", "factors"}}));
      return;
    }
  }
  for (const auto* list : {&choice.factors, &choice.per}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string& path = (*list)[i];
      const std::string place = indexed(field + (list == &choice.factors ? ".factors" : ".per"), i);
      if (!among(plan.factors, path)) {
        mistakes.note(invalid_search(path +
                                         " is not a factor of this phase, so there is nothing to choose among; its "
                                         "factors are: " +
                                         comma_list(plan.factors),
                                     place));
      } else if (list == &choice.per && among(choice.factors, path)) {
        mistakes.note(invalid_search(path + " is chosen, so it cannot have a choice for each of its values", place));
      }
    }
  }
  if (!phase.names_per) {
    for (const std::string& path : plan.factors) {
      const bool rung = path == kEpochsPath && plan.search && plan.search->search.horizon == SearchHorizon::kRung;
      if (!rung && !among(choice.factors, path)) choice.per.push_back(path);
    }
  }
  const auto seeds = static_cast<std::int64_t>(plan.seeds.size());
  if (choice.at_least && *choice.at_least > seeds) {
    mistakes.note(invalid_search("a candidate is asked for " + std::to_string(*choice.at_least) +
                                     " seeds, and replicates.seed lists " + std::to_string(seeds),
                                 field + ".require.at_least"));
  }
  planned.groups = distinct_at(plan, choice.per);
  planned.candidates = distinct_at(plan, choice.factors);
}

// Factors of a phase that tell which of an earlier one's choices a cell uses.
std::vector<std::string> shared_paths(const PlannedPhase& chooser, const ExperimentPlan& plan) {
  std::vector<std::string> out;
  std::copy_if(chooser.choose->per.begin(), chooser.choose->per.end(), std::back_inserter(out),
               [&](const std::string& path) { return among(plan.factors, path); });
  return out;
}

// What is used was chosen, and for every cell that uses it.
void check_uses(const Phase& phase, const ExperimentPlan& plan, const std::vector<PlannedPhase>& before,
                Mistakes& mistakes) {
  for (const PhaseUse& use : phase.use) {
    const PlannedPhase& chooser = before[use.phase];
    const std::string field = phase.field + ".use." + use.path;
    if (chooser.plan.cells.empty()) continue;  // a client has yet to propose them
    for (const std::string& path : chooser.choose->per) {
      if (among(plan.factors, path) || values_at(chooser, path).size() == 1) continue;
      mistakes.note(invalid_search("the phase '" + chooser.name + "' chooses " + use.path + " for each " + path +
                                       ", which does not vary here, so it is open whose choice is used; add " + path +
                                       " to the matrix, or write per in the choice",
                                   field));
      return;
    }
    const std::vector<std::string> shared = shared_paths(chooser, plan);
    std::set<std::string> chosen;
    for (const PlannedCell& cell : chooser.plan.cells) chosen.insert(assignment_at(cell, shared));
    for (const std::string& group : distinct_at(plan, shared)) {
      if (chosen.contains(group)) continue;
      mistakes.note(invalid_search("the phase '" + chooser.name + "' makes no choice for " + group +
                                       ", which this one has; give both the same values",
                                   field));
      break;
    }
  }
}

// Before it is planned: whether a used path is one that was chosen.
void check_chosen(const Phase& phase, const std::vector<PlannedPhase>& before, Mistakes& mistakes) {
  for (const PhaseUse& use : phase.use) {
    const PlannedPhase& chooser = before[use.phase];
    if (among(chooser.choose->factors, use.path)) continue;
    mistakes.note(invalid_search("the phase '" + chooser.name + "' does not choose " + use.path +
                                     "; it chooses: " + comma_list(chooser.choose->factors),
                                 phase.field + ".use." + use.path));
  }
}

void mark_chosen(const Phase& phase, const std::vector<PlannedPhase>& before, ExperimentPlan& plan) {
  for (PlannedCell& cell : plan.cells) {
    Json assignment = Json::parse(cell.assignment_json);
    for (const PhaseUse& use : phase.use) assignment[use.path] = {{kChosen, before[use.phase].name}};
    cell.row_key = cell.assignment_json = canonical_json(assignment);
  }
}

// Every candidate in every cell that may use it, one path at a time, the others at their first.
absl::Status check_candidates(const Phase& phase, const Terms& terms, const std::vector<PlannedPhase>& before,
                              const std::vector<Used>& first, const ExperimentPlan& plan) {
  for (std::size_t i = 0; i < phase.use.size(); ++i) {
    const PhaseUse& use = phase.use[i];
    Factor factor{use.path, phase.field + ".use." + use.path, {}};
    for (Json& value : values_at(before[use.phase], use.path)) factor.values.push_back({value, "", factor.field});
    const auto trials = static_cast<std::int64_t>(plan.trials.size() * factor.values.size());
    if (factor.values.size() < 2 || trials > kTrialsPerExperiment) continue;
    std::vector<Used> others = first;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    LOCUS_RETURN_IF_ERROR(plan_using(phase, terms, others, &factor).status());
  }
  return absl::OkStatus();
}

std::optional<PlannedPhase> plan_one(const Phase& phase, const Terms& terms, const std::vector<PlannedPhase>& before,
                                     Mistakes& mistakes) {
  Mistakes found;
  check_chosen(phase, before, found);
  if (!mistakes.note(found.status())) return std::nullopt;
  std::vector<Used> first;
  for (const PhaseUse& use : phase.use) {
    const std::vector<Json> values = values_at(before[use.phase], use.path);
    first.push_back({use.path, values.empty() ? Json() : values.front()});
  }
  auto plan = mistakes.value(plan_using(phase, terms, first, nullptr));
  if (!plan) return std::nullopt;
  PlannedPhase out{phase.name, phase.choose, phase.use, {}, {}, *std::move(plan), !phase.use.empty()};
  if (out.choose) complete_choice(phase, out, found);
  check_uses(phase, out.plan, before, found);
  if (found.none()) found.note(check_candidates(phase, terms, before, first, out.plan));
  if (!mistakes.note(found.status())) return std::nullopt;
  mark_chosen(phase, before, out.plan);
  if (!out.deferred) return out;
  for (PlannedTrial& trial : out.plan.trials) trial.stages.clear();
  return out;
}

void warn_of_unused(std::vector<PlannedPhase>& phases) {
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!phases[i].choose || i + 1 == phases.size()) continue;
    const bool used = std::any_of(phases.begin(), phases.end(), [&](const PlannedPhase& later) {
      return std::any_of(later.use.begin(), later.use.end(), [&](const PhaseUse& use) { return use.phase == i; });
    });
    if (!used) phases[i].plan.warnings.push_back("no later phase uses what '" + phases[i].name + "' chooses");
  }
}

struct Parsed {
  std::vector<Phase> phases;
  std::vector<PlannedPhase> planned;
};

absl::StatusOr<Parsed> plan_all(const Json& specification, const Terms& terms) {
  Mistakes mistakes;
  Parsed out;
  out.phases = parse_phases(specification, terms.catalog, mistakes);
  if (!mistakes.none()) return mistakes.status();
  for (const Phase& phase : out.phases) {
    // Phases that build on one that has mistakes would only repeat them.
    const bool built = std::all_of(phase.use.begin(), phase.use.end(),
                                   [&](const PhaseUse& use) { return use.phase < out.planned.size(); });
    if (!built) break;
    auto planned = plan_one(phase, terms, out.planned, mistakes);
    if (planned && out.planned.size() == static_cast<std::size_t>(&phase - out.phases.data()))
      out.planned.push_back(*std::move(planned));
  }
  if (!mistakes.none()) return mistakes.status();
  warn_of_unused(out.planned);
  return out;
}

// The part of a group's name that a phase varies too.
Json narrowed(const std::string& group, const std::vector<std::string>& paths) {
  Json out = Json::object();
  const Json named = Json::parse(group);
  for (const std::string& path : paths) {
    if (named.contains(path)) out[path] = named.at(path);
  }
  return out;
}

// What was chosen, for each group; cells of groups without a choice are planned with the first candidate.
absl::StatusOr<std::vector<Used>> values_chosen(const Phase& phase, const std::vector<PlannedPhase>& planned,
                                                const ExperimentPlan& plan, const Choices& choices) {
  std::vector<Used> out;
  for (const PhaseUse& use : phase.use) {
    const PlannedPhase& chooser = planned[use.phase];
    const auto made = choices.find(chooser.name);
    if (made == choices.end()) {
      return refuse(
          ErrorReason::kMissingKey,
          "the phase '" + phase.name + "' uses what '" + chooser.name + "' chooses, and no choice of it is given",
          phase.field + ".use." + use.path);
    }
    for (const Json& value : values_at(chooser, use.path)) {
      out.push_back({use.path, value});
      break;
    }
    const std::vector<std::string> shared = shared_paths(chooser, plan);
    for (const auto& [group, values] : made->second) {
      const auto value = values.find(use.path);
      if (value != values.end()) out.push_back({use.path, value->second, narrowed(group, shared)});
    }
  }
  return out;
}

// Takes the stages of trials that use what nobody was left to choose from.
void cancel_unchosen(const Phase& phase, const std::vector<PlannedPhase>& planned, const Choices& choices,
                     ExperimentPlan& plan) {
  std::set<std::int64_t> open;
  for (const PhaseUse& use : phase.use) {
    const PlannedPhase& chooser = planned[use.phase];
    const std::vector<std::string> shared = shared_paths(chooser, plan);
    std::set<std::string> chosen;
    for (const auto& [group, values] : choices.at(chooser.name)) {
      if (values.contains(use.path)) chosen.insert(canonical_json(narrowed(group, shared)));
    }
    for (std::size_t i = 0; i < plan.cells.size(); ++i) {
      if (!chosen.contains(assignment_at(plan.cells[i], shared))) open.insert(static_cast<std::int64_t>(i));
    }
  }
  for (PlannedTrial& trial : plan.trials) {
    if (open.contains(trial.cell)) trial.stages.clear();
  }
}

}  // namespace

std::string assignment_at(const PlannedCell& cell, const std::vector<std::string>& paths) {
  const Json assignment = Json::parse(cell.assignment_json);
  Json out = Json::object();
  for (const std::string& path : paths) {
    if (assignment.contains(path)) out[path] = assignment.at(path);
  }
  return canonical_json(out);
}

absl::StatusOr<ProtocolPlan> plan_protocol(const Json& specification, const Catalog& catalog,
                                           const PhaseProposals& proposed) {
  LOCUS_ASSIGN_OR_RETURN(Parsed parsed, plan_all(specification, {catalog, proposed}));
  ProtocolPlan out;
  out.phases = std::move(parsed.planned);
  out.spec_json = canonical_json(specification);
  return out;
}

absl::StatusOr<PlannedPhase> plan_phase(const Json& specification, const Catalog& catalog, std::size_t place,
                                        const Choices& choices, const PhaseProposals& proposed) {
  const Terms terms{catalog, proposed};
  LOCUS_ASSIGN_OR_RETURN(Parsed parsed, plan_all(specification, terms));
  if (place >= parsed.phases.size()) {
    return refuse(ErrorReason::kInvalidArgument,
                  "there is no phase " + std::to_string(place) + "; the specification has " +
                      std::to_string(parsed.phases.size()),
                  "phases");
  }
  const Phase& phase = parsed.phases[place];
  PlannedPhase out = parsed.planned[place];
  if (!out.deferred) return out;
  LOCUS_ASSIGN_OR_RETURN(const std::vector<Used> used, values_chosen(phase, parsed.planned, out.plan, choices));
  LOCUS_ASSIGN_OR_RETURN(out.plan, plan_using(phase, terms, used, nullptr));
  cancel_unchosen(phase, parsed.planned, choices, out.plan);
  mark_chosen(phase, parsed.planned, out.plan);
  out.deferred = false;
  return out;
}

}  // namespace locus
