// Stage requirements: see requirements.h.
#include "core/scheduling/requirements.h"

#include "core/base/json.h"

namespace locus {

int RequirementTable::intern(std::string_view config_json) {
  const std::string text(top_level_member(config_json, "revisions").value_or("{}"));
  const bool exclusive = top_level_member(config_json, "exclusive") == "true";
  const std::string interned = (exclusive ? "exclusive " : "") + text;
  auto [place, added] = by_text_.try_emplace(interned, static_cast<int>(sets_.size()));
  if (!added) return place->second;
  Revisions revisions;
  const Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_object()) {
    for (const auto& [item, revision] : parsed.items()) {
      if (revision.is_number_integer()) revisions[item] = revision.get<int>();
    }
  }
  sets_.push_back({std::move(revisions), exclusive, {}, interned});
  return place->second;
}

int RequirementTable::on_another_worker(int requirement, WorkerId than) {
  Requirement further = at(requirement);
  if (!further.avoided.insert(than).second) return requirement;
  std::string text = further.text.substr(0, further.text.find('\n'));
  for (const WorkerId worker : further.avoided) text += "\nnot on " + std::to_string(worker);
  const auto [place, added] = by_text_.try_emplace(text, static_cast<int>(sets_.size()));
  if (!added) return place->second;
  further.text = std::move(text);
  sets_.push_back(std::move(further));
  return place->second;
}

std::optional<std::string> missing_dataset(const Revisions& required, const Revisions& offered) {
  for (const auto& [item, revision] : required) {
    if (item.starts_with(kDatasetItem) && !offered.contains(item)) return item.substr(kDatasetItem.size());
  }
  return std::nullopt;
}

std::optional<std::string> first_missing(const Revisions& required, const Revisions& offered) {
  for (const auto& [item, revision] : required) {
    auto found = offered.find(item);
    if (found != offered.end() && found->second == revision) continue;
    std::string text = item + " at revision " + std::to_string(revision);
    return text + (found == offered.end() ? " (it has none)" : " (it has " + std::to_string(found->second) + ")");
  }
  return std::nullopt;
}

}  // namespace locus
