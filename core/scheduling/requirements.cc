// Stage requirements: see requirements.h.
#include "core/scheduling/requirements.h"

#include "core/base/json.h"

namespace locus {
namespace {

// The index just past the string that starts (with its quote) at `i`.
std::size_t past_string(std::string_view text, std::size_t i) {
  for (++i; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

// The index just past the value that starts at `i`.
std::size_t past_value(std::string_view text, std::size_t i) {
  int depth = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      i = past_string(text, i);
      if (depth == 0) return i;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return i;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
    ++i;
  }
  return text.size();
}

}  // namespace

std::optional<std::string_view> top_level_member(std::string_view object, std::string_view key) {
  std::size_t i = 1;
  while (i < object.size() && object[i] == '"') {
    const std::size_t key_end = past_string(object, i);
    const std::string_view name = object.substr(i + 1, key_end - i - 2);
    const std::size_t value = key_end + 1;  // past the colon
    const std::size_t value_end = past_value(object, value);
    if (value > object.size()) return std::nullopt;
    if (name == key) return object.substr(value, value_end - value);
    i = value_end + 1;  // past the comma
  }
  return std::nullopt;
}

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

int RequirementTable::elsewhere(int requirement, WorkerId than) {
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
    return text +
           (found == offered.end() ? " (it has none)" : " (it has " + std::to_string(found->second) + ")");
  }
  return std::nullopt;
}

}  // namespace locus
