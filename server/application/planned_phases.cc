// From phases to one experiment.
#include "server/application/planned_phases.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/experiment/pace.h"
#include "core/experiment/plan/search_section.h"

namespace locus::server {
namespace {

Choices choices_of(const std::vector<PlannedPhase>& phases, std::span<const std::vector<ChosenCandidate>> chosen) {
  Choices out;
  for (std::size_t i = 0; i < phases.size() && i < chosen.size(); ++i) {
    if (!phases[i].choose || chosen[i].empty()) continue;
    auto& of_phase = out[phases[i].name];
    for (const ChosenCandidate& one : chosen[i]) {
      const Json values = one.candidate.empty() ? Json() : Json::parse(one.candidate, nullptr, false);
      if (!values.is_object() || values.empty()) continue;
      for (const auto& [path, value] : values.items()) of_phase[one.group][path] = value;
    }
  }
  return out;
}

bool all_chosen(const PlannedPhase& phase, const std::vector<PlannedPhase>& phases, const Choices& choices) {
  return std::all_of(phase.use.begin(), phase.use.end(),
                     [&](const PhaseUse& use) { return choices.contains(phases[use.phase].name); });
}

// Cells and trials of all phases in a row.
void join(PlannedExperiment& out, const std::string& spec_json) {
  out.whole = out.phases.front().plan;
  out.whole.spec_json = spec_json;
  out.whole.cells.clear();
  out.whole.trials.clear();
  out.whole.warnings.clear();
  std::set<std::string> warned;
  for (const PlannedPhase& phase : out.phases) {
    const auto first = static_cast<std::int64_t>(out.whole.cells.size());
    out.first_cell.push_back(out.whole.cells.size());
    out.first_trial.push_back(out.whole.trials.size());
    for (PlannedCell cell : phase.plan.cells) {
      if (out.phases.size() > 1) cell.row_key = phase_row_key(cell.row_key, phase.name);
      out.whole.cells.push_back(std::move(cell));
    }
    for (PlannedTrial trial : phase.plan.trials) {
      trial.cell += first;
      out.whole.trials.push_back(std::move(trial));
    }
    for (const std::string& warning : phase.plan.warnings) {
      if (warned.insert(warning).second) out.whole.warnings.push_back(warning);
    }
  }
  if (out.phases.size() > 1) out.whole.search.reset();
}

// How long a training is.
struct Length {
  double steps_per_epoch = 0, validate_every = 0;
  std::int64_t last_step = 0;
};

Length length_of(const PlannedStage& training, const Catalog& catalog) {
  Length out;
  Paces paces(catalog, {});
  const auto steps = paces.amount(training.kind, training.config_json);
  const Json config = Json::parse(training.config_json, nullptr, /*allow_exceptions=*/false);
  const Json recipe = config.is_object() ? config.value("recipe", Json::object()) : Json::object();
  const CatalogItem* item = catalog.find("recipe", recipe.value("id", std::string()));
  if (!steps || item == nullptr) return out;
  const auto options = catalog.resolve(*item, recipe.value("options", Json::object()), "");
  if (!options.ok()) return out;
  const double epochs = options->value("epochs", 0.0);
  out.last_step = static_cast<std::int64_t>(*steps);
  if (epochs > 0) out.steps_per_epoch = *steps / epochs;
  out.validate_every = options->value("validate_every", 0.0);
  return out;
}

void count_steps(const Length& length, SearchSetup& out) {
  out.steps_per_epoch = length.steps_per_epoch;
  out.last_step = length.last_step;
  out.validate_every = length.validate_every;
}

// A unit to be, with what sorts it.
struct PhaseDraft {
  SearchUnitRow row;
  std::int64_t seed_place = 0;
  const PlannedStage* training = nullptr;
  std::size_t cell = 0;  // of the phase
};

// Trials of each cell of the phase, in the order of the seeds; those without stages are left out.
std::vector<std::vector<const PlannedTrial*>> trials_by_cell(const ExperimentPlan& plan) {
  std::vector<std::vector<const PlannedTrial*>> out(plan.cells.size());
  for (const PlannedTrial& trial : plan.trials) {
    if (!trial.stages.empty()) out[static_cast<std::size_t>(trial.cell)].push_back(&trial);
  }
  return out;
}

// Puts the trials of a later rung, which trains anew, to the unit of its first.
void add_rungs(std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t>& known,
               const std::vector<std::pair<std::int64_t, SearchUnitRow>>& later, std::vector<PhaseDraft>& drafts,
               const std::vector<std::int64_t>& seed_places) {
  for (std::size_t i = 0; i < later.size(); ++i) {
    const auto& [rung, row] = later[i];
    const auto first = known.find({row.group, row.proposal, seed_places[i]});
    if (first == known.end()) continue;
    auto& rungs = drafts[first->second].row.later_rungs;
    if (std::ssize(rungs) < rung) rungs.resize(static_cast<std::size_t>(rung));
    rungs[static_cast<std::size_t>(rung - 1)] = row.trials;
  }
}

std::vector<PhaseDraft> draft_units(const PlannedExperiment& planned, std::size_t place, const StoredPlaces& stored) {
  const ExperimentPlan& plan = planned.phases[place].plan;
  const bool by_trial = plan.search && plan.search->search.advance.unit == SearchUnit::kTrial;
  const auto trials = trials_by_cell(plan);
  std::vector<PhaseDraft> out;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> known;  // group, proposal, seed's place
  std::vector<std::pair<std::int64_t, SearchUnitRow>> later;
  std::vector<std::int64_t> later_seeds;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const auto cell = stored.cells.find(planned.whole.cells[planned.first_cell[place] + i].row_key);
    if (cell == stored.cells.end() || trials[i].empty()) continue;
    const SearchPlace& where = plan.cells[i].search;
    SearchUnitRow row;
    row.group = std::max<std::int64_t>(0, where.group);
    row.proposal = where.proposal >= 0 ? where.proposal : static_cast<std::int64_t>(i);
    row.cell = cell->second;
    std::vector<SearchUnitRow> rows;
    for (const PlannedTrial* trial : trials[i]) {
      const auto ordinal = stored.trials.find({cell->second, trial->seed});
      if (ordinal == stored.trials.end()) continue;
      if (rows.empty() || by_trial) rows.push_back(row);
      rows.back().trials.push_back(ordinal->second);
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const auto seed = static_cast<std::int64_t>(k);
      if (where.rung > 0) {
        later.emplace_back(where.rung, std::move(rows[k]));
        later_seeds.push_back(seed);
        continue;
      }
      known[{row.group, row.proposal, seed}] = out.size();
      out.push_back({std::move(rows[k]), seed, &trials[i].front()->stages.front(), i});
    }
  }
  add_rungs(known, later, out, later_seeds);
  std::stable_sort(out.begin(), out.end(), [](const PhaseDraft& a, const PhaseDraft& b) {
    return std::tie(a.row.proposal, a.row.group, a.seed_place) < std::tie(b.row.proposal, b.row.group, b.seed_place);
  });
  return out;
}

SearchChoiceTerms choice_terms(const PlannedPhase& phase, const std::vector<PhaseDraft>& units) {
  SearchChoiceTerms out;
  out.by = to_string(phase.choose->by);
  out.at_least = phase.choose->at_least;
  std::map<std::string, std::map<std::string, std::vector<std::int64_t>>> by_group;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const PlannedCell& cell = phase.plan.cells[units[i].cell];
    by_group[assignment_at(cell, phase.choose->per)][assignment_at(cell, phase.choose->factors)].push_back(
        static_cast<std::int64_t>(i));
  }
  for (const std::string& group : phase.groups) {
    SearchChoiceGroup& one = out.groups.emplace_back();
    one.assignment = group;
    for (const std::string& candidate : phase.candidates) {
      const auto found = by_group[group].find(candidate);
      if (found != by_group[group].end()) one.candidates.push_back({candidate, found->second});
    }
  }
  return out;
}

