// The grid of a pivot table.
#include "server/analysis/pivot_grid.h"

#include <algorithm>

#include "core/base/error.h"
#include "server/analysis/looks.h"
#include "server/analysis/pivot_selection.h"

namespace locus::server {
namespace {

constexpr std::size_t kCellsMost = 100'000;

using Coordinates = std::vector<int>;  // on all axes

class Builder {
 public:
  Builder(const PivotSources& sources, const PivotAxes& axes, PivotSelection selection)
      : sources_(sources), axes_(axes), selection_(std::move(selection)), entries_(selection_.entries) {
    grid_.row_axes = selection_.row_axes;
    grid_.column_axes = selection_.column_axes;
    grid_.fixed_labels = selection_.fixed_labels;
    grid_.labels_dropped = selection_.labels_dropped;
  }

  absl::StatusOr<PivotGrid> build() {
    LOCUS_RETURN_IF_ERROR(make_headings());
    find_left_out();
    fill();
    compare();
    return std::move(grid_);
  }

 private:
  bool used(int axis) const { return selection_.used(axis); }

  Coordinates project(const Coordinates& at, const std::vector<int>& side) const {
    Coordinates out;
    for (const int axis : side) out.push_back(at[static_cast<std::size_t>(axis)]);
    return out;
  }

  // Headings in the order of their axes' values.
  std::vector<Coordinates> sorted(const std::set<Coordinates>& points, const std::vector<int>& side) const {
    std::vector<std::vector<int>> orders;
    for (const int axis : side) orders.push_back(axes_.axes[static_cast<std::size_t>(axis)].order());
    std::vector<std::pair<Coordinates, Coordinates>> ranked;
    for (const Coordinates& point : points) {
      Coordinates rank;
      for (std::size_t i = 0; i < point.size(); ++i)
        rank.push_back(point[i] == kAbsent ? -1 : orders[i][static_cast<std::size_t>(point[i])]);
      ranked.emplace_back(std::move(rank), point);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<Coordinates> out;
    for (auto& [rank, point] : ranked) out.push_back(std::move(point));
    return out;
  }

  absl::Status make_headings() {
    std::map<Coordinates, Look> rows;
    std::map<Coordinates, int> columns;  // with the metric
    std::set<Coordinates> column_points;
    // A entry without any measurement keeps its row and its column, unless the column exists with labels.
    for (const PivotEntry& entry : entries_) {
      rows.try_emplace(project(entry.at, grid_.row_axes), look_of(entry));
      if (entry.label_set == kAbsent) continue;
      columns.emplace(project(entry.at, grid_.column_axes), static_cast<int>(entry.metric));
    }
    for (const PivotEntry& entry : entries_) {
      if (entry.label_set == kAbsent && !has_column(entry, columns))
        columns.emplace(project(entry.at, grid_.column_axes), static_cast<int>(entry.metric));
    }
    for (const auto& [point, metric] : columns) column_points.insert(point);
    if (rows.size() * columns.size() > kCellsMost) {
      return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                        "the table would have " + std::to_string(rows.size()) + " rows and " +
                            std::to_string(columns.size()) + " columns, more than " + std::to_string(kCellsMost) +
                            " cells; filter with `where` or leave an axis out",
                        "rows");
    }
    std::set<Coordinates> row_points;
    for (const auto& [point, look] : rows) row_points.insert(point);
    for (Coordinates& point : sorted(row_points, grid_.row_axes)) {
      row_of_[point] = static_cast<int>(grid_.rows.size());
      grid_.rows.push_back({.at = point, .look = rows.at(point)});
    }
    for (Coordinates& point : sorted(column_points, grid_.column_axes)) {
      column_of_[point] = static_cast<int>(grid_.columns.size());
      const int metric = columns.at(point);
      grid_.columns.push_back({std::move(point), false, metric});
    }
    return absl::OkStatus();
  }

  Look look_of(const PivotEntry& entry) {
    const PivotSource& source = sources_.experiments[entry.source];
    const auto [looks, fresh] = looks_.try_emplace(entry.source);
    if (fresh) looks->second = looks_of(*source.outline, source.cells);
    const auto found = looks->second.find(source.cells[entry.cell].ordinal);
    return found == looks->second.end() ? Look{} : found->second;
  }

