// Whether numbers were measured alike.
#include "core/analysis/comparability.h"

#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/base/text.h"

namespace locus {
namespace {

constexpr std::array<const char*, 7> kProperties = {"device", "dtype", "threads", "build", "path", "engine", "world"};
constexpr std::size_t kDevice = 0, kPath = 4, kEngine = 5, kWorld = 6;
constexpr char kOwnEngine[] = "locus", kOneDevice[] = "1";

using Environment = std::array<std::string, kProperties.size()>;
using Seen = std::map<std::pair<int, std::size_t>, std::set<std::string>>;  // stage kind, property -> values

// Of a device its kind counts: "cuda:1" is as good as "cuda:0".
Environment read(const std::string& text) {
  Environment out;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return out;
  for (std::size_t p = 0; p < kProperties.size(); ++p) {
    const auto found = json.find(kProperties[p]);
    if (found == json.end()) continue;
    out[p] = found->is_string() ? found->get<std::string>() : found->dump();
    if (p == kDevice) out[p] = out[p].substr(0, out[p].find(':'));
  }
  if (out[kEngine].empty()) out[kEngine] = kOwnEngine;
  if (out[kWorld].empty()) out[kWorld] = kOneDevice;
  return out;
}

// What a sentence calls it.
std::string name_of(std::size_t property) { return property == kWorld ? "number of devices" : kProperties[property]; }

Seen seen_in(const Environments::OfCell& stages, const std::vector<Environment>& environments) {
  Seen out;
  for (const auto& [kind, environment] : stages) {
    for (std::size_t p = 0; p < kProperties.size(); ++p) {
      const std::string& value = environments[static_cast<std::size_t>(environment)][p];
      if (!value.empty()) out[{kind, p}].insert(value);
    }
  }
  return out;
}

int place_of(const std::string& text, std::map<std::string, int>& places, std::vector<std::string>& all) {
  const auto [at, fresh] = places.try_emplace(text, static_cast<int>(all.size()));
  if (fresh) all.push_back(text);
  return at->second;
}

}  // namespace

void Environments::add(const std::string& kind, const std::string& environment, OfCell* cell) {
  cell->emplace(place_of(kind, kind_places_, kinds_), place_of(environment, text_places_, texts_));
}

EnvironmentFindings compare_environments(const Environments& environments, const std::vector<CellEnvironments>& cells,
                                         const std::string& noun) {
  std::vector<Environment> read_ones;
  for (const std::string& text : environments.texts()) read_ones.push_back(read(text));
  std::vector<Seen> seen;
  std::map<int, Seen> columns;
  for (const CellEnvironments& cell : cells) {
    seen.push_back(seen_in(cell.stages, read_ones));
    for (const auto& [key, values] : seen.back()) {
      if (key.second != kPath) columns[cell.column][key].insert(values.begin(), values.end());
    }
  }
  EnvironmentFindings out;
  out.flags.resize(cells.size());
  std::map<std::pair<int, std::size_t>, std::set<std::string>> mixed;
  std::map<std::pair<int, std::size_t>, int> counts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int reference = cells[i].reference;
    const Seen& others = reference >= 0 ? seen[static_cast<std::size_t>(reference)] : columns[cells[i].column];
    for (const auto& [key, values] : seen[i]) {
      std::set<std::string> all = values;
      if (key.second != kPath) {
        if (const auto found = others.find(key); found != others.end())
          all.insert(found->second.begin(), found->second.end());
      }
      if (all.size() < 2) continue;
      const bool devices = key.second == kDevice || key.second == kWorld;
      const std::string flag = devices ? kMixedDevices : key.second == kEngine ? kMixedEngine : kMixedEnvironment;
      if (std::find(out.flags[i].begin(), out.flags[i].end(), flag) == out.flags[i].end()) out.flags[i].push_back(flag);
      mixed[key].insert(all.begin(), all.end());
      ++counts[key];
    }
  }
  for (const auto& [key, values] : mixed) {
    out.sentences.push_back("mixed " + name_of(key.second) + " in " +
                            environments.kinds()[static_cast<std::size_t>(key.first)] + " stages (" + joined(values) +
                            ") of " + std::to_string(counts[key]) + " " + noun + (counts[key] == 1 ? "" : "s") +
                            ": differences may come from it");
  }
  return out;
}

}  // namespace locus
