// Stage requirements: see requirements.h.
#include "core/scheduling/requirements.h"

#include "core/experiment/required_code.h"

namespace locus {

int RequirementTable::number_of(Requirement requirement) {
  const auto [place, added] = numbers_.try_emplace(requirement, static_cast<int>(sets_.size()));
  if (added) sets_.push_back(std::move(requirement));
  return place->second;
}

int RequirementTable::intern(const RequirementsPtr& asked) {
  static const auto kNothing = std::make_shared<const StageRequirements>();
  return number_of({asked ? asked : kNothing, {}, nullptr});
}

int RequirementTable::on_another_worker(int requirement, WorkerId than) {
  Requirement further = at(requirement);
  further.avoided.insert(than);
  return number_of(std::move(further));
}

int RequirementTable::placed(int requirement, const PlacementPtr& rules) {
  if (!rules) return requirement;
  Requirement further = at(requirement);
  further.rules = rules;
  return number_of(std::move(further));
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
    if (const auto [name, digest] = extension_of_requirement(item); !name.empty())
      return "the extension " + std::string(name) + " of digest " + std::string(digest.substr(0, 12));
    std::string text = item + " at revision " + std::to_string(revision);
    return text + (found == offered.end() ? " (it has none)" : " (it has " + std::to_string(found->second) + ")");
  }
  return std::nullopt;
}

}  // namespace locus