  // Whether some column agrees with an unmeasured entry in everything but the labels.
  bool has_column(const PivotEntry& entry, const std::map<Coordinates, int>& columns) const {
    return std::any_of(columns.begin(), columns.end(), [&](const auto& column) { return fits(entry, column.first); });
  }
  bool fits(const PivotEntry& entry, const Coordinates& column) const {
    for (std::size_t i = 0; i < column.size(); ++i) {
      const int axis = grid_.column_axes[i];
      if (axis <= static_cast<int>(axes_.metric) && column[i] != entry.at[static_cast<std::size_t>(axis)]) return false;
    }
    return true;
  }

  void find_left_out() {
    const int experiment = static_cast<int>(axes_.experiment);
    for (int axis = 0; axis <= experiment; ++axis) {
      if (used(axis)) continue;
      std::map<std::pair<Coordinates, Coordinates>, std::set<int>> seen;
      bool varies = false;
      for (const PivotEntry& entry : entries_) {
        auto& values = seen[{project(entry.at, grid_.row_axes), project(entry.at, grid_.column_axes)}];
        values.insert(entry.at[static_cast<std::size_t>(axis)]);
        varies |= values.size() > 1;
      }
      if (varies && (axis != experiment || selection_.collide)) grid_.left_out.push_back(axis);
    }
  }

  // Trials of one unit and seed are the same measurement, whichever experiment asked for it.
  int unit_of(const PivotEntry& entry) {
    Coordinates rest;
    for (std::size_t axis = 0; axis < axes_.experiment + (selection_.collide ? 1 : 0); ++axis) {
      if (!used(static_cast<int>(axis))) rest.push_back(entry.at[axis]);
    }
    return units_.emplace(std::move(rest), static_cast<int>(units_.size())).first->second;
  }

  void fill() {
    grid_.groups.resize(grid_.rows.size() * grid_.columns.size());
    grid_.origins.resize(grid_.groups.size());
    for (const PivotEntry& entry : entries_) {
      const int row = row_of_.at(project(entry.at, grid_.row_axes)), unit = unit_of(entry);
      if (entry.label_set != kAbsent) {
        add(entry, row, column_of_.at(project(entry.at, grid_.column_axes)), unit);
        continue;
      }
      for (std::size_t c = 0; c < grid_.columns.size(); ++c) {  // missing wherever it could have been
        if (grid_.columns[c].metric == static_cast<int>(entry.metric) && fits(entry, grid_.columns[c].at))
          add(entry, row, static_cast<int>(c), unit);
      }
    }
  }

  void add(const PivotEntry& entry, int row, int column, int unit) {
    const std::size_t at = static_cast<std::size_t>(row) * grid_.columns.size() + static_cast<std::size_t>(column);
    const PivotSource& source = sources_.experiments[entry.source];
    PivotGroup& group = grid_.groups[at];
    CellOrigin& origin = grid_.origins[at];
    if (const auto stands = source.standing.find(source.cells[entry.cell].ordinal); stands != source.standing.end()) {
      group.untested = true;
      origin.standing.insert(stands->second);
    }
    origin.chosen_by.insert(source.chosen_by);
    for (const PivotTrial* trial : selection_.trials[entry.source].at(source.cells[entry.cell].ordinal)) {
      PivotSample sample{.unit = unit,
                         .seed = trial->seed,
                         .failed = trial->failed,
                         .trial = static_cast<std::int64_t>(origin.trials.size())};
      for (std::size_t i = trial->last; i-- > trial->first;) {  // a later stage wins
        const StageBrief& stage = source.briefs.stages[i];
        if (stage.environment >= 0)
          grid_.environments.add(stage.kind, source.briefs.environments[static_cast<std::size_t>(stage.environment)],
                                 &origin.environments);
        const auto found = source.metrics[entry.metric].by_stage.find(stage.stage);
        if (found == source.metrics[entry.metric].by_stage.end() || sample.measured) continue;
        for (const auto& [set, value] : found->second) {
          if (set != entry.label_set) continue;
          sample.value = value;
          sample.measured = true;
        }
      }
      origin.trials.push_back(source.name + "/" + std::to_string(trial->ordinal));
      group.samples.push_back(sample);
    }
  }

  // Where the baseline lies on the axes whose values are compared; empty without one.
  std::map<int, int> find_baseline() const {
    for (std::size_t s = 0; s < sources_.experiments.size(); ++s) {
      const PivotSource& source = sources_.experiments[s];
      if (!source.outline->has_baseline) continue;
      std::set<std::string> keys;
      for (const OutlineCell& cell : source.outline->cells) {
        if (cell.baseline) keys.insert(cell.row_key);
      }
      for (std::size_t c = 0; c < source.cells.size(); ++c) {
        if (!keys.contains(source.cells[c].row_key)) continue;
        std::map<int, int> out;
        for (const std::string& path : source.outline->compared) {
          const int axis = axes_.find(path);
          if (axis != kAbsent) out[axis] = axes_.cells[s][c][static_cast<std::size_t>(axis)];
        }
        return out;
      }
    }
    return {};
  }

