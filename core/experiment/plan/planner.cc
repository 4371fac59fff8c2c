// Plans an experiment: parse, expand, resolve every cell, identify every stage.
#include "core/experiment/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/catalog/facts.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/bounds.h"
#include "core/experiment/plan/changed.h"
#include "core/experiment/plan/configure.h"
#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/expansion.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/hints.h"
#include "core/experiment/plan/identity.h"
#include "core/experiment/plan/labels.h"
#include "core/experiment/plan/matched.h"
#include "core/experiment/plan/remarks.h"
#include "core/experiment/plan/resolver.h"
#include "core/experiment/plan/search_plan.h"
#include "core/experiment/plan/search_section.h"
#include "core/experiment/plan/specification.h"

namespace locus {
namespace {

// What stands in the assignment beside the paths in `without`: cells equal in it are compared with each
// other.
std::string remaining(const CellDraft& cell, const Values& values, const std::set<std::string>& without) {
  std::string out;
  for (const auto& [path, setting] : cell.assignment) {
    if (!without.contains(std::string(path))) out.append(path).append("=").append(values.of(setting).key).append("\n");
  }
  return out;
}

void add_cells(const Specification& spec, const std::vector<CellDraft>& drafts, const Values& values,
               Resolver& resolver, ExperimentPlan& plan) {
  std::set<std::string> compared = {"prior"};
  if (spec.baseline) {
    compared.clear();
    for (const auto& [path, setting] : *spec.baseline) compared.insert(path);
  }
  const CellLabels labels(drafts, spec, values, resolver);
  std::map<std::string, std::int64_t> groups;
  std::set<std::int64_t> with_baseline;
  for (const CellDraft& draft : drafts) {
    PlannedCell cell;
    Json assignment = Json::object();
    for (const auto& [path, setting] : draft.assignment) assignment[std::string(path)] = values.of(setting).assignment;
    cell.row_key = cell.assignment_json = canonical_json(assignment);
    cell.label = labels.label(draft);
    cell.baseline = draft.baseline;
    const auto next = static_cast<std::int64_t>(groups.size());
    cell.pair_group = groups.emplace(remaining(draft, values, compared), next).first->second;
    if (cell.baseline) with_baseline.insert(cell.pair_group);
    plan.cells.push_back(std::move(cell));
  }
  plan.has_baseline = spec.baseline.has_value();
  if (plan.has_baseline && with_baseline.size() < groups.size()) {
    plan.warnings.push_back(std::to_string(groups.size() - with_baseline.size()) + " of " +
                            std::to_string(groups.size()) +
                            " comparison groups have no baseline cell; their rows get no paired difference");
  }
}

// What every value of a factor is called, and what holds where a path is no factor.
absl::Status add_values(const Specification& spec, const std::vector<CellDraft>& drafts, const Values& values,
                        const Configuration& first, Resolver& resolver, ExperimentPlan& plan) {
  const CellLabels labels(drafts, spec, values, resolver);
  for (const std::string& path : values.factors()) {
    std::set<std::string> known;
    for (const Setting* setting : values.values(path)) {
      const NormalValue& normal = values.of(setting);
      if (!known.insert(canonical_json(normal.assignment)).second) continue;
      plan.values[path].push_back({canonical_json(normal.assignment), normal.key, labels.value(path, *setting)});
    }
  }
  for (const auto& [path, value] : effective_values(first, *spec.sections)) {
    if (plan.values.contains(path)) continue;
    const Json json = Json::parse(value);
    plan.settings[path] = {value, value, json.is_string() ? json.get<std::string>() : value};
  }
  // Items are written as a specification writes them, not as they resolve.
  Effective settings = effective_settings(spec, drafts.front(), resolver);
  add_defaults_of(*first.dataset()->item, resolver, settings);
  for (const auto& [path, setting] : settings) {
    const auto found = plan.settings.find(std::string(path));
    if (found == plan.settings.end()) continue;
    LOCUS_ASSIGN_OR_RETURN(const NormalValue normal, resolver.normal(found->first, *setting));
    found->second = {canonical_json(normal.assignment), normal.key,
                     setting->label.empty() ? normal.text : setting->label};
  }
  plan.compared = {"prior"};
  if (!spec.baseline) return absl::OkStatus();
  plan.compared.clear();
  for (const auto& [path, setting] : *spec.baseline) plan.compared.push_back(path);
  return absl::OkStatus();
}

void warn_of_overridden(const Specification& spec, ExperimentPlan& plan) {
  for (const std::string& path : plan.factors) {
    if (!spec.fixed.contains(path)) continue;
    plan.warnings.push_back(path +
                            " is fixed and varied; the matrix decides, the fixed value serves only cells without it");
  }
}

void warn_of_unfilled(const std::vector<Configuration>& configurations, std::vector<std::string>& warnings) {
  std::set<std::pair<const ResolvedSection*, const ResolvedSection*>> seen;
  for (const Configuration& cell : configurations) {
    if (!seen.emplace(cell.dataset(), cell.recipe()).second) continue;
    for (std::string& one : unfilled(cell)) {
      if (std::find(warnings.begin(), warnings.end(), one) == warnings.end()) warnings.push_back(std::move(one));
    }
  }
}

void warn_of_equal_cells(const ExperimentPlan& plan, std::vector<std::string>& warnings) {
  std::map<std::string, std::int64_t> seen;
  for (const PlannedTrial& trial : plan.trials) {
    const auto [at, fresh] = seen.emplace(trial.stages.front().identity, trial.cell);
    if (fresh || at->second == trial.cell) continue;
    warnings.push_back("'" + plan.cells[at->second].label + "' and '" + plan.cells[trial.cell].label +
                       "' are the same training; it runs once and serves both rows");
    return;
  }
}

// Who trains a cell: the training of its own whose items it has, else the trainer of this tree. As environments name it.
std::string program_of(const Configuration& cell) {
  std::vector<const CatalogItem*> items;
  for (const ResolvedSection* section : cell.sections) items.push_back(section->item);
  for (const ResolvedPrior& prior : cell.priors->list) items.push_back(prior.item);
  for (const CatalogItem* item : items) {
    if (item != nullptr && item->origin.by == kTrainingOrigin) return item->origin.name;
  }
  return "locus";
}

void warn_of_two_programs(const std::vector<Configuration>& configurations, std::vector<std::string>& warnings) {
  std::set<std::string> programs;
  for (const Configuration& cell : configurations) programs.insert(program_of(cell));
  if (programs.size() < 2) return;
  std::string names;
  for (const std::string& one : programs) names += (names.empty() ? "" : ", ") + one;
  warnings.push_back("cells are trained by different programs (" + names +
                     "): tables flag them mixed-engine and mark no difference between them");
}

// Of the images that the cells' models are given, canonical.
std::set<std::string> native_resolutions(const std::vector<Configuration>& cells) {
  std::set<std::pair<const ResolvedSection*, const ResolvedSection*>> seen;
  std::set<std::string> out;
  for (const Configuration& cell : cells) {
    if (!seen.emplace(cell.dataset(), cell.images.resized).second) continue;
    if (const Json own = native_resolution(cell.images.extent); !own.is_null()) out.insert(canonical_json(own));
  }
  return out;
}

// The datasets and tasks of the cells, each once.
void name_items(const std::vector<Configuration>& cells, ExperimentPlan& plan) {
  const auto names = [&cells](SectionPlace section) {
    std::vector<std::string> ids;
    std::string out;
    for (const Configuration& cell : cells) {
      const std::string& id = cell.sections[section]->item->id;
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
      ids.push_back(id);
      out += (out.empty() ? "" : ", ") + id;
    }
    return out;
  };
  plan.dataset = names(kDatasetSection);
  plan.task = names(kTaskSection);
}

struct Expanded {
  std::vector<CellDraft> drafts;
  Configured configured;
  SearchCells search;  // where there is one
};

// Every mistake there is, or the cells with their configurations.
std::optional<Expanded> expand_and_configure(Specification& spec, Resolver& resolver, Values& values,
                                             Mistakes& mistakes) {
  add_proposals(spec, resolver);
  values = Values::make(spec, resolver, mistakes);
  check_assignments(spec, values, resolver, mistakes);
  if (mistakes.none()) mistakes.note(check_trial_count(spec));
  Expanded out;
  if (mistakes.none()) {
    if (auto drafts = mistakes.value(expand(spec, values, resolver))) out.drafts = *std::move(drafts);
  }
  const bool surveyed = out.drafts.empty();
  if (surveyed) out.drafts = survey(spec, values);
  auto configured = configure(spec, out.drafts, surveyed, resolver, mistakes);
  if (!configured) return std::nullopt;
  out.configured = *std::move(configured);
  if (spec.judges) check_judged_split(out.configured, mistakes);
  if (!mistakes.none()) return std::nullopt;
  if (!spec.search) return out;
  out.search = search_cells(spec, out.drafts, values);
  check_search(spec, out.search, out.configured, mistakes);
  if (!mistakes.none()) return std::nullopt;
  return out;
}

void add_search(const Specification& spec, const Expanded& expanded, ExperimentPlan& plan) {
  for (std::size_t i = 0; i < plan.cells.size(); ++i) plan.cells[i].search = expanded.search.places[i];
  plan.search = plan_search(spec, expanded.search, expanded.configured);
  for (std::string& one : remarks_on(*plan.search, expanded.configured)) plan.warnings.push_back(std::move(one));
}

int place_of_prior(const Configuration& cell, const Catalog& catalog) {
  int place = 0;
  for (const CatalogItem& item : catalog.items()) {
    if (item.kind != "prior") continue;
    if (!cell.priors->list.empty() && cell.priors->list.back().item == &item) return place;
    ++place;
  }
  return 0;
}

// The values of each cell in the order of the space.
void take_proposed(const ProposedCells& proposed, Specification& spec, Mistakes& mistakes) {
  if (!spec.search || !spec.search->whole) return;
  const Search& search = spec.search->search;
  if (search.proposer != Proposer::kExternal) {
    mistakes.note(invalid_search("the search proposes by itself; write propose: external to take proposals of a client",
                                 "search.propose"));
    return;
  }
  std::vector<std::string> paths;
  for (const Dimension& dimension : search.space) paths.push_back(dimension.path);
  for (std::size_t i = 0; i < proposed.size(); ++i) {
    const std::string cell = indexed("cells", i);
    for (const auto& [path, value] : proposed[i]) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end())
        mistakes.note(unknown_key(path, paths, "the space", cell + "." + path));
    }
    std::vector<Json> values;
    for (const Dimension& dimension : search.space) {
      const std::string field = cell + "." + dimension.path;
      const auto found = proposed[i].find(dimension.path);
      if (found == proposed[i].end()) {
        mistakes.note(refuse(ErrorReason::kMissingKey, field + " is missing; give a value of every path of the space",
                             field, {{"key", dimension.path}}));
      } else if (const auto wrong = outside(dimension, found->second)) {
        mistakes.note(refuse(ErrorReason::kOptionOutOfRange, field + " lies outside the space: " + *wrong, field));
      } else {
        values.push_back(found->second);
      }
    }
    spec.search->given.push_back(std::move(values));
  }
}

}  // namespace

