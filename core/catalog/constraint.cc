// Evaluates the catalog's constraint rules.
#include "core/catalog/constraint.h"

#include <algorithm>
#include <cmath>

namespace locus {
namespace {

std::string show(double value) { return canonical_json(value); }

bool multiple(double value, double factor) { return factor != 0 && std::fmod(value, factor) == 0; }

}  // namespace

std::optional<std::string> violation(const Constraint& constraint, const NamedNumbers& numbers) {
  const auto left = numbers.find(constraint.left);
  if (left == numbers.end()) return std::nullopt;
  const std::string why = constraint.help.empty() ? "" : ": " + constraint.help;
  if (constraint.rule == "multiple-of") {
    for (const double value : left->second) {
      if (multiple(value, constraint.factor)) continue;
      return constraint.left + " = " + show(value) + " is not a multiple of " + show(constraint.factor) + why;
    }
    return std::nullopt;
  }
  if (constraint.rule == "none") {
    for (const double value : left->second) {
      if (value != 0) return constraint.left + " = " + show(value) + " where there may be none" + why;
    }
    return std::nullopt;
  }
  const auto right = numbers.find(constraint.right);
  if (right == numbers.end()) return std::nullopt;
  for (const double a : left->second) {
    for (const double b : right->second) {
      if (constraint.rule == "divides" && !multiple(b, a)) {
        return constraint.left + " = " + show(a) + " does not divide " + constraint.right + " = " + show(b) +
               why;
      }
      if (constraint.rule == "at-most" && a > b) {
        return constraint.left + " = " + show(a) + " is greater than " + constraint.right + " = " + show(b) +
               why;
      }
    }
  }
  return std::nullopt;
}

bool holds(const Condition& when, const CatalogItem& item, const Json& options) {
  if (when.option.empty()) return true;
  Json value = options.is_object() ? options.value(when.option, Json()) : Json();
  for (const OptionSpec& option : item.options) {
    if (value.is_null() && option.name == when.option) value = option.default_value;
  }
  return value.is_string() &&
         std::find(when.values.begin(), when.values.end(), value.get<std::string>()) != when.values.end();
}

NamedNumbers numbers_of(const Json& resolved) {
  NamedNumbers numbers;
  for (const auto& [name, value] : resolved.items()) {
    if (value.is_number()) numbers[name] = {value.get<double>()};
    if (!value.is_array()) continue;
    std::vector<double> list;
    for (const Json& element : value) {
      if (element.is_number()) list.push_back(element.get<double>());
    }
    if (list.size() == value.size()) numbers[name] = list;
  }
  return numbers;
}

}  // namespace locus