  // Moves a heading's coordinates to the baseline; true if it lay there already.
  static bool move(const std::map<int, int>& baseline, const std::vector<int>& side, Coordinates& at) {
    bool there = true;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const auto value = baseline.find(side[i]);
      if (value == baseline.end() || at[i] == value->second) continue;
      at[i] = value->second;
      there = false;
    }
    return there;
  }

  // "none, same train.lr": what rows or columns beside the baseline's axes have in common with their reference.
  void name_what_is_same(const std::map<int, int>& baseline) {
    std::string same;
    const auto touches = [&](const std::vector<int>& side) {
      return std::any_of(side.begin(), side.end(), [&](int axis) { return baseline.contains(axis); });
    };
    const auto add = [&](const std::vector<int>& side, const std::vector<PivotHeading>& headings) {
      for (std::size_t i = 0; touches(side) && i < side.size(); ++i) {
        std::set<int> seen;
        for (const PivotHeading& heading : headings) seen.insert(heading.at[i]);
        const PivotAxis& axis = axes_.axes[static_cast<std::size_t>(side[i])];
        if (baseline.contains(side[i]) || seen.size() < 2 || axis.kind() == "metric") continue;
        same += (same.empty() ? "" : ", ") + axis.name();
      }
    };
    add(grid_.row_axes, grid_.rows);
    add(grid_.column_axes, grid_.columns);
    if (!same.empty() && !grid_.baseline.empty()) grid_.baseline += ", same " + same;
  }

  void compare() {
    const std::map<int, int> baseline = find_baseline();
    bool any = false;
    for (const auto& [axis, value] : baseline) {
      any |= used(axis);
      if (!used(axis) && !selection_.pinned(axis, value)) return;  // the table averages over what is compared
    }
    if (!any) return;
    const auto touches = [&](const std::vector<int>& side) {
      return std::any_of(side.begin(), side.end(), [&](int axis) { return baseline.contains(axis); });
    };
    for (const auto& [axis, value] : baseline) {
      if (used(axis) && value != kAbsent)
        grid_.baseline += (grid_.baseline.empty() ? "" : ", ") +
                          axes_.axes[static_cast<std::size_t>(axis)].values()[static_cast<std::size_t>(value)].label;
    }
    name_what_is_same(baseline);
    std::vector<int> rows, columns;  // of the reference, kAbsent if the table lacks it
    for (PivotHeading& row : grid_.rows) {
      Coordinates at = row.at;
      row.baseline = move(baseline, grid_.row_axes, at) && touches(grid_.row_axes);
      const auto found = row_of_.find(at);
      rows.push_back(found == row_of_.end() ? kAbsent : found->second);
    }
    for (PivotHeading& column : grid_.columns) {
      Coordinates at = column.at;
      column.baseline = move(baseline, grid_.column_axes, at) && touches(grid_.column_axes);
      const auto found = column_of_.find(at);
      columns.push_back(found == column_of_.end() ? kAbsent : found->second);
    }
    const int width = static_cast<int>(grid_.columns.size());
    for (std::size_t i = 0; i < grid_.groups.size(); ++i) {
      const int row = rows[i / grid_.columns.size()], column = columns[i % grid_.columns.size()];
      if (row != kAbsent && column != kAbsent) grid_.groups[i].reference = row * width + column;
    }
  }

  const PivotSources& sources_;
  const PivotAxes& axes_;
  const PivotSelection selection_;
  const std::vector<PivotEntry>& entries_;
  PivotGrid grid_;
  std::map<Coordinates, int> row_of_, column_of_, units_;
  std::map<std::size_t, Looks> looks_;  // by source
};

}  // namespace

absl::StatusOr<PivotGrid> make_grid(const PivotSources& sources, const PivotAxes& axes,
                                    const v1::GetPaperTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(PivotSelection selection, select_entries(sources, axes, request));
  return Builder(sources, axes, std::move(selection)).build();
}

EnvironmentFindings compare_environments(const PivotGrid& grid) {
  std::vector<CellEnvironments> cells;
  for (std::size_t i = 0; i < grid.groups.size(); ++i)
    cells.push_back(
        {grid.origins[i].environments, grid.groups[i].reference, static_cast<int>(i % grid.columns.size())});
  return compare_environments(grid.environments, cells, "cell");
}

}  // namespace locus::server
