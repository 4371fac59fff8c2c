// Reads what a specification varies: settings, partial assignments, factors, groups walked together.
#include "core/experiment/plan/factors.h"

#include <algorithm>
#include <set>

#include "core/experiment/plan/fields.h"

namespace locus {
namespace {

// A value of a factor: itself, or {value: ..., label: ...}.
absl::StatusOr<Setting> parse_value(const Json& json, const std::string& field) {
  Setting setting{json, "", field};
  const bool labeled =
      json.is_object() && json.contains("value") && json.size() <= 2 && (json.size() == 1 || json.contains("label"));
  if (labeled) {
    setting.value = json["value"];
    setting.field = field + ".value";
    if (json.contains("label")) {
      LOCUS_ASSIGN_OR_RETURN(setting.label, text_of(json["label"], field + ".label"));
    }
  }
  LOCUS_RETURN_IF_ERROR(check_finite(setting.value, setting.field));
  return setting;
}

// Adds the factor with the values that can be read.
absl::Status parse_factor(const std::string& path, const Json& values, const std::string& field, Specification& spec,
                          Axis& out) {
  if (const absl::Status known = check_config_path(*spec.sections, path, field); !known.ok()) {
    spec.unread.insert("");  // it may stand for any of them
    return known;
  }
  Mistakes mistakes;
  mistakes.note(check_list(values, field));
  if (values.is_array() && values.empty()) {
    mistakes.note(refuse(ErrorReason::kEmptyMatrix,
                         "the factor " + path + " has no value; list at least one or take it out", field));
  }
  Factor factor{path, field, {}};
  for (std::size_t i = 0; values.is_array() && i < values.size(); ++i) {
    if (auto value = mistakes.value(parse_value(values[i], indexed(field, i))))
      factor.values.push_back(*std::move(value));
  }
  if (!mistakes.none()) spec.unread.insert(path);
  if (!factor.values.empty()) out.push_back(std::move(factor));
  return mistakes.status();
}

absl::Status parse_factors(const Json& json, const std::string& field, Specification& spec, Axis& out) {
  absl::Status whole = check_mapping(json, field);
  if (whole.ok() && json.empty()) {
    whole = refuse(ErrorReason::kEmptyMatrix,
                   field + " names no factor; give it at least one, as in prior: [none, rope-axial]", field);
  }
  if (!whole.ok()) {
    spec.unread.insert("");
    return whole;
  }
  Mistakes mistakes;
  for (const auto& [path, values] : json.items())
    mistakes.note(parse_factor(path, values, field + "." + path, spec, out));
  // The prior varies slowest, so that its rows stand together; the rest by name, whatever order the document
  // had.
  std::stable_sort(out.begin(), out.end(),
                   [](const Factor& a, const Factor& b) { return (a.path == "prior") > (b.path == "prior"); });
  return mistakes.status();
}

}  // namespace

absl::Status add_setting(const Specification& spec, Settings& settings, const std::string& path, const Json& value,
                         const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_config_path(*spec.sections, path, field));
  LOCUS_RETURN_IF_ERROR(check_finite(value, field));
  settings[path] = {value, "", field};
  return absl::OkStatus();
}

absl::StatusOr<Settings> parse_assignment(const Specification& spec, const Json& json, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, field));
  if (json.empty()) {
    return refuse(ErrorReason::kInvalidSpecification,
                  field + " names no factor; write the factors it fixes, as in {prior: learned-absolute}", field);
  }
  Settings out;
  Mistakes mistakes;
  for (const auto& [path, value] : json.items()) mistakes.note(add_setting(spec, out, path, value, field + "." + path));
  if (!mistakes.none()) return mistakes.status();
  return out;
}

absl::Status parse_assignments(const Specification& spec, const Json& json, const std::string& field,
                               std::vector<Settings>& out) {
  LOCUS_RETURN_IF_ERROR(check_list(json, field));
  Mistakes mistakes;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (auto one = mistakes.value(parse_assignment(spec, json[i], indexed(field, i)))) out.push_back(*std::move(one));
  }
  return mistakes.status();
}

absl::Status parse_matrix(const Json& json, Specification& spec) {
  Axis factors;
  const absl::Status read = parse_factors(json, "matrix", spec, factors);
  for (Factor& factor : factors) spec.axes.push_back({std::move(factor)});
  return read;
}

absl::Status parse_zip(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_list(json, "zip"));
  Mistakes mistakes;
  for (std::size_t i = 0; i < json.size(); ++i) {
    Axis group;
    const bool whole = mistakes.note(parse_factors(json[i], indexed("zip", i), spec, group));
    for (const Factor& factor : group) {
      if (!whole || factor.values.size() == group.front().values.size()) continue;
      mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                           factor.path + " has " + std::to_string(factor.values.size()) + " values but " +
                               group.front().path + " has " + std::to_string(group.front().values.size()) +
                               "; zipped factors need equally many",
                           factor.field));
    }
    if (!group.empty()) spec.axes.push_back(std::move(group));
  }
  return mistakes.status();
}

absl::Status check_factors_once(const Specification& spec) {
  std::set<std::string> seen;
  Mistakes mistakes;
  for (const Axis& axis : spec.axes) {
    for (const Factor& factor : axis) {
      if (seen.insert(factor.path).second) continue;
      mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                           "the factor " + factor.path + " is given in the matrix and in zip; keep one", factor.field));
    }
  }
  return mistakes.status();
}

}  // namespace locus
