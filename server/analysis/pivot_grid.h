// The pivot: which trials' numbers lie in which cell of the table, and with which cell each is compared.
// Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/analysis/comparability.h"
#include "core/statistics/pivot.h"
#include "server/analysis/pivot_axes.h"

namespace locus::server {

struct PivotHeading {
  std::vector<int> at;  // on the axes of its side
  bool baseline = false;
  int metric = 0;  // of columns
  Look look = {};  // of rows: of the first cell in it
};

// What a cell's numbers come from, beside PivotGroup.
struct CellOrigin {
  std::vector<std::string> trials;    // "NAME/ORDINAL"; PivotSample::trial is an index into it
  Environments::OfCell environments;  // of succeeded stages
  std::set<std::string> standing;     // of cells that their search did not send to the end
  std::set<std::string> chosen_by;    // what chose the cells, empty text: nothing did
};

struct PivotGrid {
  std::vector<int> row_axes, column_axes;  // indices into PivotAxes::axes
  std::vector<PivotHeading> rows, columns;
  std::vector<PivotGroup> groups;             // row by row
  std::vector<CellOrigin> origins;            // likewise
  std::vector<int> left_out;                  // axes that vary within cells
  std::map<int, std::set<int>> fixed_labels;  // label axes that are no axis of the table: the values shown
  bool labels_dropped = false;                // other values of those exist
  std::string baseline;                       // label, empty without one
  Environments environments;                  // of all cells
};

// INVALID_ARGUMENT for an axis nobody knows, one used twice, "metric" among the rows, a filter without such a
// value; RESOURCE_EXHAUSTED for a table of more than 100,000 cells.
absl::StatusOr<PivotGrid> make_grid(const PivotSources& sources, const PivotAxes& axes,
                                    const v1::GetPaperTableRequest& request);

// What the cells ran on, each beside its reference.
EnvironmentFindings compare_environments(const PivotGrid& grid);

}  // namespace locus::server
