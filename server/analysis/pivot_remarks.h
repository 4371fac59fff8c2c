// What a reader of the pivot table must know: flags of cells, warnings, and what the marks mean. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/statistics/pivot.h"
#include "locus/v1/analysis_service.pb.h"
#include "server/analysis/pivot_axes.h"
#include "server/analysis/pivot_grid.h"

namespace locus::server {

inline constexpr char kVaryingTimes[] = "varying-times";
// "missing-seeds", "failed-seeds", "not-finite", "unpaired", "no-spread", "varying-times". `unit`: of the metric.
std::vector<std::string> cell_flags(const PivotCellNumbers& cell, const std::string& unit);

// "only the prior differs", or what else does between the cells, across experiments too.
std::string what_differs(const PivotSources& sources, const PivotAxes& axes);

struct Remarked {
  const PivotSources& sources;
  const PivotAxes& axes;
  const PivotGrid& grid;
  const PivotInput& input;
  const PivotNumbers& numbers;
  const EnvironmentFindings& environments;
  bool matched = false;  // an experiment declares the matched protocol
};
// Warnings and notes of a table whose headings and cells are filled.
void add_remarks(const Remarked& from, v1::PaperTable* out);

}  // namespace locus::server
