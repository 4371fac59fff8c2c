// Whether the rows of a table may be compared.
#include "server/analysis/comparability.h"

#include <algorithm>
#include <set>

namespace locus::server {
namespace {

std::string join(const std::set<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

std::vector<std::string> environment_warnings(const TableSource& source) {
  std::map<std::string, std::int64_t> groups;  // row key -> pair group
  for (const OutlineCell& cell : source.outline.cells) groups[cell.row_key] = cell.pair_group;
  std::map<std::int64_t, std::int64_t> group_of_cell;
  for (const CellRow& cell : source.cells) {
    if (const auto found = groups.find(cell.row_key); found != groups.end())
      group_of_cell[cell.ordinal] = found->second;
  }
  // (group or cell, stage kind, property) -> values seen. Groups matter only where there is something to compare
  // with.
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::set<std::string>> seen;
  for (const TrialView& trial : source.trials) {
    const auto group = group_of_cell.find(trial.trial.cell);
    if (trial.trial.retired || group == group_of_cell.end()) continue;
    for (const TrialStageView& stage : trial.stages) {
      const auto found = source.environments.find(stage.stage.id);
      if (found == source.environments.end()) continue;
      const Json environment = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
      if (!environment.is_object()) continue;
      for (const char* property : {"device", "dtype", "threads", "path"}) {
        if (!environment.contains(property)) continue;
        // Which path runs follows from a prior's forms, and all paths compute one algebra: rows may differ, a row's
        // seeds may not. Cells are told from groups by their sign.
        const bool per_row = std::string_view(property) == "path";
        const std::int64_t key = per_row ? -1 - trial.trial.cell : source.outline.has_baseline ? group->second : 0;
        seen[{key, stage.stage.kind, property}].insert(text_of(environment[property]));
      }
    }
  }
  std::map<std::string, std::set<std::string>> sentences;  // one for all groups that say the same
  for (const auto& [key, values] : seen) {
    if (values.size() > 1) {
      const std::string among = std::get<0>(key) < 0 ? " among one row's seeds in " : " in ";
      sentences["mixed " + std::get<2>(key) + among + std::get<1>(key) + " stages"].merge(std::set(values));
    }
  }
  std::vector<std::string> out;
  for (const auto& [what, values] : sentences) {
    out.push_back(what + " (" + join(values) + "): differences between rows may come from it");
  }
  return out;
}

}  // namespace locus::server
