// Checks between items: priors with each other, with the model, with the dataset's layout.
#include <algorithm>
#include <type_traits>

#include "core/catalog/constraint.h"
#include "core/catalog/facts.h"
#include "core/experiment/plan/refusals.h"
#include "core/experiment/plan/resolver.h"

namespace locus {
namespace {

template <class Value>
bool has(const std::vector<Value>& list, const std::type_identity_t<Value>& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

absl::Status conflict(std::string message, const std::string& field, const std::string& a, const std::string& b) {
  return refuse(ErrorReason::kConflictingPriors, std::move(message), field, {{"left", a}, {"right", b}});
}

constexpr char kLabelTarget[] = "label";  // what samples bring and tasks learn from where the catalog does not say

// "mask, depth"; "nothing" of none.
std::string listed_words(const Json& words) {
  std::string out;
  for (const Json& word : words) out += (out.empty() ? "" : ", ") + word.get<std::string>();
  return out.empty() ? "nothing" : out;
}

// What of `excludes` shuts `b` out: its id or a tag it provides.
std::string excluded_by(const std::vector<std::string>& excludes, const CatalogItem& b) {
  for (const std::string& name : excludes) {
    if (name == b.id || has(b.provides, name)) return name;
  }
  return "";
}

// What `options` of `a` shut out.
absl::Status check_conditional(const ResolvedPrior& a, const Json& options, const ResolvedPrior& b,
                               const std::string& field) {
  for (const ConditionalExclusion& exclusion : a.item->exclusions) {
    if (!holds(exclusion.when, *a.item, options)) continue;
    const std::string tag = excluded_by(exclusion.excludes, *b.item);
    if (tag.empty()) continue;
    const std::string setting = exclusion.when.option.empty() ? "" : " with this " + exclusion.when.option;
    return conflict("the prior '" + a.item->id + "'" + setting + " cannot be combined with '" + b.item->id +
                        "', which provides '" + tag + "'" + (exclusion.help.empty() ? "" : ": " + exclusion.help) +
                        "; take one out or set " + exclusion.when.option + " otherwise",
                    field, a.item->id, b.item->id);
  }
  return absl::OkStatus();
}

absl::Status check_pair(const CatalogItem& a, const CatalogItem& b, const std::string& field) {
  for (const auto& [first, second] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    const std::string tag = excluded_by(first->excludes, *second);
    if (tag.empty()) continue;
    const std::string because = tag == second->id ? "" : ", which provides '" + tag + "'";
    return conflict(
        "the prior '" + first->id + "' cannot be combined with '" + second->id + "'" + because + "; take one out",
        field, a.id, b.id);
  }
  if (has(a.hooks, "pattern") && has(b.hooks, "pattern")) {
    return conflict("the priors '" + a.id + "' and '" + b.id + "' both set the attention pattern; keep one", field,
                    a.id, b.id);
  }
  return absl::OkStatus();
}

// Of two that act in the same stage of the backbone.
absl::Status check_in_stages(const ResolvedPrior& a, const ResolvedPrior& b, const std::string& field) {
  const std::size_t listed = std::max<std::size_t>({a.stages.options.size(), b.stages.options.size(), 1});
  for (std::size_t s = 0; s < listed; ++s) {
    const Json *of_a = a.options_in(s), *of_b = b.options_in(s);
    if (of_a == nullptr || of_b == nullptr) continue;
    LOCUS_RETURN_IF_ERROR(check_pair(*a.item, *b.item, field));
    LOCUS_RETURN_IF_ERROR(check_conditional(a, *of_a, b, field));
    LOCUS_RETURN_IF_ERROR(check_conditional(b, *of_b, a, field));
  }
  return absl::OkStatus();
}

}  // namespace

const Json* ResolvedPrior::options_in(std::size_t stage) const {
  if (stage >= stages.options.size()) return &resolved;
  return stages.options[stage] ? &*stages.options[stage] : nullptr;
}

ModelImages model_images(const ResolvedSection& dataset, const std::vector<const ResolvedSection*>& sections) {
  ModelImages out;
  out.extent = dataset_extent(*dataset.item, dataset.resolved);
  out.channels = dataset.item->facts.value("channels", Json());
  for (const ResolvedSection* section : sections) {
    if (section == nullptr || section == &dataset) continue;
    Json given = given_extent(*section->item, section->resolved);
    if (given.is_null()) continue;
    out.extent = std::move(given);
    out.resized = section;
  }
  return out;
}

// Whether some pairs of a window are hidden, 1 or 0, in the stage or in each; nothing where the backbone does not say
// (costs.masked).
static std::vector<double> masked_stages(const ResolvedSection& model, const ModelImages& images,
                                         std::optional<std::size_t> stage) {
  const std::size_t stages = backbone_stages(*model.item, model.resolved);
  const Formulas formulas = formulas_of(model, images);
  std::vector<double> out;
  for (std::size_t s = stage.value_or(0); s < (stage ? *stage + 1 : stages); ++s) {
    if (const auto masked = formulas.formula("masked", s)) out.push_back(*masked);
  }
  return out;
}

std::map<std::string, std::vector<double>> derived_numbers(const ResolvedSection& model, const ModelImages& images,
                                                           std::optional<std::size_t> stage) {
  NamedNumbers numbers = numbers_of(model.resolved);
  // What options that list a number for each stage give the names that rules speak of.
  const Json stages = model.item->facts.value("stages", Json());
  const Json each = stages.is_object() ? stages.value("each", Json::object()) : Json::object();
  for (const auto& [name, option] : each.items()) {
    const auto list = numbers.find(option.is_string() ? option.get<std::string>() : "");
    if (list == numbers.end()) continue;
    const std::vector<double> all = list->second;
    if (!stage) numbers[name] = all;
    if (stage && *stage < all.size()) numbers[name] = {all[*stage]};
  }
  const auto dim = numbers.find("dim"), heads = numbers.find("heads");
  const bool both = dim != numbers.end() && heads != numbers.end();
  if (both && dim->second.size() == heads->second.size() && !has(heads->second, 0)) {
    std::vector<double> widths = dim->second;
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] /= heads->second[i];
    numbers["head_width"] = std::move(widths);
  }
  // Class and register tokens: numbers of options, and one for each option at a certain value.
  const Json prefix = model.item->facts.value("prefix_tokens", Json());
  if (prefix.is_array()) {
    double tokens = 0;
    for (const Json& part : prefix) {
      const Json value = model.resolved.value(part.value("option", ""), Json());
      if (part.contains("value")) tokens += value == part.at("value") ? 1 : 0;
      if (!part.contains("value") && value.is_number()) tokens += value.get<double>();
    }
    numbers["prefix"] = {tokens};
  }
  if (model.item->facts.value("windows", false)) numbers["windows"] = {1};
  if (const std::vector<double> masked = masked_stages(model, images, stage); !masked.empty())
    numbers["masked"] = masked;
  for (const Json& side : images.extent) numbers["extent"].push_back(side.get<double>());
  if (images.channels.is_number()) numbers["channels"] = {images.channels.get<double>()};
  numbers["resized"] = {images.resized ? 1.0 : 0.0};
  const std::size_t count = backbone_stages(*model.item, model.resolved);
  const auto blocks = numbers.find("depth");
  if (count > 1) {
    numbers["maps"] = {static_cast<double>(count)};
    numbers["last_block"] = {-1};
  } else if (blocks != numbers.end() && blocks->second.size() == 1) {
    numbers["maps"] = blocks->second;
    numbers["last_block"] = {blocks->second[0] - 1};
  }
  if (images.batch) numbers["batch"] = {*images.batch};
  numbers["condition"] = {model.item->facts.value("condition", false) ? 1.0 : 0.0};
  return numbers;
}

absl::Status check_combination(const ResolvedPriors& priors, const std::string& field) {
  for (std::size_t i = 0; i < priors.list.size(); ++i) {
    for (std::size_t j = i + 1; j < priors.list.size(); ++j) {
      const ResolvedPrior &a = priors.list[i], &b = priors.list[j];
      const std::string &one = a.item->id, &other = b.item->id;
      if (one == other)
        return conflict("the prior '" + one + "' stands twice in one combination; keep one", field, one, other);
      LOCUS_RETURN_IF_ERROR(check_in_stages(a, b, field));
      for (const CatalogItem* item : {a.item, b.item}) {
        if (!item->hooks.empty()) continue;
        return conflict("the prior '" + item->id + "' does nothing and says so; leave it out of a combination", field,
                        one, other);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status check_requirements(const CatalogItem& item, const Json& own, const ResolvedSection& model,
                                const ModelImages& images, const std::string& field, std::optional<std::size_t> stage) {
  if (item.requirements.empty()) return absl::OkStatus();
  NamedNumbers numbers = derived_numbers(model, images, stage);
  for (auto& [name, values] : numbers_of(own)) numbers[name] = values;
  // Who names the blocks has as many maps.
  if (const auto taps = numbers.find("taps"); taps != numbers.end() && !taps->second.empty()) numbers.erase("maps");
  // A resolution is the shorter side: what holds for it must hold for the longer one.
  if (const auto found = numbers.find("resolution"); found != numbers.end()) {
    const std::vector<double> shorter = found->second;
    for (const double side : shorter) {
      if (const double longer = longer_side(images.extent, side); longer != side) found->second.push_back(longer);
    }
  }
  for (const Constraint& constraint : item.requirements) {
    if (!holds(constraint.when, item, own)) continue;
    const auto why = violation(constraint, numbers);
    if (!why) continue;
    const std::string option = own.contains(constraint.left)    ? constraint.left
                               : own.contains(constraint.right) ? constraint.right
                                                                : "";
    const std::string where = stage ? " in stage " + std::to_string(*stage) : "";
    return refuse(ErrorReason::kConstraintViolated,
                  "the " + item.kind + " '" + item.id + "' cannot be used" + where + ": " + *why,
                  option.empty() ? field : field + "." + option,
                  {{"item", item.id}, {"rule", constraint.rule}, {"left", constraint.left}});
  }
  return absl::OkStatus();
}

// In every stage that the prior acts in.
static absl::Status check_stages(const ResolvedPrior& prior, const ResolvedSection& model, const ModelImages& images) {
  const std::size_t listed = prior.stages.options.size(), there = backbone_stages(*model.item, model.resolved);
  if (listed == 0) return check_requirements(*prior.item, prior.scientific, model, images, prior.field);
  if (listed != there) {
    return refuse(ErrorReason::kConstraintViolated,
                  "the prior '" + prior.item->id + "' lists " + std::to_string(listed) +
                      (listed == 1 ? " stage" : " stages") + ", but the backbone '" + model.item->id + "' has " +
                      std::to_string(there) +
                      "; give one entry for each, {} where nothing differs and null where the prior is left out",
                  prior.field + "." + kPriorStages, {{"listed", std::to_string(listed)}});
  }
  for (std::size_t s = 0; s < listed; ++s) {
    if (const Json* options = prior.options_in(s))
      LOCUS_RETURN_IF_ERROR(check_requirements(*prior.item, *options, model, images, prior.field, s));
  }
  return absl::OkStatus();
}

absl::Status check_target(const CatalogItem& task, const CatalogItem& dataset, const std::string& field) {
  const std::string wanted = task.facts.value("target", kLabelTarget);
  const Json targets = dataset.facts.value("targets", Json::array({kLabelTarget}));
  if (!targets.is_array() || has(targets.get<std::vector<Json>>(), Json(wanted))) return absl::OkStatus();
  return refuse(ErrorReason::kConstraintViolated,
                "the task '" + task.id + "' learns from a " + wanted + " of each image, and '" + dataset.id +
                    "' brings " + listed_words(targets) + "; choose another task or dataset",
                field, {{"task", task.id}, {"dataset", dataset.id}, {"target", wanted}});
}

absl::Status check_map_options(const CatalogItem& stage, const Json& options, const CatalogItem& task,
                               const std::string& field) {
  const Json names = stage.facts.value("of_maps", Json::array());
  if (task.facts.contains("target")) return absl::OkStatus();
  for (const OptionSpec& option : stage.options) {
    const bool of_maps = std::find(names.begin(), names.end(), Json(option.name)) != names.end();
    if (!of_maps || options.value(option.name, option.default_value) == option.default_value) continue;
    return refuse(ErrorReason::kConstraintViolated,
                  "the option " + option.name + " of the stage '" + stage.id +
                      "' is for tasks that make a map of each image, " + "and '" + task.id +
                      "' makes none; leave it out",
                  field + "." + option.name, {{"item", stage.id}, {"task", task.id}});
  }
  return absl::OkStatus();
}

absl::Status check_served(const CatalogItem& item, const CatalogItem& task, const std::string& field) {
  const Json tasks = item.facts.value("tasks", Json());
  if (!tasks.is_array() || has(tasks.get<std::vector<Json>>(), Json(task.id))) return absl::OkStatus();
  return refuse(ErrorReason::kConstraintViolated,
                "the " + item.kind + " '" + item.id + "' serves " + listed_words(tasks) + ", not the task '" + task.id +
                    "'; leave it out or choose another task",
                field, {{"item", item.id}, {"task", task.id}});
}

absl::Status check_images(const ModelImages& images, const ResolvedSection& dataset, const Catalog& catalog) {
  if (!images.extent.is_null() || dataset.item->facts.value("rank", Json()) != 2) return absl::OkStatus();
  for (const Section& section : catalog.sections()) {
    if (section.kind == dataset.item->kind) continue;
    for (const CatalogItem& item : catalog.items()) {
      if (item.kind != section.kind || given_extent(item, Json::object()).is_null()) continue;
      return refuse(ErrorReason::kConstraintViolated,
                    "the images of '" + dataset.item->id + "' differ in size, and a model takes images of one; write " +
                        section.key + ": " + item.id,
                    section.key, {{"dataset", dataset.item->id}, {"item", item.id}});
    }
  }
  return absl::OkStatus();
}

absl::Status check_together(const ResolvedPriors& priors, const ResolvedSection& model, const ResolvedSection& dataset,
                            const ModelImages& images) {
  const Json rank = dataset.item->facts.value("rank", Json());
  Mistakes mistakes;
  for (const ResolvedPrior& prior : priors.list) {
    const auto& ranks = prior.item->layout_ranks;
    if (rank.is_number_integer() && !ranks.empty() &&
        std::find(ranks.begin(), ranks.end(), rank.get<int>()) == ranks.end()) {
      mistakes.note(conflict("the prior '" + prior.item->id + "' does not support the layout of '" + dataset.item->id +
                                 "' (rank " + std::to_string(rank.get<int>()) + "); choose another prior or dataset",
                             prior.field, prior.item->id, dataset.item->id));
      continue;
    }
    const absl::Status met = check_stages(prior, model, images);
    mistakes.note(met.ok() ? check_refusals(prior, model, images) : met);
  }
  return mistakes.status();
}

}  // namespace locus
