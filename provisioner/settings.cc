// Settings of a provisioner.
#include "provisioner/settings.h"

#include <algorithm>

#include "core/base/invalid.h"

namespace locus {

SettingsSection::SettingsSection(Json object, std::string path)
    : object_(object.is_null() ? Json::object() : std::move(object)), path_(std::move(path)) {
  if (!object_.is_object())
    wrong_ = invalid(path_, (path_.empty() ? "the settings are" : path_ + " is") + std::string(" no list of keys"));
}

const Json* SettingsSection::find(const std::string& key) {
  known_.insert(key);
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void SettingsSection::refuse(const std::string& key, const std::string& wanted) {
  if (wrong_.ok()) wrong_ = invalid(field(key), field(key) + " is " + object_.at(key).dump() + "; give " + wanted);
}

std::optional<std::string> SettingsSection::text(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && !value->get<std::string>().empty()) return value->get<std::string>();
  refuse(key, "a text");
  return std::nullopt;
}

std::optional<std::vector<std::string>> SettingsSection::texts(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array() && std::all_of(value->begin(), value->end(), [](const Json& one) { return one.is_string(); }))
    return value->get<std::vector<std::string>>();
  refuse(key, "a list of texts");
  return std::nullopt;
}

std::optional<std::map<std::string, std::string>> SettingsSection::named_texts(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto is_text = [](const Json& one) { return one.is_string() && !one.get<std::string>().empty(); };
  if (value->is_object() && std::all_of(value->begin(), value->end(), is_text))
    return value->get<std::map<std::string, std::string>>();
  refuse(key, "names with a text each");
  return std::nullopt;
}

std::optional<std::int64_t> SettingsSection::number(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer() && value->get<std::int64_t>() >= 0) return value->get<std::int64_t>();
  refuse(key, "a whole number, 0 or more");
  return std::nullopt;
}

std::optional<Json> SettingsSection::object(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return *value;
  refuse(key, "keys with their values");
  return std::nullopt;
}

absl::Status SettingsSection::end() const {
  if (!wrong_.ok()) return wrong_;
  for (const auto& [key, value] : object_.items()) {
    if (known_.contains(key)) continue;
    std::string names;
    for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
    return invalid(field(key), field(key) + " is no setting; there are " + names);
  }
  return absl::OkStatus();
}

absl::Status SettingsSection::missing(const std::string& key, const std::string& example) const {
  return invalid(field(key), field(key) + " is missing; give it, such as " + example);
}

}  // namespace locus
