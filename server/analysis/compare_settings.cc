// Settings side by side.
#include "server/analysis/compare_settings.h"

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/catalog/catalog.h"

namespace locus::server {
namespace {

constexpr char kPrior[] = "prior", kSeed[] = "seed", kRevisions[] = "revisions.", kExtensions[] = "extensions.";
constexpr std::size_t kTitleParts = 3;

using Flat = std::map<std::string, std::string>;

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void walk(const Json& value, const std::string& path, Flat* out) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) walk(member, path.empty() ? key : path + "." + key, out);
  } else {
    (*out)[path] = dumped(value);
  }
}

// An item of the catalog with its options: its id at `id_path`, the rest below `section`.
void add_item(const Json& item, const std::string& id_path, const std::string& section, Flat* out) {
  for (const auto& [key, value] : item.items()) {
    if (key == "id") {
      (*out)[id_path] = dumped(value);
    } else if (key == "options") {
      if (!value.empty()) walk(value, section, out);
    } else {
      walk(value, section + "." + key, out);
    }
  }
}

// [{"id": "violin", "options": {...}}] as specifications write it: [{"violin": {...}}].
Json as_written(const Json& priors) {
  Json out = Json::array();
  for (const Json& prior : priors) {
    Json options = prior.value("options", Json::object());
    if (prior.contains("stages")) options["stages"] = prior["stages"];
    out.push_back({{prior.value("id", ""), std::move(options)}});
  }
  return out;
}

Flat of_stage(const std::string& role, const Json& config) {
  Flat out;
  for (const auto& [key, value] : config.items()) {
    if (key == "inputs" || key == "kind" || key == "exclusive") continue;  // they follow from the rest
    if (key == "priors") {
      out[kPrior] = dumped(as_written(value));
    } else if (value.is_object() && value.contains("id")) {
      const auto& sections = sections_of_every();
      const auto section = std::find_if(sections.begin(), sections.end(),
                                        [&key = key](const Section& one) { return one.member == key; });
      const bool own = section != sections.end();  // others are called as they are
      add_item(value, own ? section->id_path : key, own ? section->key : key, &out);
    } else if (key == "stage") {
      const Json options = value.value("options", Json::object());
      if (!options.empty()) walk(options, role, &out);
    } else {
      walk(value, key, &out);
    }
  }
  return out;
}

// The options of every prior by path: "prior.violin.sigma".
Flat options_of(const std::string& prior) {
  const Json list = Json::parse(prior, nullptr, /*allow_exceptions=*/false);
  Flat out;
  if (!list.is_array()) return out;
  for (const Json& one : list) {
    for (const auto& [id, options] : one.items()) {
      if (options.empty()) out[std::string(kPrior) + "." + id] = "{}";
      if (!options.empty()) walk(options, std::string(kPrior) + "." + id, &out);
    }
  }
  return out;
}

std::vector<std::string> by_side(const std::vector<Flat>& sides, const std::string& path) {
  std::vector<std::string> out;
  for (const Flat& side : sides) {
    const auto found = side.find(path);
    out.push_back(found == side.end() ? "" : found->second);
  }
  return out;
}

bool all_equal(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [&](const auto& one) { return one == values.front(); });
}

std::set<std::string> paths_of(const std::vector<Flat>& sides) {
  std::set<std::string> out;
  for (const Flat& side : sides) {
    for (const auto& [path, value] : side) out.insert(path);
  }
  return out;
}

// The revision of a catalog item is no setting, nor is the code of others: a side that lacks it
// lacks the item, which shows by itself.
// Listed only where sides have the item at different ones.
bool only_says_what_is_used(const std::string& path, const std::vector<std::string>& values) {
  if (!path.starts_with(kRevisions) && !path.starts_with(kExtensions)) return false;
  std::set<std::string> revisions(values.begin(), values.end());
  revisions.erase("");
  return revisions.size() <= 1;
}

std::string text_of(const std::string& json) {
  const Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return json;
  std::string out;
  for (const Json& one : value) out += (out.empty() ? "" : ", ") + text_of(dumped(one));
  return out;
}

