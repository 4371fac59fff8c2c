// Plans an experiment: parse, expand, resolve every cell, identify every stage.
#include "core/experiment/plan.h"

#include <algorithm>
#include <set>

#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/expansion.h"
#include "core/experiment/plan/identity.h"
#include "core/experiment/plan/labels.h"
#include "core/experiment/plan/matched.h"
#include "core/experiment/plan/resolver.h"
#include "core/experiment/plan/specification.h"

namespace locus {
namespace {

const Settings& defaults() {
  static const Settings settings = {{"task", {"classification", "", "task"}},
                                    {"train.recipe", {"supervised", "", "train.recipe"}}};
  return settings;
}

Effective effective_settings(const Specification& spec, const CellDraft& cell) {
  Effective out;
  for (const Settings* layer : {&defaults(), &spec.fixed}) {
    for (const auto& [path, setting] : *layer) out[path] = &setting;
  }
  for (const auto& [path, setting] : cell.assignment) out[path] = setting;
  for (const Override* one : cell.overrides) {
    for (const auto& [path, setting] : one->set) out[path] = &setting;
  }
  return out;
}

absl::StatusOr<Configuration> configure(const Effective& settings, const std::vector<ResolvedStage>* stages,
                                        Resolver& resolver) {
  Configuration out;
  LOCUS_ASSIGN_OR_RETURN(out.dataset, resolver.section(kDataset, settings));
  LOCUS_ASSIGN_OR_RETURN(out.task, resolver.section(kTask, settings));
  LOCUS_ASSIGN_OR_RETURN(out.model, resolver.section(kModel, settings));
  LOCUS_ASSIGN_OR_RETURN(out.recipe, resolver.section(kTrain, settings));
  const auto prior = settings.find("prior");
  if (prior == settings.end()) {
    return refuse(ErrorReason::kMissingKey,
                  "the specification names no prior; add it as a factor, matrix: {prior: [none, "
                  "learned-absolute]}, or fixed, prior: none",
                  "prior", {{"key", "prior"}});
  }
  LOCUS_ASSIGN_OR_RETURN(out.priors, resolver.priors(*prior->second));
  LOCUS_RETURN_IF_ERROR(
      check_requirements(*out.model->item, out.model->resolved, *out.model, *out.dataset, "model"));
  LOCUS_RETURN_IF_ERROR(check_together(*out.priors, *out.model, *out.dataset));
  if (!stages) return out;
  LOCUS_RETURN_IF_ERROR(check_best(*stages, *out.recipe, *out.dataset));
  for (const ResolvedStage& stage : *stages) {
    LOCUS_RETURN_IF_ERROR(
        check_requirements(*stage.item, stage.resolved, *out.model, *out.dataset, stage.field));
  }
  return out;
}

// What stands in the assignment beside the paths in `without`: cells equal in it are compared with each
// other.
std::string remaining(const CellDraft& cell, const Values& values, const std::set<std::string>& without) {
  std::string out;
  for (const auto& [path, setting] : cell.assignment) {
    if (!without.contains(std::string(path)))
      out.append(path).append("=").append(values.of(setting).key).append("\n");
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
    for (const auto& [path, setting] : draft.assignment)
      assignment[std::string(path)] = values.of(setting).assignment;
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
      plan.values[path].push_back(
          {canonical_json(normal.assignment), normal.key, labels.value(path, *setting)});
    }
  }
  for (const auto& [path, value] : effective_values(first)) {
    if (plan.values.contains(path)) continue;
    const Json json = Json::parse(value);
    plan.settings[path] = {value, value, json.is_string() ? json.get<std::string>() : value};
  }
  // Items are written as a specification writes them, not as they resolve.
  for (const auto& [path, setting] : effective_settings(spec, drafts.front())) {
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
    plan.warnings.push_back(
        path + " is fixed and varied; the matrix decides, the fixed value serves only cells without it");
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

// Every cell's configuration, the contract and the stages that follow from them.
absl::StatusOr<std::vector<Configuration>> configure_all(const Specification& spec,
                                                         const std::vector<CellDraft>& drafts,
                                                         Resolver& resolver,
                                                         std::vector<ResolvedStage>& stages,
                                                         ExperimentPlan& plan) {
  LOCUS_ASSIGN_OR_RETURN(const Configuration first,
                         configure(effective_settings(spec, drafts.front()), nullptr, resolver));
  LOCUS_ASSIGN_OR_RETURN(plan.metric, resolve_metric(spec.metric, *first.task));
  LOCUS_ASSIGN_OR_RETURN(stages, resolve_stages(spec, plan.metric, resolver.catalog(), plan.warnings));
  std::vector<Configuration> out;
  std::vector<std::string> datasets, tasks;
  const auto note = [](std::vector<std::string>& ids, const std::string& id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const CellDraft& draft : drafts) {
    LOCUS_ASSIGN_OR_RETURN(Configuration one, configure(effective_settings(spec, draft), &stages, resolver));
    if (one.task != first.task) LOCUS_RETURN_IF_ERROR(resolve_metric(spec.metric, *one.task).status());
    note(datasets, one.dataset->item->id);
    note(tasks, one.task->item->id);
    out.push_back(one);
  }
  for (const std::string& id : datasets) plan.dataset += (plan.dataset.empty() ? "" : ", ") + id;
  for (const std::string& id : tasks) plan.task += (plan.task.empty() ? "" : ", ") + id;
  if (std::string warning = partial_validation(plan.metric, stages, *first.recipe, *first.dataset);
      !warning.empty())
    plan.warnings.push_back(std::move(warning));
  plan.evaluation_labels = evaluation_labels(stages, plan.metric, *first.dataset);
  return out;
}

}  // namespace

absl::StatusOr<ExperimentPlan> plan_experiment(const Json& specification, const Catalog& catalog) {
  LOCUS_ASSIGN_OR_RETURN(const Specification spec, parse_specification(specification));
  LOCUS_RETURN_IF_ERROR(check_trial_count(spec));
  Resolver resolver(catalog);
  LOCUS_ASSIGN_OR_RETURN(const Values values, Values::make(spec, resolver));
  LOCUS_ASSIGN_OR_RETURN(const std::vector<CellDraft> drafts, expand(spec, values, resolver));

  ExperimentPlan plan;
  plan.name = spec.name;
  plan.owner = spec.owner;
  plan.description = spec.description;
  plan.priority = spec.priority;
  plan.seeds = spec.seeds;
  plan.factors = values.factors();
  try {
    plan.spec_json = canonical_json(specification);
  } catch (const std::invalid_argument& error) {
    return refuse(ErrorReason::kInvalidSpecification,
                  std::string("the specification has no canonical form: ") + error.what(), "");
  }
  std::vector<ResolvedStage> stages;
  LOCUS_ASSIGN_OR_RETURN(const auto configurations, configure_all(spec, drafts, resolver, stages, plan));
  add_cells(spec, drafts, values, resolver, plan);
  std::vector<std::string> labels;
  for (const PlannedCell& cell : plan.cells) labels.push_back(cell.label);
  LOCUS_RETURN_IF_ERROR(add_values(spec, drafts, values, configurations.front(), resolver, plan));
  plan.matched_except = spec.matched;
  LOCUS_RETURN_IF_ERROR(prove_matched(spec, drafts, configurations, labels));
  plan.matched = describe_difference(drafts, values, configurations);
  for (std::size_t cell = 0; cell < configurations.size(); ++cell) {
    for (const std::int64_t seed : spec.seeds) {
      plan.trials.push_back(
          {static_cast<std::int64_t>(cell), seed, identify(configurations[cell], stages, seed)});
    }
  }
  warn_of_overridden(spec, plan);
  warn_of_equal_cells(plan, plan.warnings);
  return plan;
}

}  // namespace locus
