// Evaluates the catalog's constraint rules.
#include "core/catalog/constraint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace locus {
namespace {

std::string show(double value) { return canonical_json(value); }

bool multiple(double value, double factor) { return factor != 0 && std::fmod(value, factor) == 0; }

// What would do instead: the divisors of every number of `right`, those nearest to `left` where they are many.
std::string divisors(double left, const std::vector<double>& right) {
  constexpr std::int64_t kLargest = 1'000'000;
  constexpr std::size_t kMost = 12;
  std::int64_t common = 0;
  for (const double one : right) {
    if (one < 1 || one > kLargest || one != std::floor(one)) return "";
    common = std::gcd(common, static_cast<std::int64_t>(one));
  }
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= common; ++d) {
    if (common % d == 0) found.push_back(d);
  }
  while (found.size() > kMost) {
    const bool low = left - static_cast<double>(found.front()) > static_cast<double>(found.back()) - left;
    found.erase(low ? found.begin() : found.end() - 1);
  }
  std::string out;
  for (const std::int64_t one : found) out += (out.empty() ? "" : ", ") + std::to_string(one);
  return out;
}

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
  if (constraint.rule == "at-least") {
    for (const double value : left->second) {
      if (value >= constraint.factor) continue;
      return constraint.left + " = " + show(value) + " is less than " + show(constraint.factor) + why;
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
        const std::string instead = divisors(a, right->second);
        return constraint.left + " = " + show(a) + " does not divide " + constraint.right + " = " + show(b) + why +
               (instead.empty() ? "" : "; " + constraint.left + " can be " + instead);
      }
      if (constraint.rule == "at-most" && a > b) {
        return constraint.left + " = " + show(a) + " is greater than " + constraint.right + " = " + show(b) + why;
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
  if (value.is_boolean()) value = value.get<bool>() ? "true" : "false";
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