// The phases, those that use a choice with it where it is made.
absl::StatusOr<std::vector<PlannedPhase>> plan_phases(const Json& specification, const Catalog& catalog,
                                                      std::span<const std::vector<ChosenCandidate>> choices,
                                                      const PhaseProposals& proposed, std::string* spec_json) {
  LOCUS_ASSIGN_OR_RETURN(ProtocolPlan protocol, plan_protocol(specification, catalog, proposed));
  *spec_json = std::move(protocol.spec_json);
  std::vector<PlannedPhase> out = std::move(protocol.phases);
  const Choices made = choices_of(out, choices);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].deferred || !all_chosen(out[i], out, made)) continue;
    LOCUS_ASSIGN_OR_RETURN(out[i], plan_phase(specification, catalog, i, made, proposed));
  }
  return out;
}

}  // namespace

absl::StatusOr<PlannedExperiment> plan_whole(const Json& specification, const Catalog& catalog,
                                             std::span<const std::vector<ChosenCandidate>> choices,
                                             const PhaseProposals& proposed) {
  PlannedExperiment out;
  std::string spec_json;
  LOCUS_ASSIGN_OR_RETURN(out.phases, plan_phases(specification, catalog, choices, proposed, &spec_json));
  if (!proposed.empty()) {  // epochs and steps are counted as before the first proposal, whatever was proposed
    LOCUS_ASSIGN_OR_RETURN(const auto before, plan_phases(specification, catalog, choices, {}, &spec_json));
    for (std::size_t i = 0; i < out.phases.size(); ++i) {
      if (out.phases[i].plan.search) out.phases[i].plan.search->training = before[i].plan.search->training;
    }
  }
  const bool phased = out.phases.size() > 1 || !out.phases.front().name.empty();
  for (const PlannedPhase& phase : out.phases)
    out.searched = out.searched || phased || (phase.plan.search && phase.plan.search->search.decides());
  join(out, spec_json);
  return out;
}

