// The metric contract, and the stages it asks for.
#include "core/experiment/plan/contract.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/catalog/facts.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/bounds.h"
#include "core/experiment/reduction.h"

namespace locus {
namespace {

constexpr char kTest[] = "test", kValidation[] = "validation";
constexpr char kCheckpoint[] = "checkpoint", kBest[] = "best";  // an evaluation's choice of model
constexpr char kResolution[] = "resolution", kView[] = "view", kWholeView[] = "whole";
constexpr char kKeepBest[] = "keep_best";  // the training's counterpart

// A training stage measures on what it may see; everything else is a later stage's to measure.
bool measured_by_training(const std::string& split) { return split == "train" || split == kValidation; }

absl::StatusOr<std::string> one_of(const std::optional<std::string>& given, const std::string& otherwise,
                                   std::vector<std::string> choices, const std::string& field) {
  OptionSpec rule;
  rule.name = field, rule.type = "string", rule.choices = std::move(choices);
  LOCUS_ASSIGN_OR_RETURN(const Json value, check_option(rule, given.value_or(otherwise), field));
  return value.get<std::string>();
}

const Json* metric_of_task(const CatalogItem& task, const std::string& name) {
  const auto metrics = task.facts.find("metrics");
  if (metrics == task.facts.end() || !metrics->is_array()) return nullptr;
  for (const Json& metric : *metrics) {
    if (metric.value("name", "") == name) return &metric;
  }
  return nullptr;
}

absl::Status unknown_metric(const CatalogItem& task, const std::string& name) {
  std::vector<std::string> known;
  std::string list;
  for (const Json& metric : task.facts.value("metrics", Json::array())) {
    known.push_back(metric.value("name", ""));
    list += (list.empty() ? "" : ", ") + known.back();
  }
  const auto nearest = nearest_name(name, known);
  return refuse(ErrorReason::kUnknownItem,
                "the task '" + task.id + "' has no metric '" + name + "'" +
                    (nearest ? "; did you mean '" + *nearest + "'? (known: " + list + ")" : "; choose one of: " + list),
                "metric.name", {{"metric", name}});
}

bool reports_best_model(const MetricContract& metric) { return metric.reports == kTest && metric.reduce == kBest; }

bool reads_best_model(const ResolvedStage& stage) { return stage.resolved.value(kCheckpoint, "") == kBest; }

// Whether the contract's number comes from this stage.
bool measures(const ResolvedStage& stage, const MetricContract& metric) {
  return stage.item->kind == "stage" && stage.item->id != "train" &&
         stage.resolved.value("split", "") == metric.reports && reads_best_model(stage) == reports_best_model(metric);
}

// Under a condition an input is one only while it holds.
bool asked_for(const Json& input, const ResolvedStage& stage) {
  const Json when = input.value("when", Json::object());
  if (when.empty()) return true;
  const Json values = when.value("values", Json::array());
  const Json value = stage.resolved.value(when.value("option", ""), Json());
  return std::find(values.begin(), values.end(), value) != values.end();
}

absl::Status connect(std::vector<ResolvedStage>& stages, std::size_t index) {
  ResolvedStage& stage = stages[index];
  for (const Json& input : stage.item->facts.value("inputs", Json::array())) {
    if (!asked_for(input, stage)) continue;
    const std::string from = input.value("from", ""), slot = input.value("slot", "");
    std::size_t source = index;
    for (std::size_t i = 0; i < index; ++i) {
      if (stages[i].item->id == from) source = i;
    }
    if (source == index) {
      return refuse(ErrorReason::kInvalidSpecification,
                    "the stage " + stage.role + " needs the " + slot + " of an earlier " + from +
                        " stage, and there is none; list " + from + " before it",
                    stage.field);
    }
    stage.inputs.emplace_back(slot, source);
  }
  return absl::OkStatus();
}

absl::Status add_stage(const std::string& role, const std::string& kind, const Json& options, const std::string& field,
                       const Catalog& catalog, std::vector<ResolvedStage>& stages) {
  ResolvedStage stage;
  stage.role = role;
  stage.field = field;
  LOCUS_ASSIGN_OR_RETURN(stage.item, catalog.get("stage", kind, field));
  LOCUS_ASSIGN_OR_RETURN(stage.resolved, catalog.resolve(*stage.item, options, field));
  stage.scientific = catalog.scientific(*stage.item, stage.resolved);
  stages.push_back(std::move(stage));
  return connect(stages, stages.size() - 1);
}

// The first stage, the training, keeps its best model where a later one reads it.
absl::Status keep_best(std::vector<ResolvedStage>& stages, const MetricContract& metric, const Catalog& catalog) {
  ResolvedStage& train = stages.front();
  for (const ResolvedStage& stage : stages) {
    if (&stage == &train || !reads_best_model(stage)) continue;
    Json options = Json::object();
    options[kKeepBest] = metric.name;
    LOCUS_ASSIGN_OR_RETURN(train.resolved, catalog.resolve(*train.item, options, stage.field));
    train.scientific = catalog.scientific(*train.item, train.resolved);
    train.field = reports_best_model(metric) ? "metric.reduce" : stage.field;  // whose wish it is
    break;
  }
  return absl::OkStatus();
}

// The stage that makes the contract's number, where none that is listed does.
absl::Status add_reported(const MetricContract& metric, int evaluations, const Catalog& catalog,
                          std::vector<ResolvedStage>& stages, std::vector<std::string>& warnings) {
  const std::string role = evaluations == 0 ? "evaluate" : "evaluate-" + std::to_string(evaluations + 1);
  if (evaluations > 0) {
    warnings.push_back("no listed stage evaluates the " + std::string(reports_best_model(metric) ? "best" : "last") +
                       " model on the reported split " + metric.reports + "; a stage " + role + " was added");
  }
  LOCUS_ASSIGN_OR_RETURN(const CatalogItem* evaluate, catalog.get("stage", "evaluate", "metric.reports"));
  LOCUS_ASSIGN_OR_RETURN(const Json defaults, catalog.resolve(*evaluate, Json::object(), "stages"));
  Json options = Json::object();
  if (defaults.value("split", "") != metric.reports) options["split"] = metric.reports;
  if (reports_best_model(metric)) options[kCheckpoint] = kBest;
  return add_stage(role, "evaluate", options, reports_best_model(metric) ? "metric.reduce" : "metric.reports", catalog,
                   stages);
}

}  // namespace

absl::StatusOr<std::vector<ResolvedStage>> resolve_stages(const Specification& spec, const MetricContract& metric,
                                                          const Catalog& catalog, std::vector<std::string>& warnings) {
  std::vector<ResolvedStage> stages;
  LOCUS_RETURN_IF_ERROR(add_stage("train", "train", Json::object(), "stages", catalog, stages));
  int evaluations = 0;
  Mistakes mistakes;
  for (const StageRequest& request : spec.stages) {
    Json options = request.options;
    const CatalogItem* item = catalog.find("stage", request.kind);
    if (reports_best_model(metric) && item != nullptr && item->has_option(kCheckpoint) &&
        !options.contains(kCheckpoint))
      options[kCheckpoint] = kBest;  // what is listed scores the model that the contract reports
    mistakes.note(add_stage(request.role, request.kind, options, request.field, catalog, stages));
    evaluations += request.kind == "evaluate";
  }
  if (!mistakes.none()) return mistakes.status();
  const bool covered =
      std::any_of(stages.begin(), stages.end(), [&](const ResolvedStage& stage) { return measures(stage, metric); });
  if (!measured_by_training(metric.reports) && !covered)
    LOCUS_RETURN_IF_ERROR(add_reported(metric, evaluations, catalog, stages, warnings));
  LOCUS_RETURN_IF_ERROR(keep_best(stages, metric, catalog));
  return stages;
}

absl::StatusOr<MetricContract> resolve_metric(const MetricRequest& request, const ResolvedSection& task) {
  MetricContract out;
  Mistakes mistakes;
  out.name = request.name.value_or(task.item->facts.value("default_metric", ""));
  const Json* metric = metric_of_task(*task.item, out.name);
  if (!metric) mistakes.note(unknown_metric(*task.item, out.name));
  const std::string direction = metric ? metric->value("direction", "max") : request.direction.value_or("max");
  const auto take = [&](std::string& to, const std::optional<std::string>& given, const std::string& otherwise,
                        std::vector<std::string> choices, const char* field) {
    to = mistakes.value(one_of(given, otherwise, std::move(choices), field)).value_or(otherwise);
  };
  if (request.selects_on == kTest) {
    mistakes.note(
        refuse(ErrorReason::kOptionOutOfRange,
               "selects_on must not be test: choosing by the test split makes its numbers worthless; use validation",
               "metric.selects_on", {{"value", kTest}}));
  } else {
    take(out.selects_on, request.selects_on, kValidation, {"train", kValidation}, "metric.selects_on");
  }
  take(out.reports, request.reports, kTest, {"train", kValidation, kTest}, "metric.reports");
  take(out.direction, request.direction, direction, {"max", "min"}, "metric.direction");
  out.reduce = request.reduce.value_or("last");
  out.top_seeds = request.top_seeds;
  mistakes.note(parse_reduction(out.reduce, out.reports, "metric.reduce").status());
  if (!mistakes.none()) return mistakes.status();
  if (reports_best_model(out) && out.selects_on != kValidation) {
    return refuse(ErrorReason::kOptionOutOfRange,
                  "metric.reduce best on test is chosen on validation, and selects_on is " + out.selects_on +
                      "; write selects_on: validation, or leave it out",
                  "metric.selects_on", {{"value", out.selects_on}});
  }
  out.unit = request.unit.value_or(metric->value("unit", ""));
  if (out.direction == direction) return out;
  return refuse(ErrorReason::kInvalidSpecification,
                out.name + " is better the " + (direction == "max" ? "larger" : "smaller") +
                    " it is; direction must be " + direction + " or left out",
                "metric.direction", {{"metric", out.name}, {"direction", direction}});
}

absl::Status check_splits(const std::vector<ResolvedStage>& stages, const ResolvedSection& dataset) {
  const Json splits = dataset.item->facts.value("splits", Json::object());
  for (const ResolvedStage& stage : stages) {
    const std::string split = stage.resolved.value("split", "");
    if (!splits.contains(split) || images_of_split(*dataset.item, dataset.resolved, split) > 0) continue;
    return refuse(ErrorReason::kConstraintViolated,
                  "the stage " + stage.role + " scores the split " + split + ", but the dataset '" + dataset.item->id +
                      "' as it is specified has no " + split + " images; choose another split, or give it some",
                  stage.field);
  }
  return absl::OkStatus();
}

absl::Status check_best(const std::vector<ResolvedStage>& stages, const ResolvedSection& recipe,
                        const ResolvedSection& dataset) {
  const ResolvedStage& train = stages.front();
  if (train.resolved.value(kKeepBest, "").empty()) return absl::OkStatus();
  const auto cannot = [&](const std::string& why) {
    return refuse(ErrorReason::kConstraintViolated, "the best model is chosen on validation, but " + why, train.field);
  };
  if (dataset.item->facts.contains("splits") && images_of_split(*dataset.item, dataset.resolved, kValidation) <= 0) {
    return cannot("the dataset '" + dataset.item->id +
                  "' has no validation split; ask for the last model, or choose another dataset");
  }
  const double every = recipe.resolved.value("validate_every", 0.0), epochs = recipe.resolved.value("epochs", 0.0);
  if (every > 0 && every < epochs) return absl::OkStatus();
  return cannot("train.validate_every is " + show_json(every) + ", so only the last model is validated" +
                "; set train.validate_every to a part of an epoch (0.25) or fewer epochs than " + show_json(epochs) +
                ", or ask for the last model");
}

std::string partial_validation(const MetricContract& metric, const std::vector<ResolvedStage>& stages,
                               const ResolvedSection& recipe, const ResolvedSection& dataset) {
  const bool keeps = !stages.front().resolved.value(kKeepBest, "").empty();
  if (!keeps && (metric.reduce == "last" || metric.reports != kValidation)) return "";
  const auto images = recipe.resolved.value("validation_images", std::int64_t{0});
  const std::int64_t all = images_of_split(*dataset.item, dataset.resolved, kValidation);
  if (images <= 0 || images >= all) return "";
  return "steps are compared by the first " + std::to_string(images) + " of " + std::to_string(all) +
         " validation images, which validations during training use; set train.validation_images: 0 for all";
}

Json evaluation_labels(const std::vector<ResolvedStage>& stages, const MetricContract& metric,
                       const ResolvedSection& dataset, const ModelImages& images) {
  if (measured_by_training(metric.reports)) return Json::object();
  const Json native = native_resolution(images.extent);
  const auto labels = [&](const ResolvedStage& stage, const Json& resolution) {
    Json out = Json::object();
    if (!resolution.is_null()) out[kResolution] = resolution;
    if (const auto count = scored_images(stage, dataset); count > 0) out["images"] = count;
    const Json views = stage.resolved.value(kView, Json::array());
    if (!views.empty() && std::find(views.begin(), views.end(), kWholeView) == views.end()) out[kView] = views[0];
    return out;
  };
  for (const bool part : {false, true}) {  // a whole split is preferred to a part of one
    Json first;
    for (const ResolvedStage& stage : stages) {
      if (!measures(stage, metric) || (scored_images(stage, dataset) > 0) != part) continue;
      const Json listed = stage.resolved.value(kResolution, Json::array());
      if (listed.empty() || std::find(listed.begin(), listed.end(), native) != listed.end())
        return labels(stage, native);
      if (first.is_null()) first = labels(stage, listed[0]);
    }
    if (!first.is_null()) return first;
  }
  return Json::object();
}

std::map<std::string, std::set<std::string>> planned_labels(const std::vector<ResolvedStage>& stages,
                                                            const std::set<const ResolvedSection*>& datasets,
                                                            const std::set<std::string>& native) {
  std::map<std::string, std::set<std::string>> out;
  for (const ResolvedStage& stage : stages) {
    for (const auto& [name, value] : stage.resolved.items()) {
      if (!value.is_array()) continue;
      for (const Json& one : value) out[name].insert(canonical_json(one));
      if (value.empty() && name == kResolution) out[name].insert(native.begin(), native.end());
    }
    for (const ResolvedSection* dataset : datasets) {
      if (const auto images = scored_images(stage, *dataset); images > 0) out["images"].insert(std::to_string(images));
    }
  }
  return out;
}

}  // namespace locus