// Priors by their labels, unless these say nothing of the difference.
std::vector<std::string> texts_of(const std::vector<ComparedSide>& sides, const std::string& path,
                                  const std::vector<std::string>& values) {
  std::vector<std::string> out;
  for (const std::string& value : values) out.push_back(value.empty() ? "" : text_of(value));
  if (path != kPrior) return out;
  std::map<std::string, std::set<std::string>> meanings;  // of each label
  for (std::size_t i = 0; i < sides.size(); ++i) meanings[sides[i].prior].insert(values[i]);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!sides[i].prior.empty() && meanings[sides[i].prior].size() == 1) out[i] = sides[i].prior;
  }
  return out;
}

void fill_parts(const std::vector<std::string>& priors, v1::ComparedSetting* out) {
  std::vector<Flat> options;
  for (const std::string& prior : priors) options.push_back(options_of(prior));
  for (const std::string& path : paths_of(options)) {
    const std::vector<std::string> values = by_side(options, path);
    if (all_equal(values)) continue;
    auto* part = out->add_parts();
    part->set_path(path);
    for (const std::string& value : values) part->add_values_json(value);
  }
}

// What is said of one side: "violin", "lr=0.001", "seed 2".
std::string said(const std::string& path, const std::string& text) {
  if (path == kPrior) return text;
  if (path == kSeed) return "seed " + text;
  return path.substr(path.rfind('.') + 1) + "=" + text;
}

// The values that differ make the titles, the prior first; where these are too many or too few to tell the
// items apart, so do the items' names.
void fill_titles(const std::vector<ComparedSide>& sides, v1::Comparison* out) {
  std::vector<const v1::ComparedSetting*> telling;
  for (const v1::ComparedSetting& one : out->differing()) {
    if (!one.path().starts_with(kRevisions) && !one.path().starts_with(kExtensions)) telling.push_back(&one);
  }
  std::stable_sort(telling.begin(), telling.end(),
                   [](const auto* a, const auto* b) { return (a->path() == kPrior) > (b->path() == kPrior); });
  if (telling.size() > kTitleParts) telling.resize(kTitleParts);
  std::map<std::string, int> uses;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::string title;
    for (const v1::ComparedSetting* one : telling) {
      const std::string& text = one->values(static_cast<int>(i));
      if (!text.empty()) title += (title.empty() ? "" : ", ") + said(one->path(), text);
    }
    if (title.empty()) title = sides[i].prior.empty() ? sides[i].name : sides[i].prior;
    ++uses[title];
    titles.push_back(std::move(title));
  }
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const bool alone = uses[titles[i]] == 1 || titles[i] == sides[i].name;
    out->mutable_items(static_cast<int>(i))->set_title(alone ? titles[i] : titles[i] + " \xC2\xB7 " + sides[i].name);
  }
}

}  // namespace

std::map<std::string, std::string> settings_of(const std::vector<std::pair<std::string, std::string>>& configs) {
  Flat out;
  for (const auto& [role, text] : configs) {
    const Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!config.is_object()) continue;
    for (const auto& [path, value] : of_stage(role, config)) {
      const auto [at, fresh] = out.emplace(path, value);
      if (!fresh && at->second != value) out[role + "." + path] = value;  // stages that disagree are told apart
    }
  }
  return out;
}

void fill_settings(const std::vector<ComparedSide>& sides, v1::Comparison* out) {
  std::vector<Flat> settings;
  for (const ComparedSide& side : sides) settings.push_back(side.settings);
  for (const std::string& path : paths_of(settings)) {
    const std::vector<std::string> values = by_side(settings, path);
    if (only_says_what_is_used(path, values)) continue;
    auto* setting = all_equal(values) ? out->add_common() : out->add_differing();
    setting->set_path(path);
    for (const std::string& value : values) setting->add_values_json(value);
    for (const std::string& text : texts_of(sides, path, values)) setting->add_values(text);
    if (path == kPrior && !all_equal(values)) fill_parts(values, setting);
  }
  fill_titles(sides, out);
}

}  // namespace locus::server
