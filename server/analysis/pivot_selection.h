// What a pivot table shows: its axes, its filters, and the cells of the experiments that remain. Pure.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "server/analysis/pivot_axes.h"

namespace locus::server {

// One cell of one experiment at one metric and label set.
struct PivotEntry {
  std::size_t source = 0, cell = 0, metric = 0;
  int label_set = kAbsent;  // index; kAbsent: nothing measured yet
  std::vector<int> at;      // on all axes
};

struct PivotSelection {
  std::vector<int> row_axes, column_axes;
  std::map<int, std::set<int>> filters;  // axis -> admitted values
  std::vector<PivotEntry> entries;
  std::vector<std::map<std::int64_t, std::vector<const PivotTrial*>>> trials;  // by source, by ordinal of the cell
  std::map<int, std::set<int>> fixed_labels;  // label axes that the table does not have: the values shown
  bool labels_dropped = false;                // other values of those exist
  bool collide = false;                       // two experiments measured one setting and seed by different stages

  bool used(int axis) const;               // as rows or columns
  bool pinned(int axis, int value) const;  // a filter leaves this value alone
};

// Errors as make_grid's.
absl::StatusOr<PivotSelection> select_entries(const PivotSources& sources, const PivotAxes& axes,
                                              const v1::GetPaperTableRequest& request);

}  // namespace locus::server