absl::StatusOr<PlannedExperiment> plan_stored(const Json& specification, const Catalog& catalog,
                                              std::span<const std::vector<ChosenCandidate>> choices,
                                              std::span<const CellRow> cells) {
  LOCUS_ASSIGN_OR_RETURN(PlannedExperiment planned, plan_whole(specification, catalog, choices));
  const PhaseProposals proposed = proposed_of(planned.phases, cells);
  if (proposed.empty()) return planned;
  return plan_whole(specification, catalog, choices, proposed);
}

SearchSetup phase_setup(const PlannedExperiment& planned, std::size_t phase, const StoredPlaces& stored,
                        const Catalog& catalog) {
  const PlannedPhase& of = planned.phases[phase];
  SearchSetup out;
  out.phase = of.name;
  out.phases = static_cast<std::int64_t>(planned.phases.size());
  if (of.plan.search) {
    out.search = of.plan.search->search;
    out.groups = of.plan.search->groups;
  }
  if (out.groups.empty()) out.groups = {"{}"};
  out.metric = of.plan.metric.name;
  out.split = of.plan.metric.selects_on;
  out.reduce = of.plan.metric.reduce;
  out.maximize = of.plan.metric.direction != "min";
  std::vector<PhaseDraft> drafts = draft_units(planned, phase, stored);
  std::map<std::string, Length> lengths;  // by configuration
  const bool theirs = of.plan.search && out.search.proposer == Proposer::kExternal;
  if (theirs) count_steps(length_of(of.plan.search->training, catalog), out);
  for (PhaseDraft& draft : drafts) {
    const auto [length, fresh] = lengths.try_emplace(draft.training->config_json);
    if (fresh) length->second = length_of(*draft.training, catalog);
    const Length& own = length->second;
    if (&draft == drafts.data() && !theirs) {
      count_steps(own, out);
    } else if (own.steps_per_epoch != out.steps_per_epoch || own.last_step != out.last_step) {
      draft.row.steps_per_epoch = own.steps_per_epoch;
      draft.row.last_step = own.last_step;
    }
    out.units.push_back(draft.row);
  }
  if (of.choose) out.choose = choice_terms(of, drafts);
  return out;
}

}  // namespace locus::server
