// Field checks shared by the parts of the specification parser.
#include "core/experiment/plan/fields.h"

#include <algorithm>
#include <cmath>

#include "core/base/mistakes.h"
#include "core/base/nearest.h"
#include "core/catalog/options.h"
#include "core/experiment/plan/specification.h"

namespace locus {
namespace {

absl::Status wrong_type(const std::string& wanted, const Json& value, const std::string& field) {
  const std::string what = field.empty() ? "the specification" : field;
  return refuse(ErrorReason::kWrongType, what + " must be " + wanted + ", not " + describe_json(value), field,
                {{"expected", wanted}, {"value", show_json(value)}});
}

}  // namespace

absl::Status refuse(ErrorReason reason, std::string message, std::string field,
                    std::map<std::string, std::string> metadata) {
  return make_error(absl::StatusCode::kInvalidArgument, reason, std::move(message), std::move(field),
                    std::move(metadata));
}

std::string indexed(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

absl::Status check_mapping(const Json& value, const std::string& field) {
  return value.is_object() ? absl::OkStatus() : wrong_type("a mapping", value, field);
}

absl::Status check_list(const Json& value, const std::string& field) {
  return value.is_array() ? absl::OkStatus() : wrong_type("a list", value, field);
}

absl::Status check_keys(const Json& json, const std::vector<std::string>& known, const std::string& owner,
                        const std::string& field) {
  Mistakes mistakes;
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      mistakes.note(unknown_key(key, known, owner, field + "." + key));
  }
  return mistakes.status();
}

absl::StatusOr<std::string> text_of(const Json& value, const std::string& field) {
  if (!value.is_string()) return wrong_type("a string", value, field);
  return value.get<std::string>();
}

absl::Status check_finite(const Json& value, const std::string& field) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return refuse(ErrorReason::kOptionOutOfRange, field + " must be a finite number, not " + show_json(value), field,
                  {{"value", show_json(value)}});
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) LOCUS_RETURN_IF_ERROR(check_finite(member, field + "." + key));
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) LOCUS_RETURN_IF_ERROR(check_finite(value[i], indexed(field, i)));
  }
  return absl::OkStatus();
}

absl::Status check_config_path(const std::vector<Section>& sections, const std::string& path,
                               const std::string& field) {
  if (path == "prior") return absl::OkStatus();
  std::vector<std::string> known = {"prior"}, heads = {"prior"};
  const std::string head = path.substr(0, path.find('.'));
  for (const Section& section : sections) {
    const bool whole = path == section.key;
    const bool option = head == section.key && path.size() > head.size() + 1;
    if (option || (whole && path == section.id_path)) return absl::OkStatus();
    if (whole) {
      return refuse(ErrorReason::kUnknownKey,
                    path + " is a whole section; name one of its options, as in " + section.id_path, field,
                    {{"path", path}});
    }
    known.push_back(section.key == section.id_path ? section.key : section.key + ".*");
    heads.push_back(section.key);
  }
  if (const auto nearest = nearest_name(head, heads)) {
    const std::string rest = path.size() > head.size() ? path.substr(head.size()) : "";
    return refuse(ErrorReason::kUnknownKey,
                  "there is no config path '" + path + "'; did you mean '" + *nearest + rest + "'?", field,
                  {{"path", path}, {"nearest", *nearest + rest}});
  }
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  return refuse(ErrorReason::kUnknownKey, "there is no config path '" + path + "'; a factor is one of: " + list, field,
                {{"path", path}});
}

}  // namespace locus
