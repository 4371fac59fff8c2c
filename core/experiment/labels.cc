// Labels of workers: see labels.h.
#include "core/experiment/labels.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/limits.h"

namespace locus {
namespace {

absl::Status refuse_placement(const std::string& what, const std::string& field) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification, what, field);
}

absl::StatusOr<Labels> read_clauses(const Json& json, const std::string& field) {
  if (!json.is_object()) return refuse_placement(field + " must be a mapping of labels to values", field);
  if (json.size() > kLabelsMost) return refuse_placement(field + " names more than 64 labels", field);
  Labels out;
  for (const auto& [key, value] : json.items()) {
    const std::string path = field + "." + key;
    if (!valid_label_key(key)) {
      return refuse_placement("'" + key +
                                  "' cannot be a label: write lower-case letters, digits, '.' and '-', a letter "
                                  "first, at most 63, maybe after node/",
                              path);
    }
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (text.empty() || text.size() > kLabelBytes)
      return refuse_placement(path + " must be a text of 1 to 128 bytes; * stands for any characters", path);
    out[key] = text;
  }
  return out;
}

absl::StatusOr<Labels> read_alike(const Json& json) {
  const std::string field = "placement.alike";
  if (!json.is_array() || json.size() > kLabelsMost)
    return refuse_placement(field + " must be a list of at most 64 labels, as in [node/gpu-name]", field);
  Labels out;
  for (const Json& key : json) {
    if (!key.is_string() || !valid_label_key(key.get<std::string>())) {
      return refuse_placement(key.dump(-1, ' ', false, Json::error_handler_t::replace) +
                                  " in placement.alike cannot be a label: write its name alone, as in [node/gpu-name]",
                              field);
    }
    out[key.get<std::string>()];
  }
  return out;
}

absl::StatusOr<int> read_devices(const Json& json) {
  const std::int64_t count = json.is_number_integer() ? json.get<std::int64_t>() : 0;
  if (count < 1 || count > kDevicesMost) {
    return refuse_placement("placement.devices must be a whole number from 1 to " + std::to_string(kDevicesMost) +
                                ", not " + json.dump(-1, ' ', false, Json::error_handler_t::replace),
                            "placement.devices");
  }
  return static_cast<int>(count);
}

absl::StatusOr<double> read_memory(const Json& json) {
  const double gib = json.is_number() ? json.get<double>() : 0;
  if (!(gib > 0) || gib > kMemoryGibMost) {
    return refuse_placement("placement.memory_gib must be a number of GiB above 0, at most " +
                                std::to_string(kMemoryGibMost) + ", not " +
                                json.dump(-1, ' ', false, Json::error_handler_t::replace),
                            "placement.memory_gib");
  }
  return gib;
}

Labels read_labels(const Json& json) {
  Labels out;
  if (!json.is_object()) return out;
  for (const auto& [key, value] : json.items()) {
    if (value.is_string()) out[key] = value.get<std::string>();
  }
  return out;
}

}  // namespace

bool valid_label_key(std::string_view key) {
  if (key.starts_with(kNodeLabel)) key.remove_prefix(kNodeLabel.size());
  const auto plain = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '.' || c == '-'; };
  return !key.empty() && key.size() <= 63 && std::islower(static_cast<unsigned char>(key.front())) &&
         std::all_of(key.begin(), key.end(), plain);
}

// Goes back to the last '*' alone: an earlier one need never take more.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Labels clauses_of(const PlacementRules& rules) {
  Labels out = rules.require;
  for (const auto& [key, value] : rules.alike) {
    if (!value.empty()) {
      out[key] = value;
    } else {
      out.emplace(key, "*");
    }
  }
  return out;
}

std::string first_unmet(const PlacementRules& rules, const Labels& labels) {
  for (const auto& [key, pattern] : clauses_of(rules)) {
    const auto found = labels.find(key);
    if (found == labels.end() || !matches(pattern, found->second)) return key;
  }
  return "";
}

int count_preferred(const PlacementRules& rules, const Labels& labels) {
  return static_cast<int>(std::count_if(rules.prefer.begin(), rules.prefer.end(), [&](const auto& clause) {
    const auto found = labels.find(clause.first);
    return found != labels.end() && matches(clause.second, found->second);
  }));
}

std::int64_t memory_given(const PlacementRules& rules) {
  return static_cast<std::int64_t>(rules.memory_gib * 1024 * 1024 * 1024);
}

std::string placement_text(const PlacementRules& rules) {
  Json out = Json::object();
  for (const auto& [key, value] : rules.alike) {
    out["alike"].push_back(key);
    if (!value.empty()) out["settled"][key] = value;
  }
  if (rules.devices != 1) out["devices"] = rules.devices;
  if (rules.memory_gib > 0) out["memory_gib"] = rules.memory_gib;
  if (!rules.prefer.empty()) out["prefer"] = rules.prefer;
  if (!rules.require.empty()) out["require"] = rules.require;
  return out.empty() ? "" : out.dump();
}

absl::StatusOr<PlacementRules> read_placement(const Json& json) {
  if (!json.is_object()) return refuse_placement("placement must be a mapping", "placement");
  PlacementRules out;
  for (const auto& [key, value] : json.items()) {
    if (key == "devices") {
      LOCUS_ASSIGN_OR_RETURN(out.devices, read_devices(value));
      continue;
    }
    if (key == "memory_gib") {
      LOCUS_ASSIGN_OR_RETURN(out.memory_gib, read_memory(value));
      continue;
    }
    if (key == "alike") {
      LOCUS_ASSIGN_OR_RETURN(out.alike, read_alike(value));
      continue;
    }
    if (key != "require" && key != "prefer") {
      return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kUnknownKey,
                        "placement has no key '" + key + "' (known: alike, devices, memory_gib, prefer, require)",
                        "placement." + key);
    }
    LOCUS_ASSIGN_OR_RETURN((key == "require" ? out.require : out.prefer), read_clauses(value, "placement." + key));
  }
  return out;
}

PlacementPtr stored_placement(const std::string& text) {
  if (text.empty()) return nullptr;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return nullptr;
  const Labels settled = read_labels(json.value("settled", Json::object()));
  json.erase("settled");
  auto rules = read_placement(json);
  if (!rules.ok()) return nullptr;
  for (auto& [key, value] : rules->alike) {
    if (const auto found = settled.find(key); found != settled.end()) value = found->second;
  }
  return std::make_shared<const PlacementRules>(*std::move(rules));
}

std::string with_settled(const std::string& rules, const std::string& former) {
  const PlacementPtr now = stored_placement(rules), before = stored_placement(former);
  if (!now || !before) return rules;
  PlacementRules out = *now;
  for (auto& [key, value] : out.alike) {
    const auto settled = before->alike.find(key);
    const auto required = out.require.find(key);
    if (settled == before->alike.end()) continue;
    if (required == out.require.end() || matches(required->second, settled->second)) value = settled->second;
  }
  return placement_text(out);
}

Labels WorkerLabels::effective() const {
  Labels out = granted;
  for (const auto& [key, value] : announced) {
    if (key.starts_with(kNodeLabel)) out.emplace(key, value);
  }
  return out;
}

std::string labels_text(const WorkerLabels& labels) {
  if (labels.granted.empty() && labels.announced.empty()) return "";
  return Json{{"announced", labels.announced}, {"granted", labels.granted}}.dump();
}

WorkerLabels stored_labels(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {};
  return {.granted = read_labels(json.value("granted", Json::object())),
          .announced = read_labels(json.value("announced", Json::object()))};
}

}  // namespace locus
