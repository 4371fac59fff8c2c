// What the cells of a paper table ran on.
#include "server/analysis/paper_environment.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/base/json.h"

namespace locus::server {
namespace {

constexpr std::array<const char*, 5> kProperties = {"device", "dtype", "threads", "build", "path"};
constexpr std::size_t kDevice = 0, kPath = 4;

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
  return out;
}

Seen of_cell(const CellOrigin& origin, const std::vector<Environment>& environments) {
  Seen out;
  for (const auto& [kind, environment] : origin.environments) {
    for (std::size_t p = 0; p < kProperties.size(); ++p) {
      const std::string& value = environments[static_cast<std::size_t>(environment)][p];
      if (!value.empty()) out[{kind, p}].insert(value);
    }
  }
  return out;
}

std::string join(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

EnvironmentFindings compare_environments(const PaperGrid& grid) {
  std::vector<Environment> environments;
  for (const std::string& text : grid.environments) environments.push_back(read(text));
  std::vector<Seen> cells;
  for (const CellOrigin& origin : grid.origins) cells.push_back(of_cell(origin, environments));
  std::vector<Seen> columns(grid.columns.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (const auto& [key, values] : cells[i]) {
      if (key.second != kPath) columns[i % columns.size()][key].insert(values.begin(), values.end());
    }
  }
  EnvironmentFindings out;
  out.flags.resize(cells.size());
  std::map<std::pair<int, std::size_t>, std::set<std::string>> mixed;
  std::map<std::pair<int, std::size_t>, int> counts;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int reference = grid.groups[i].reference;
    const Seen& others =
        reference >= 0 ? cells[static_cast<std::size_t>(reference)] : columns[i % columns.size()];
    for (const auto& [key, values] : cells[i]) {
      std::set<std::string> all = values;
      if (key.second != kPath) {
        if (const auto found = others.find(key); found != others.end())
          all.insert(found->second.begin(), found->second.end());
      }
      if (all.size() < 2) continue;
      const std::string flag = key.second == kDevice ? kMixedDevices : kMixedEnvironment;
      if (std::find(out.flags[i].begin(), out.flags[i].end(), flag) == out.flags[i].end())
        out.flags[i].push_back(flag);
      mixed[key].insert(all.begin(), all.end());
      ++counts[key];
    }
  }
  for (const auto& [key, values] : mixed) {
    out.sentences.push_back("mixed " + std::string(kProperties[key.second]) + " in " +
                            grid.kinds[static_cast<std::size_t>(key.first)] + " stages (" + join(values) +
                            ") of " + std::to_string(counts[key]) + (counts[key] == 1 ? " cell" : " cells") +
                            ": differences may come from it");
  }
  return out;
}

}  // namespace locus::server