absl::StatusOr<ExperimentPlan> plan_changed(const Json& specification, const Catalog& catalog,
                                            const SpecificationChange& change) {
  Mistakes mistakes;
  Resolver resolver(catalog);
  Values values;
  std::optional<Specification> parsed = parse_specification(specification, catalog.sections(), mistakes);
  if (!parsed) return mistakes.status();
  change(*parsed, mistakes);
  const auto expanded = expand_and_configure(*parsed, resolver, values, mistakes);
  if (!expanded) return each_of(mistakes.status(), [&](const absl::Status& one) { return with_place(one, catalog); });
  const Specification& spec = *parsed;
  const std::vector<CellDraft>& drafts = expanded->drafts;
  const std::vector<Configuration>& configurations = expanded->configured.cells;
  const std::vector<ResolvedStage>& stages = expanded->configured.stages;

  ExperimentPlan plan;
  plan.name = spec.name;
  plan.owner = spec.owner;
  plan.description = spec.description;
  plan.priority = spec.priority;
  plan.service_class = spec.service_class;
  plan.placement = spec.placement;
  plan.stage_seconds = spec.stage_seconds;
  plan.seeds = spec.seeds;
  plan.factors = values.factors();
  plan.metric = expanded->configured.metric;
  plan.warnings = expanded->configured.warnings;
  try {
    plan.spec_json = canonical_json(specification);
  } catch (const std::invalid_argument& error) {
    return refuse(ErrorReason::kInvalidSpecification,
                  std::string("the specification has no canonical form: ") + error.what(), "");
  }
  name_items(configurations, plan);
  const ResolvedSection &dataset = *configurations.front().dataset(), &recipe = *configurations.front().recipe();
  if (std::string warning = partial_validation(plan.metric, stages, recipe, dataset); !warning.empty())
    plan.warnings.push_back(std::move(warning));
  plan.evaluation_labels = evaluation_labels(stages, plan.metric, dataset, configurations.front().images);
  if (std::string warning = partial_report(plan.metric, plan.evaluation_labels, dataset); !warning.empty())
    plan.warnings.push_back(std::move(warning));
  std::set<const ResolvedSection*> datasets;
  for (const Configuration& one : configurations) datasets.insert(one.dataset());
  plan.labels = planned_labels(stages, datasets, native_resolutions(configurations));
  add_cells(spec, drafts, values, resolver, plan);
  std::vector<std::string> labels;
  for (const PlannedCell& cell : plan.cells) labels.push_back(cell.label);
  LOCUS_RETURN_IF_ERROR(add_values(spec, drafts, values, configurations.front(), resolver, plan));
  if (spec.search) add_search(spec, *expanded, plan);
  plan.matched_except = spec.matched;
  LOCUS_RETURN_IF_ERROR(prove_matched(spec, drafts, configurations, labels));
  plan.matched = describe_difference(drafts, values, configurations);
  for (std::size_t cell = 0; cell < configurations.size(); ++cell) {
    plan.cells[cell].prior = place_of_prior(configurations[cell], catalog);
    const CellCost& cost = plan.cells[cell].cost = expanded->configured.costs[cell];
    const auto requirements = requirements_of(configurations[cell], catalog.sections(), stages,
                                              std::llround(std::max(cost.memory_bytes, 0.0)));
    for (const std::int64_t seed : spec.seeds) {
      plan.trials.push_back({static_cast<std::int64_t>(cell), seed,
                             identify(configurations[cell], catalog.sections(), stages, requirements, seed)});
    }
  }
  warn_of_overridden(spec, plan);
  warn_of_unfilled(configurations, plan.warnings);
  for (std::string& warning : unreached(configurations, stages)) plan.warnings.push_back(std::move(warning));
  warn_of_equal_cells(plan, plan.warnings);
  warn_of_two_programs(configurations, plan.warnings);
  const bool awaited = plan.search && plan.search->search.proposer == Proposer::kExternal && spec.search->given.empty();
  if (plan.search && !plan.trials.empty()) plan.search->training = plan.trials.front().stages.front();
  if (awaited) plan.cells.clear(), plan.trials.clear();  // they stood for what is to come
  return plan;
}

absl::StatusOr<ExperimentPlan> plan_experiment(const Json& specification, const Catalog& catalog) {
  return plan_changed(specification, catalog, [](Specification&, Mistakes&) {});
}

void take_proposals(const ProposedCells& proposed, Specification& spec, Mistakes& mistakes) {
  if (!proposed.empty()) take_proposed(proposed, spec, mistakes);
  if (!mistakes.none() && spec.search) spec.search->whole = false;
}

absl::StatusOr<ExperimentPlan> plan_proposed(const Json& specification, const Catalog& catalog,
                                             const ProposedCells& proposed) {
  return plan_changed(specification, catalog,
                      [&](Specification& spec, Mistakes& mistakes) { take_proposals(proposed, spec, mistakes); });
}

}  // namespace locus
