// Formulas of the catalog.
#include "core/experiment/plan/formulas.h"

#include "core/catalog/expression.h"

namespace locus {
namespace {

constexpr int kMostFormulas = 8;  // formulas may name formulas, never in a circle

// Of a backbone, the options that list what is called "dim" in each stage, and so on.
Json lists_of_stages(const CatalogItem& item) {
  const Json stages = item.facts.value("stages", Json());
  return stages.is_object() ? stages.value("each", Json::object()) : Json::object();
}

}  // namespace

std::optional<double> number_in(const Json& options, const std::string& name) {
  if (const auto found = options.find(name); found != options.end()) {
    if (found->is_number()) return found->get<double>();
    if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
    if (found->is_array()) return static_cast<double>(found->size());
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto found = options.find(name.substr(0, dot));
  if (found == options.end()) return std::nullopt;
  return *found == name.substr(dot + 1) ? 1 : 0;
}

Formulas::Formulas(const CatalogItem& item, const Json& options, std::size_t stages, Lookup beyond)
    : options_(options),
      costs_(item.facts.value("costs", Json::object())),
      each_(lists_of_stages(item)),
      stages_(stages),
      beyond_(std::move(beyond)) {}

std::optional<double> Formulas::formula(const std::string& name, Stage stage, int depth) const {
  if (!costs_.contains(name) || !costs_[name].is_string() || depth > kMostFormulas) return std::nullopt;
  return value(costs_[name].get<std::string>(), stage, depth);
}

std::optional<double> Formulas::value(const std::string& text, Stage stage, int depth) const {
  const FormulaWords words = {
      .number = [&](std::string_view word, Stage at) { return named(std::string(word), at, depth + 1); },
      .entry = [&](std::string_view list, std::size_t place) { return entry(std::string(list), place); },
      .stages = stages_};
  const auto found = evaluate_expression(text, words, stage);
  if (!found.ok()) return std::nullopt;
  return *found;
}

std::optional<double> Formulas::named(const std::string& name, Stage stage, int depth) const {
  if (costs_.contains(name)) return formula(name, stage, depth);
  if (stage && each_.contains(name)) return entry(each_[name], *stage);
  if (const auto own = number_in(options_, name)) return own;
  if (name == "stages") return static_cast<double>(stages_);
  if (name == "stage" && stage) return static_cast<double>(*stage);
  return beyond_(name, stage);
}

std::optional<double> Formulas::entry(const std::string& list, std::size_t place) const {
  const auto found = options_.find(list);
  if (found == options_.end() || !found->is_array() || place >= found->size()) return std::nullopt;
  const Json& number = (*found)[place];
  return number.is_number() ? std::optional(number.get<double>()) : std::nullopt;
}

}  // namespace locus
