// Evaluates the catalog's constraint rules.
#include "core/catalog/constraint.h"

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
