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
  const bool labelled = json.is_object() && json.contains("value") && json.size() <= 2 &&
                        (json.size() == 1 || json.contains("label"));
  if (labelled) {
    setting.value = json["value"];
    setting.field = field + ".value";
    if (json.contains("label")) {
      LOCUS_ASSIGN_OR_RETURN(setting.label, text_of(json["label"], field + ".label"));
    }
  }
  LOCUS_RETURN_IF_ERROR(check_finite(setting.value, setting.field));
  return setting;
}

absl::StatusOr<Factor> parse_factor(const std::string& path, const Json& values, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_config_path(path, field));
  LOCUS_RETURN_IF_ERROR(check_list(values, field));
  if (values.empty()) {
    return refuse(ErrorReason::kEmptyMatrix,
                  "the factor " + path + " has no value; list at least one or take it out", field);
  }
  Factor factor{path, field, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(Setting value, parse_value(values[i], indexed(field, i)));
    factor.values.push_back(std::move(value));
  }
  return factor;
}

absl::StatusOr<Axis> parse_factors(const Json& json, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, field));
  if (json.empty()) {
    return refuse(ErrorReason::kEmptyMatrix,
                  field + " names no factor; give it at least one, as in prior: [none, rope-axial]", field);
  }
  Axis factors;
  for (const auto& [path, values] : json.items()) {
    LOCUS_ASSIGN_OR_RETURN(Factor factor, parse_factor(path, values, field + "." + path));
    factors.push_back(std::move(factor));
  }
  // The prior varies slowest, so that its rows stand together; the rest by name, whatever order the document
  // had.
  std::stable_sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
    return (a.path == "prior") > (b.path == "prior");
  });
  return factors;
}

}  // namespace

absl::Status add_setting(Settings& settings, const std::string& path, const Json& value,
                         const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_config_path(path, field));
  LOCUS_RETURN_IF_ERROR(check_finite(value, field));
  settings[path] = {value, "", field};
  return absl::OkStatus();
}

absl::StatusOr<Settings> parse_assignment(const Json& json, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_mapping(json, field));
  if (json.empty()) {
    return refuse(ErrorReason::kInvalidSpecification,
                  field + " names no factor; write the factors it fixes, as in {prior: learned-absolute}",
                  field);
  }
  Settings out;
  for (const auto& [path, value] : json.items()) {
    LOCUS_RETURN_IF_ERROR(add_setting(out, path, value, field + "." + path));
  }
  return out;
}

absl::StatusOr<std::vector<Settings>> parse_assignments(const Json& json, const std::string& field) {
  LOCUS_RETURN_IF_ERROR(check_list(json, field));
  std::vector<Settings> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(Settings one, parse_assignment(json[i], indexed(field, i)));
    out.push_back(std::move(one));
  }
  return out;
}

absl::Status parse_matrix(const Json& json, Specification& spec) {
  LOCUS_ASSIGN_OR_RETURN(Axis factors, parse_factors(json, "matrix"));
  for (Factor& factor : factors) spec.axes.push_back({std::move(factor)});
  return absl::OkStatus();
}

absl::Status parse_zip(const Json& json, Specification& spec) {
  LOCUS_RETURN_IF_ERROR(check_list(json, "zip"));
  for (std::size_t i = 0; i < json.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(Axis group, parse_factors(json[i], indexed("zip", i)));
    for (const Factor& factor : group) {
      if (factor.values.size() == group.front().values.size()) continue;
      return refuse(ErrorReason::kInvalidSpecification,
                    factor.path + " has " + std::to_string(factor.values.size()) + " values but " +
                        group.front().path + " has " + std::to_string(group.front().values.size()) +
                        "; zipped factors need equally many",
                    factor.field);
    }
    spec.axes.push_back(std::move(group));
  }
  return absl::OkStatus();
}

absl::Status check_factors_once(const Specification& spec) {
  std::set<std::string> seen;
  for (const Axis& axis : spec.axes) {
    for (const Factor& factor : axis) {
      if (seen.insert(factor.path).second) continue;
      return refuse(ErrorReason::kInvalidSpecification,
                    "the factor " + factor.path + " is given in the matrix and in zip; keep one",
                    factor.field);
    }
  }
  return absl::OkStatus();
}

}  // namespace locus
