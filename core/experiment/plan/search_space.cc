// Reads search.space: what proposals are drawn from.
#include <cmath>
#include <set>

#include "core/catalog/options.h"
#include "core/experiment/plan/fields.h"
#include "core/experiment/plan/key_reader.h"
#include "core/experiment/plan/search_section.h"

namespace locus {
namespace {

constexpr int kDigitsMost = 15;                      // beyond them decimal digits do not survive a double
constexpr double kIntegerMost = 9007199254740992.0;  // 2^53

const std::vector<std::string>& scales() {
  static const std::vector<std::string> words = {"linear", "log", "int", "choice"};
  return words;
}

// [low, high], both finite numbers, the first smaller.
absl::Status read_bounds(const Json& json, const std::string& scale, const std::string& field, Dimension& out) {
  const std::string wanted = field + " is [lowest, highest]";
  if (!json.is_array() || json.size() != 2)
    return refuse(ErrorReason::kWrongType, wanted + ", not " + describe_json(json), field);
  OptionSpec rule;
  rule.name = scale, rule.type = scale == "int" ? "integer" : "number";
  Mistakes mistakes;
  const auto low = mistakes.value(check_option(rule, json[0], indexed(field, 0)));
  const auto high = mistakes.value(check_option(rule, json[1], indexed(field, 1)));
  if (!mistakes.none()) return mistakes.status();
  out.low = low->get<double>(), out.high = high->get<double>();
  if (out.low >= out.high) {
    return refuse(ErrorReason::kOptionOutOfRange,
                  wanted + ", and " + show_json(*low) + " is not below " + show_json(*high) +
                      "; fix a single value outside the search",
                  field);
  }
  if (scale == "log" && out.low <= 0) {
    return refuse(ErrorReason::kOptionOutOfRange,
                  field + " begins at " + show_json(*low) +
                      ", and a logarithmic scale has only values above 0; raise "
                      "it or write linear",
                  indexed(field, 0));
  }
  if (scale == "int" && std::max(std::abs(out.low), std::abs(out.high)) > kIntegerMost)
    return refuse(ErrorReason::kOptionOutOfRange, field + " goes beyond 2^53", field);
  return absl::OkStatus();
}

absl::Status read_choices(const Json& json, const std::string& field, Dimension& out) {
  LOCUS_RETURN_IF_ERROR(check_list(json, field));
  if (json.empty()) return refuse(ErrorReason::kEmptyMatrix, field + " lists no value; give at least one", field);
  Mistakes mistakes;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!mistakes.note(check_finite(json[i], indexed(field, i)))) continue;
    if (seen.insert(canonical_json(json[i])).second) continue;
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         field + " lists " + show_json(json[i]) + " twice; keep one", indexed(field, i)));
  }
  out.choices = json;
  return mistakes.status();
}

absl::Status read_dimension(const std::string& path, const Json& json, const std::string& field, Dimension& out) {
  out.path = path;
  Mistakes mistakes;
  KeyReader keys(json, field, "a path of the space", {"linear", "log", "int", "choice", "digits"}, mistakes);
  if (!mistakes.none()) return mistakes.status();
  std::vector<std::string> written;
  for (const std::string& scale : scales()) {
    if (keys.has(scale.c_str())) written.push_back(scale);
  }
  if (written.size() != 1) {
    return refuse(ErrorReason::kInvalidSpecification,
                  field + (written.empty() ? " says no scale" : " says " + written[0] + " and " + written[1]) +
                      "; write one of {linear: [0, 0.1]}, {log: [1.0e-4, 1.0e-2]}, {int: [1, 8]}, {choice: [a, b]}",
                  field);
  }
  const std::string& scale = written.front();
  out.kind = scale == "linear" ? Dimension::Kind::kLinear
             : scale == "log"  ? Dimension::Kind::kLog
             : scale == "int"  ? Dimension::Kind::kInteger
                               : Dimension::Kind::kChoice;
  const bool rounds = out.kind == Dimension::Kind::kLinear || out.kind == Dimension::Kind::kLog;
  if (keys.has("digits") && !rounds) {
    mistakes.note(
        refuse(ErrorReason::kInvalidSpecification,
               field + ".digits rounds linear and log values, and " + scale + " needs no rounding; take it out",
               keys.at("digits")));
  } else if (const auto digits = keys.integer("digits", 1, kDigitsMost)) {
    out.digits = static_cast<int>(*digits);
  }
  const Json& value = keys[scale.c_str()];
  mistakes.note(scale == "choice" ? read_choices(value, keys.at(scale), out)
                                  : read_bounds(value, scale, keys.at(scale), out));
  return mistakes.status();
}

}  // namespace

void read_space(const Json& json, Specification& spec, Search& search, Mistakes& mistakes) {
  const std::string field = "search.space";
  if (!mistakes.note(check_mapping(json, field))) {
    spec.unread.insert("");
    return;
  }
  if (json.empty()) {
    mistakes.note(refuse(ErrorReason::kEmptyMatrix,
                         "search.space names no path, so there is nothing to propose; write one, as in train.lr: "
                         "{log: [1.0e-4, 1.0e-2]}",
                         field));
  }
  if (json.size() > kSpacePathsMost) {
    mistakes.note(refuse(ErrorReason::kLimitExceeded,
                         "search.space has " + std::to_string(json.size()) + " paths; at most " +
                             std::to_string(kSpacePathsMost) + " are searched together",
                         field));
  }
  for (const auto& [path, value] : json.items()) {
    const std::string place = field + "." + path;
    if (!mistakes.note(check_config_path(*spec.sections, path, place))) {
      spec.unread.insert("");  // it may stand for any of them
      continue;
    }
    Dimension dimension;
    if (mistakes.note(read_dimension(path, value, place, dimension))) {
      search.space.push_back(std::move(dimension));
    } else {
      spec.unread.insert(path);
    }
  }
}

}  // namespace locus
