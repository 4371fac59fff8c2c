// The values of the factors in normal form, and what a value written elsewhere means among them.
#include <algorithm>
#include <set>

#include "core/catalog/options.h"
#include "core/experiment/plan/expansion.h"

namespace locus {
namespace {

// A position of an axis as one string: two equal ones would make two equal cells.
std::string position_key(const Axis& axis, std::size_t position, const Values& values) {
  std::string key;
  for (const Factor& factor : axis) key.append(values.of(&factor.values[position]).key).append("\n");
  return key;
}

absl::Status check_positions_differ(const Axis& axis, const Values& values) {
  std::set<std::string> seen;
  Mistakes mistakes;
  for (std::size_t i = 0; i < axis.front().values.size(); ++i) {
    if (seen.insert(position_key(axis, i, values)).second) continue;
    const Setting& setting = axis.front().values[i];
    mistakes.note(
        refuse(ErrorReason::kInvalidSpecification,
               axis.front().path + " lists " + values.of(&setting).text + " twice with the same options; keep one",
               setting.field));
  }
  return mistakes.status();
}

}  // namespace

absl::Status Values::add(const std::string& path, const Setting& setting, Resolver& resolver) {
  LOCUS_ASSIGN_OR_RETURN(normal_[&setting], resolver.normal(path, setting));
  if (std::find(factors_.begin(), factors_.end(), path) == factors_.end()) factors_.push_back(path);
  values_[path].push_back(&setting);
  return absl::OkStatus();
}

Values Values::make(Specification& spec, Resolver& resolver, Mistakes& mistakes) {
  Values out;
  const auto read = [&](const std::string& path, const Setting& setting) {
    if (mistakes.note(out.add(path, setting, resolver))) return true;
    spec.unread.insert(path);
    return false;
  };
  const bool whole = mistakes.none();
  for (const Axis& axis : spec.axes) {
    bool all = whole;
    for (const Factor& factor : axis) {
      for (const Setting& setting : factor.values) all = read(factor.path, setting) && all;
    }
    if (all) mistakes.note(check_positions_differ(axis, out));
  }
  for (const Settings& one : spec.include) {
    for (const auto& [path, setting] : one) read(path, setting);
  }
  return out;
}

absl::StatusOr<std::vector<const Setting*>> Values::match(const std::string& path, const Setting& setting,
                                                          Resolver& resolver) const {
  const auto factor = values_.find(path);
  if (factor == values_.end()) {
    std::string list;
    for (const std::string& name : factors_) list += (list.empty() ? "" : ", ") + name;
    return refuse(
        ErrorReason::kUnknownKey,
        path + " is not a factor of the matrix; " + (list.empty() ? "the matrix has none" : "its factors are: " + list),
        setting.field, {{"path", path}});
  }
  std::vector<const Setting*> exact, labeled, same_ids;
  if (setting.value.is_string()) {
    for (const Setting* value : factor->second) {
      if (!value->label.empty() && value->label == setting.value) labeled.push_back(value);
    }
    if (!labeled.empty()) return labeled;
  }
  LOCUS_ASSIGN_OR_RETURN(const NormalValue wanted, resolver.normal(path, setting));
  for (const Setting* value : factor->second) {
    const NormalValue& normal = of(value);
    if (normal.key == wanted.key) exact.push_back(value);
    const bool bare = std::all_of(wanted.assignment.begin(), wanted.assignment.end(),
                                  [](const Json& one) { return one.is_object() && one.begin()->empty(); });
    if (path == "prior" && bare && normal.ids == wanted.ids) same_ids.push_back(value);
  }
  if (!exact.empty()) return exact;
  if (!same_ids.empty()) return same_ids;
  std::string list;
  for (const Setting* value : factor->second) list += (list.empty() ? "" : ", ") + of(value).text;
  return refuse(ErrorReason::kInvalidSpecification,
                show_json(setting.value) + " is not a value of " + path + " in the matrix; its values are: " + list,
                setting.field, {{"path", path}, {"value", show_json(setting.value)}});
}

}  // namespace locus
