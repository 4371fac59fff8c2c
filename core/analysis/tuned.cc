// Which proposal of a search stands for its group.
#include "core/analysis/tuned.h"

#include <algorithm>
#include <cmath>

#include "core/search/course.h"
#include "core/statistics/order_statistics.h"

namespace locus {
namespace {

bool several_proposals(const Outline& outline) { return outline.search && outline.search->proposals > 1; }

std::string standing_of(const PhaseCourse& course, std::size_t unit) {
  const UnitCourse& one = course.units[unit];
  if (one.rung < 0) return "";
  if (course.flags[unit].stopped) return kStopped;
  const bool below = one.rung < course.top(static_cast<std::int64_t>(unit));
  if (course.of_seeds()) return below && one.settled ? kRaced : "";
  return one.state == UnitState::kParked || (below && one.settled) ? kParked : "";
}

// The assignment without what is compared and what is tuned: cells with the same are compared.
std::string rest_of(const Outline& outline, const OutlineCell& cell) {
  Json rest = Json::parse(cell.assignment_json, nullptr, /*allow_exceptions=*/false);
  if (!rest.is_object()) return "";
  for (const std::string& path : outline.compared) rest.erase(path);
  for (const std::string& path : outline.search->space) rest.erase(path);
  return canonical_json(rest);
}

}  // namespace

std::map<std::int64_t, std::string> standings(const Fold& fold) {
  std::map<std::int64_t, std::string> out;
  for (std::size_t phase = 0; phase < fold.phases(); ++phase) {
    const PhaseCourse& course = fold.course(phase);
    for (std::size_t unit = 0; unit < course.units.size(); ++unit) {
      if (std::string standing = standing_of(course, unit); !standing.empty())
        out[course.setup->units[unit].cell] = std::move(standing);
    }
  }
  return out;
}

std::optional<std::set<std::string>> chosen_cells(const Outline& outline, const CellSelections& selections,
                                                  const std::set<std::string>& not_to_the_end) {
  if (!several_proposals(outline)) return std::nullopt;
  const bool maximize = outline.metric.direction != "min";
  std::map<std::int64_t, std::pair<double, const OutlineCell*>> best;  // by group
  std::map<std::int64_t, std::size_t> sizes;
  for (const OutlineCell& cell : outline.cells) {
    if (cell.group < 0) return std::nullopt;
    ++sizes[cell.group];
    const auto found = selections.find(cell.row_key);
    if (found == selections.end() || found->second.seeds < outline.seeds.size() || !std::isfinite(found->second.mean) ||
        not_to_the_end.contains(cell.row_key))
      continue;
    const double score = maximize ? found->second.mean : -found->second.mean;
    const auto [at, fresh] = best.try_emplace(cell.group, score, &cell);
    if (!fresh && score > at->second.first) at->second = {score, &cell};
  }
  const bool any = std::any_of(sizes.begin(), sizes.end(), [](const auto& one) { return one.second > 1; });
  if (!any || best.size() < sizes.size()) return std::nullopt;
  std::set<std::string> out;
  for (const auto& [group, cell] : best) out.insert(cell.second->row_key);
  return out;
}

Outline tuned_outline(const Outline& outline, const std::set<std::string>& chosen) {
  Outline out = outline;
  if (!out.search) return out;
  out.cells.clear();
  out.places.clear();
  std::map<std::string, std::int64_t> groups;
  for (const OutlineCell& cell : outline.cells) {
    if (!chosen.contains(cell.row_key)) continue;
    OutlineCell kept = cell;
    kept.pair_group = groups.emplace(rest_of(outline, cell), static_cast<std::int64_t>(groups.size())).first->second;
    out.places.emplace(kept.row_key, out.cells.size());
    out.cells.push_back(std::move(kept));
  }
  for (const std::string& path : outline.search->space) {
    std::erase(out.factors, path);
    out.values.erase(path);
    out.settings[path] = {"\"tuned\"", "\"tuned\"", "tuned"};
  }
  return out;
}

std::string chosen_by(const Outline& outline, bool one_row_a_group) {
  std::string out = outline.chosen_by;
  if (!one_row_a_group) return out;
  return (out.empty() ? "" : out + "; ") + outline.metric.selects_on + ", the best of " +
         std::to_string(outline.search->proposals);
}

bool chooses_itself(const Outline& outline, const std::string& metric, const std::string& split) {
  return metric == outline.metric.name && split == outline.metric.selects_on &&
         (several_proposals(outline) || outline.chooses);
}

std::int64_t top_seeds(const MetricContract& contract, const std::string& metric, const std::string& split) {
  return metric == contract.name && split == contract.reports ? contract.top_seeds : 0;
}

std::vector<std::string> search_warnings(const Outline& outline, const TableOfSearch& table) {
  std::vector<std::string> out;
  const bool low = outline.metric.direction == "min";
  if (several_proposals(outline)) {
    const auto number = static_cast<int>(outline.search->proposals);
    const std::string same = outline.search->groups.size() < 2 ? ""
                             : outline.search->shared          ? ", the same " + std::to_string(number) + " for all"
                                                               : ", drawn for each of them";
    if (table.one_row_a_group) {
      out.push_back("each row is the best of " + std::to_string(number) + " proposals" + same + ", chosen by " +
                    outline.metric.name + " on " + outline.metric.selects_on + " alone");
    } else if (!outline.tuned.empty()) {
      out.push_back(outline.tuned);
    }
  }
  if (chooses_itself(outline, table.metric, table.split)) {
    std::string curse;
    if (several_proposals(outline)) {
      curse = winner_sentence(static_cast<int>(std::min<std::int64_t>(outline.search->proposals, 1'000'000)),
                              table.split, low) +
              ": ";
    }
    out.push_back(curse + table.split + " chose, so nothing is tested or marked on it; report another split");
  }
  if (const std::int64_t top = top_seeds(outline.metric, table.metric, table.split); top > 0) {
    out.push_back(top_sentence(static_cast<int>(top), static_cast<int>(outline.seeds.size()), table.split, low) +
                  "; the mean of all seeds stands beside it, and neither interval nor test is given");
  }
  for (const auto& [standing, count] : table.standing) {
    out.push_back(std::to_string(count) + (count == 1 ? " row was " : " rows were ") + standing +
                  (standing == kRaced    ? " (out before its seeds were all run)"
                   : standing == kParked ? " (at a rung before the end)"
                                         : " (before the end)") +
                  ": not tested, not marked and not ranked among the rest");
  }
  return out;
}

}  // namespace locus
