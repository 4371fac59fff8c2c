// Checks between items: priors with each other, with the model, with the dataset's layout.
#include <algorithm>
#include <set>

#include "core/catalog/constraint.h"
#include "core/catalog/facts.h"
#include "core/experiment/plan/resolver.h"

namespace locus {
namespace {

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

absl::Status conflict(std::string message, const std::string& field, const std::string& a, const std::string& b) {
  return refuse(ErrorReason::kConflictingPriors, std::move(message), field, {{"left", a}, {"right", b}});
}

// What of `excludes` shuts `b` out: its id or a tag it provides.
std::string excluded_by(const std::vector<std::string>& excludes, const CatalogItem& b) {
  for (const std::string& name : excludes) {
    if (name == b.id || has(b.provides, name)) return name;
  }
  return "";
}

// What the options of `a` shut out.
absl::Status check_conditional(const ResolvedPrior& a, const ResolvedPrior& b, const std::string& field) {
  for (const ConditionalExclusion& exclusion : a.item->exclusions) {
    if (!holds(exclusion.when, *a.item, a.given)) continue;
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
  if (a.id == b.id) {
    return conflict("the prior '" + a.id + "' stands twice in one combination; keep one", field, a.id, b.id);
  }
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
  for (const CatalogItem* item : {&a, &b}) {
    if (!item->hooks.empty()) continue;
    return conflict("the prior '" + item->id + "' does nothing and says so; leave it out of a combination", field, a.id,
                    b.id);
  }
  return absl::OkStatus();
}

}  // namespace

std::map<std::string, std::vector<double>> derived_numbers(const ResolvedSection& model,
                                                           const ResolvedSection& dataset) {
  NamedNumbers numbers = numbers_of(model.resolved);
  const auto dim = numbers.find("dim"), heads = numbers.find("heads");
  const bool both = dim != numbers.end() && heads != numbers.end();
  if (both && dim->second.size() == 1 && heads->second.size() == 1 && heads->second[0] != 0) {
    numbers["head_width"] = {dim->second[0] / heads->second[0]};
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
  for (const Json& side : dataset.item->facts.value("extent", Json::array())) {
    if (side.is_number()) numbers["extent"].push_back(side.get<double>());
  }
  return numbers;
}

absl::Status check_combination(const ResolvedPriors& priors, const std::string& field) {
  for (std::size_t i = 0; i < priors.list.size(); ++i) {
    for (std::size_t j = i + 1; j < priors.list.size(); ++j) {
      const ResolvedPrior &a = priors.list[i], &b = priors.list[j];
      LOCUS_RETURN_IF_ERROR(check_pair(*a.item, *b.item, field));
      LOCUS_RETURN_IF_ERROR(check_conditional(a, b, field));
      LOCUS_RETURN_IF_ERROR(check_conditional(b, a, field));
    }
  }
  return absl::OkStatus();
}

absl::Status check_requirements(const CatalogItem& item, const Json& own, const ResolvedSection& model,
                                const ResolvedSection& dataset, const std::string& field) {
  if (item.requirements.empty()) return absl::OkStatus();
  NamedNumbers numbers = derived_numbers(model, dataset);
  for (auto& [name, values] : numbers_of(own)) numbers[name] = values;
  // A resolution is the shorter side: what holds for it must hold for the longer one.
  if (const auto found = numbers.find("resolution"); found != numbers.end()) {
    const std::vector<double> shorter = found->second;
    for (const double side : shorter) {
      if (const double longer = longer_side(*dataset.item, side); longer != side) found->second.push_back(longer);
    }
  }
  for (const Constraint& constraint : item.requirements) {
    if (!holds(constraint.when, item, own)) continue;
    const auto why = violation(constraint, numbers);
    if (!why) continue;
    const std::string option = own.contains(constraint.left)    ? constraint.left
                               : own.contains(constraint.right) ? constraint.right
                                                                : "";
    return refuse(ErrorReason::kConstraintViolated, "the " + item.kind + " '" + item.id + "' cannot be used: " + *why,
                  option.empty() ? field : field + "." + option,
                  {{"item", item.id}, {"rule", constraint.rule}, {"left", constraint.left}});
  }
  return absl::OkStatus();
}

absl::Status check_together(const ResolvedPriors& priors, const ResolvedSection& model,
                            const ResolvedSection& dataset) {
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
    mistakes.note(check_requirements(*prior.item, prior.scientific, model, dataset, prior.field));
  }
  return mistakes.status();
}

}  // namespace locus
