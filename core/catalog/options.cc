// Checks given options against their declarations and completes them with defaults.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/catalog/catalog.h"
#include "core/catalog/constraint.h"
#include "core/catalog/options.h"

namespace locus {
namespace {

absl::Status refuse(ErrorReason reason, std::string message, const std::string& field,
                    std::map<std::string, std::string> metadata) {
  return make_error(absl::StatusCode::kInvalidArgument, reason, std::move(message), field, std::move(metadata));
}

std::string last_part(const std::string& field) {
  const auto dot = field.rfind('.');
  return dot == std::string::npos ? field : field.substr(dot + 1);
}

bool all_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// "0,001": a number as some languages write it.
std::string point_for_comma(const Json& value) {
  if (!value.is_string()) return "";
  const auto& text = value.get_ref<const std::string&>();
  const std::size_t comma = text.find(',');
  const bool digits = comma != std::string::npos && comma > 0 && comma + 1 < text.size() &&
                      text.find_first_not_of("0123456789,-+eE") == std::string::npos &&
                      text.find(',', comma + 1) == std::string::npos;
  return digits ? "; write it with a point, " + text.substr(0, comma) + "." + text.substr(comma + 1) : "";
}

absl::Status wrong_type(const std::string& wanted, const Json& value, const std::string& field) {
  const std::string hint = wanted.ends_with("number") ? point_for_comma(value) : "";
  return refuse(ErrorReason::kWrongType,
                last_part(field) + " must be " + wanted + ", not " + describe_json(value) + hint, field,
                {{"expected", wanted}, {"value", show_json(value)}});
}

absl::Status out_of_range(const std::string& rule, const Json& value, const std::string& field) {
  return refuse(ErrorReason::kOptionOutOfRange, last_part(field) + " must be " + rule + ", not " + show_json(value),
                field, {{"rule", rule}, {"value", show_json(value)}});
}

std::string range_of(const OptionSpec& option) {
  std::string rule = option.type == "integer" || option.element == "integer" ? "an integer" : "a finite number";
  const char* joint = " ";
  if (option.exclusive_minimum) rule += " greater than " + canonical_json(*option.exclusive_minimum), joint = " and ";
  if (option.minimum) rule += joint + ("of at least " + canonical_json(*option.minimum)), joint = " and ";
  if (option.maximum) rule += joint + ("at most " + canonical_json(*option.maximum));
  return rule;
}

// A number out of `value`; the strings that stand for non-finite numbers on the wire count as numbers.
std::optional<double> as_number(const Json& value) {
  if (!value.is_number() && !value.is_string()) return std::nullopt;
  try {
    return number_from_json(value);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

absl::StatusOr<Json> check_number(const OptionSpec& option, const std::string& type, const Json& value,
                                  const std::string& field) {
  const auto number = as_number(value);
  const bool integer = type == "integer";
  if (!number) return wrong_type(integer ? "an integer" : "a number", value, field);
  const bool outside = !std::isfinite(*number) || (option.minimum && *number < *option.minimum) ||
                       (option.maximum && *number > *option.maximum) ||
                       (option.exclusive_minimum && *number <= *option.exclusive_minimum);
  if (outside) return out_of_range(range_of(option), value, field);
  if (!integer) return Json(*number);
  if (*number != std::floor(*number)) return wrong_type("an integer", value, field);
  if (std::abs(*number) > 9007199254740992.0) return out_of_range("an integer of at most 2^53 in size", value, field);
  return Json(static_cast<std::int64_t>(*number));
}

absl::StatusOr<Json> check_scalar(const OptionSpec& option, const std::string& type, const Json& value,
                                  const std::string& field) {
  if (type == "integer" || type == "number") return check_number(option, type, value, field);
  if (type == "boolean") {
    if (!value.is_boolean()) return wrong_type("true or false", value, field);
    return value;
  }
  if (!value.is_string()) return wrong_type("a string", value, field);
  const auto& text = value.get_ref<const std::string&>();
  const auto& choices = option.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return value;
  std::string message = last_part(field) + " does not know '" + text + "'";
  std::map<std::string, std::string> metadata = {{"value", text}, {"choices", joined(choices)}};
  if (const auto nearest = nearest_name(text, choices)) {
    message += "; did you mean '" + *nearest + "'?";
    metadata["nearest"] = *nearest;
  }
  message += message.ends_with('?') ? " (choices: " + joined(choices) + ")" : "; choose one of: " + joined(choices);
  return refuse(ErrorReason::kOptionOutOfRange, std::move(message), field, std::move(metadata));
}

}  // namespace

std::string show_json(const Json& value) {
  constexpr std::size_t kMost = 80;
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return number_to_json(value.get<double>());
  std::string text = value.is_number() ? canonical_json(value.get<double>())
                                       : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

std::string describe_json(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "nothing (null)";
    case Json::value_t::boolean:
      return "the boolean " + show_json(value);
    case Json::value_t::string:
      return "the string " + show_json(value);
    case Json::value_t::array:
      return "the list " + show_json(value);
    case Json::value_t::object:
      return "the mapping " + show_json(value);
    default:
      return "the number " + show_json(value);
  }
}

absl::StatusOr<Json> check_option(const OptionSpec& option, const Json& value, const std::string& field) {
  if (option.type != "list") return check_scalar(option, option.type, value, field);
  if (!value.is_array()) return wrong_type("a list", value, field);
  if (value.size() < static_cast<std::size_t>(option.min_items)) {
    return out_of_range("a list of at least " + std::to_string(option.min_items) + " items", value, field);
  }
  Json out = Json::array();
  std::set<std::string> seen;
  Mistakes mistakes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = field + "[" + std::to_string(i) + "]";
    auto element = mistakes.value(check_scalar(option, option.element, value[i], at));
    if (!element) continue;
    if (option.unique && !seen.insert(canonical_json(*element)).second)
      mistakes.note(out_of_range("a list without repetition", value, at));
    out.push_back(*std::move(element));
  }
  if (!mistakes.none()) return mistakes.status();
  return out;
}

namespace {

absl::StatusOr<Json> find_preset(const CatalogItem& item, const Json& size, const std::string& field) {
  if (!size.is_string()) return wrong_type("the name of a size", size, field);
  const auto& name = size.get_ref<const std::string&>();
  if (const auto found = item.presets.find(name); found != item.presets.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [one, options] : item.presets) known.push_back(one);
  std::string message = item.kind + " '" + item.id + "' has no size '" + name + "'";
  std::map<std::string, std::string> metadata = {{"value", name}, {"choices", joined(known)}};
  if (const auto nearest = nearest_name(name, known)) {
    message += "; did you mean '" + *nearest + "'?";
    metadata["nearest"] = *nearest;
  }
  message += message.ends_with('?') ? " (sizes: " + joined(known) + ")" : "; choose one of: " + joined(known);
  return refuse(ErrorReason::kOptionOutOfRange, std::move(message), field, std::move(metadata));
}

// The options that are given, checked one by one, a size standing for those of its preset.
absl::StatusOr<Json> check_given(const CatalogItem& item, const Json& given, const std::string& prefix) {
  Json out = Json::object();
  if (!given.is_object()) return out;
  std::vector<std::string> names;
  for (const OptionSpec& option : item.options) names.push_back(option.name);
  const bool sized = !item.presets.empty();
  if (sized) names.emplace_back(kSizeKey);
  Mistakes mistakes;
  if (sized && given.contains(kSizeKey)) {
    if (auto preset = mistakes.value(find_preset(item, given.at(kSizeKey), prefix + kSizeKey)))
      out = *std::move(preset);
  }
  for (const auto& [key, value] : given.items()) {
    if (sized && key == kSizeKey) continue;
    const auto option = std::find_if(item.options.begin(), item.options.end(),
                                     [&key = key](const OptionSpec& o) { return o.name == key; });
    if (option == item.options.end()) {
      const absl::Status unknown = unknown_key(key, names, item.kind + " '" + item.id + "'", prefix + key);
      if (all_digits(key)) return unknown;  // half a number: so is what stands before it
      mistakes.note(unknown);
    } else if (auto checked = mistakes.value(check_option(*option, value, prefix + key))) {
      out[key] = *std::move(checked);
    }
  }
  if (!mistakes.none()) return mistakes.status();
  return out;
}

// Fills in what is not given.
absl::Status complete(const CatalogItem& item, const std::string& prefix, Json& out) {
  Mistakes mistakes;
  for (const OptionSpec& option : item.options) {
    if (out.contains(option.name)) continue;
    if (option.required) {
      mistakes.note(refuse(ErrorReason::kMissingKey,
                           item.kind + " '" + item.id + "' needs " + option.name +
                               (option.help.empty() ? "" : " (" + option.help + ")") + "; give it a value",
                           prefix + option.name, {{"key", option.name}, {"item", item.id}}));
    }
    out[option.name] = option.default_value;
  }
  return mistakes.status();
}

// What a size says for another setting than the one that is given goes without saying.
void leave_unmeant(const CatalogItem& item, const Json& given, Json& out) {
  for (const OptionSpec& option : item.options) {
    if (!option.required && !given.contains(option.name) && !holds(option.when, item, out))
      out[option.name] = option.default_value;
  }
}

// What the options say together.
absl::Status check_rules(const CatalogItem& item, const Json& given, const std::string& prefix, const Json& out) {
  Mistakes mistakes;
  for (const OptionSpec& option : item.options) {
    if (holds(option.when, item, out) || out[option.name] == option.default_value) continue;
    mistakes.note(refuse(
        ErrorReason::kConstraintViolated,
        option.name + " means nothing while " + option.when.option + " is " + show_json(out[option.when.option]) +
            "; leave it out, or set " + option.when.option + " to one of: " + joined(option.when.values),
        prefix + option.name, {{"rule", "when"}, {"left", option.name}, {"right", option.when.option}}));
  }
  const NamedNumbers numbers = numbers_of(out);
  for (const Constraint& constraint : item.constraints) {
    if (!holds(constraint.when, item, out)) continue;
    const auto why = violation(constraint, numbers);
    if (!why) continue;
    const bool left_given = given.is_object() && given.contains(constraint.left);
    const std::string& at = left_given || constraint.right.empty() ? constraint.left : constraint.right;
    mistakes.note(refuse(ErrorReason::kConstraintViolated, *why, prefix + at,
                         {{"rule", constraint.rule}, {"left", constraint.left}, {"right", constraint.right}}));
  }
  return mistakes.status();
}

}  // namespace

absl::StatusOr<Json> Catalog::resolve(const CatalogItem& item, const Json& given, const std::string& field) const {
  const std::string prefix = field.empty() ? "" : field + ".";
  if (!given.is_null() && !given.is_object()) return wrong_type("a mapping of options", given, field);
  LOCUS_ASSIGN_OR_RETURN(Json out, check_given(item, given, prefix));
  LOCUS_RETURN_IF_ERROR(complete(item, prefix, out));
  if (given.is_object() && given.contains(kSizeKey)) leave_unmeant(item, given, out);
  LOCUS_RETURN_IF_ERROR(check_rules(item, given, prefix, out));
  return out;
}

Json Catalog::scientific(const CatalogItem& item, const Json& resolved) const {
  Json out = resolved;
  for (const OptionSpec& option : item.options) {
    const auto found = out.find(option.name);
    if (found == out.end() || option.neutral.is_null()) continue;
    if (canonical_json(*found) == canonical_json(option.neutral)) out.erase(found);
  }
  return out;
}

absl::Status unknown_key(const std::string& key, const std::vector<std::string>& known, const std::string& owner,
                         const std::string& field) {
  std::string message = owner + " has no key '" + key + "'";
  std::map<std::string, std::string> metadata = {{"key", key}};
  if (const auto nearest = nearest_name(key, known)) {
    message += "; did you mean '" + *nearest + "'?";
    metadata["nearest"] = *nearest;
  }
  if (all_digits(key)) {
    // {lr: 0,001} is two keys, lr and 001.
    message += "; a comma begins a key here, so write a decimal number with a point, as in 0.001";
  } else if (known.empty()) {
    message += "; it takes none";
  } else {
    message += message.ends_with('?') ? " (known: " + joined(known) + ")" : "; known: " + joined(known);
  }
  return refuse(ErrorReason::kUnknownKey, std::move(message), field, std::move(metadata));
}

std::string show_option(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return canonical_json(value);
  std::string out;
  for (const Json& element : value) {
    if (!out.empty()) out += ',';
    out += show_option(element);
  }
  return out;
}

}  // namespace locus
