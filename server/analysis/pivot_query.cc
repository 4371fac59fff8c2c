// The pivot table.
#include "server/analysis/pivot_query.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/tuned.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/statistics/pivot.h"
#include "server/analysis/looks.h"
#include "server/analysis/pivot_axes.h"
#include "server/analysis/pivot_grid.h"
#include "server/analysis/pivot_remarks.h"
#include "server/analysis/pivot_render.h"

namespace locus::server {
namespace {

absl::StatusOr<double> share(double given, double otherwise, const std::string& field) {
  if (given == 0) return otherwise;
  if (given > 0 && given < 1) return given;
  return invalid(field, field + " is a share between 0 and 1, such as " + (field == "level" ? "0.95" : "0.05"));
}

absl::StatusOr<PivotInput> read_options(const v1::GetPaperTableRequest& request) {
  PivotInput out;
  if (request.test() == "paired-t") {
    out.test = PivotTest::kPairedT;
  } else if (request.test() == "welch") {
    out.test = PivotTest::kWelch;
  } else if (!request.test().empty() && request.test() != "sign-flip") {
    return invalid("test", "'" + request.test() + "' is no test; choose sign-flip, paired-t or welch");
  }
  if (!request.correction().empty() && request.correction() != "holm" && request.correction() != "none")
    return invalid("correction", "'" + request.correction() + "' is no correction; choose holm or none");
  out.correct = request.correction() != "none";
  LOCUS_ASSIGN_OR_RETURN(out.level, share(request.level(), 0.95, "level"));
  LOCUS_ASSIGN_OR_RETURN(out.alpha, share(request.alpha(), 0.05, "alpha"));
  if (!std::isfinite(request.detect()) || request.detect() < 0)
    return invalid("detect", "detect is the size of a difference, so it is a positive number");
  out.detect = request.detect();
  if (request.digits() > 0) out.digits = request.digits();
  if (request.digits() < 0 || request.digits() > 15) return invalid("digits", "digits are 0 to 15 after the point");
  if (!request.spread().empty() && request.spread() != "std" && request.spread() != "interval" &&
      request.spread() != "none")
    return invalid("spread", "'" + request.spread() + "' is no spread; choose std, interval or none");
  return out;
}

const char* word(PivotTest test) {
  return test == PivotTest::kSignFlip ? "sign-flip" : test == PivotTest::kPairedT ? "paired-t" : "welch";
}

void fill_heading(const PivotHeading& from, const std::vector<int>& side, const PivotAxes& axes,
                  v1::TableHeading* out) {
  for (std::size_t i = 0; i < side.size(); ++i) {
    const PivotAxis& axis = axes.axes[static_cast<std::size_t>(side[i])];
    const bool absent = from.at[i] == kAbsent;
    out->add_keys(absent ? "null" : axis.values()[static_cast<std::size_t>(from.at[i])].key);
    out->add_labels(absent ? "-" : axis.values()[static_cast<std::size_t>(from.at[i])].label);
  }
  out->set_baseline(from.baseline);
}

void fill_cell(const PivotInput& input, const PivotCellNumbers& from, const CellOrigin& origin, v1::PaperCell* out) {
  out->set_n(static_cast<int>(from.values.size()));
  out->set_mean(from.mean);
  out->set_std(from.std);
  out->set_low(from.low);
  out->set_high(from.high);
  for (const SeedMean& one : from.values) {
    auto* value = out->add_values();
    value->set_seed(one.seed);
    value->set_value(one.value);
    for (const std::int64_t trial : one.trials) {
      const std::string& name = origin.trials[static_cast<std::size_t>(trial)];
      if (one.trials.size() == 1) value->set_trial(name);
      out->add_trials(name);
    }
  }
  for (const std::int64_t seed : from.missing) out->add_missing_seeds(seed);
  for (const std::int64_t seed : from.failed) out->add_failed_seeds(seed);
  out->set_pairs(from.pairs);
  out->set_difference(from.difference);
  out->set_difference_std(from.difference_std);
  out->set_difference_low(from.difference_low);
  out->set_difference_high(from.difference_high);
  if (!std::isnan(from.p) || from.no_spread) out->set_test(word(test_of(input, from)));
  out->set_p(from.p);
  out->set_p_floor(from.floor);
  out->set_p_adjusted(from.adjusted);
  out->set_best(from.best);
  out->set_second(from.second);
  out->set_significant(from.significant);
  out->set_seeds_needed(from.pairs_needed);
  out->set_mean_all(from.mean_all);
  out->set_std_all(from.std_all);
  if (origin.chosen_by.size() == 1) out->set_chosen_by(*origin.chosen_by.begin());
}

void fill_axes(const PivotAxes& axes, v1::PaperTable* out) {
  for (const PivotAxis& axis : axes.axes) {
    auto* item = out->add_axes();
    item->set_name(axis.name());
    item->set_kind(axis.kind());
    const std::vector<int> order = axis.order();
    std::vector<std::size_t> by_rank(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) by_rank[static_cast<std::size_t>(order[i])] = i;
    for (const std::size_t i : by_rank) {
      item->add_keys(axis.values()[i].key);
      item->add_labels(axis.values()[i].label);
    }
  }
}

void fill_summaries(const PivotSources& sources, const PivotNumbers& numbers, v1::PaperTable* out) {
  for (const PivotSummaryNumbers& one : numbers.summaries) {
    auto* summary = out->add_summaries();
    summary->set_row(one.row);
    summary->set_metric(sources.metrics[static_cast<std::size_t>(one.family)].title);
    summary->set_columns(one.columns);
    summary->set_mean(one.mean);
    summary->set_iqm(one.iqm);
    summary->set_iqm_low(one.low);
    summary->set_iqm_high(one.high);
    const bool directed = !sources.metrics[static_cast<std::size_t>(one.family)].direction.empty();
    summary->set_mean_rank(directed ? one.rank : kUndefined);
    summary->set_columns_total(one.of);
  }
}

// What a family of comparisons was corrected over: a sentence for the reader.
std::string correction_of(const PivotSources& sources, const PivotInput& input, const PivotNumbers& numbers) {
  std::string out;
  for (std::size_t family = 0; family < numbers.comparisons.size(); ++family) {
    const int count = numbers.comparisons[family];
    if (count == 0) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " comparison" : " comparisons");
    if (numbers.comparisons.size() > 1) out += " of " + sources.metrics[family].title;
  }
  if (out.empty()) return "";
  return (input.correct ? "holm over " : "none, ") + out;
}

// As the contract of the first experiment says, which completes everything else too.
int top_of(const PivotSources& sources, const PivotMetric& metric) {
  return static_cast<int>(top_seeds(sources.experiments.front().outline->metric, metric.metric, metric.split));
}

void fill_headings(const PivotSources& sources, const PivotAxes& axes, const PivotGrid& grid, v1::PaperTable* out) {
  for (const int axis : grid.row_axes) out->add_row_axes(axes.axes[static_cast<std::size_t>(axis)].name());
  for (const int axis : grid.column_axes) out->add_column_axes(axes.axes[static_cast<std::size_t>(axis)].name());
  for (const PivotHeading& row : grid.rows) {
    auto* heading = out->add_rows();
    fill_heading(row, grid.row_axes, axes, heading);
    to_proto(row.look, heading->mutable_look());
  }
  for (const PivotHeading& column : grid.columns) {
    auto* heading = out->add_columns();
    fill_heading(column, grid.column_axes, axes, heading);
    const PivotMetric& metric = sources.metrics[static_cast<std::size_t>(column.metric)];
    heading->set_metric(metric.metric);
    heading->set_split(metric.split);
    heading->set_unit(metric.unit);
    heading->set_direction(metric.direction);
    heading->set_reduce(metric.reduce);
    heading->set_top_seeds(top_of(sources, metric));
  }
  out->set_baseline(grid.baseline);
}

}  // namespace

absl::StatusOr<v1::PaperTable> pivot_table_of(const PivotSources& sources, const v1::GetPaperTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(PivotInput input, read_options(request));
  const PivotAxes axes = make_axes(sources);
  LOCUS_ASSIGN_OR_RETURN(PivotGrid grid, make_grid(sources, axes, request));
  const EnvironmentFindings environments = compare_environments(grid);
  const bool matched = std::any_of(sources.experiments.begin(), sources.experiments.end(),
                                   [](const PivotSource& one) { return !one.outline->matched_except.empty(); });
  for (const PivotHeading& column : grid.columns) {
    const PivotMetric& metric = sources.metrics[static_cast<std::size_t>(column.metric)];
    const bool chose = std::any_of(sources.experiments.begin(), sources.experiments.end(), [&](const PivotSource& one) {
      return chooses_itself(*one.outline, metric.metric, metric.split);
    });
    input.columns.push_back({.maximize = metric.direction != "min",
                             .family = column.metric,
                             .top = top_of(sources, metric),
                             .untested = chose});
  }
  for (std::size_t i = 0; i < grid.groups.size(); ++i) {
    const auto& flags = environments.flags[i];
    const bool two_engines = std::find(flags.begin(), flags.end(), kMixedEngine) != flags.end();
    grid.groups[i].incomparable = two_engines || (matched && !flags.empty());
  }
  input.cells = std::move(grid.groups);
  const PivotNumbers numbers = compute_pivot(input);

  v1::PaperTable out;
  fill_headings(sources, axes, grid, &out);
  for (std::size_t i = 0; i < numbers.cells.size(); ++i) {
    v1::PaperCell* cell = out.add_cells();
    fill_cell(input, numbers.cells[i], grid.origins[i], cell);
    const v1::TableHeading& column = out.columns(static_cast<int>(i % grid.columns.size()));
    if (column.direction().empty()) {
      cell->set_best(false);
      cell->set_second(false);
    }
    for (const std::string& flag : cell_flags(numbers.cells[i], column.unit())) cell->add_flags(flag);
    for (const std::string& flag : environments.flags[i]) cell->add_flags(flag);
    for (const std::string& flag : grid.origins[i].standing) cell->add_flags(flag);
  }
  fill_summaries(sources, numbers, &out);
  out.set_test(word(input.test));
  out.set_correction(correction_of(sources, input, numbers));
  out.set_level(input.level);
  out.set_alpha(input.alpha);
  out.set_matched(what_differs(sources, axes));
  add_remarks({sources, axes, grid, input, numbers, environments, matched}, &out);
  fill_axes(axes, &out);
  out.set_rows_total(out.rows_size());
  if (!request.format().empty()) {
    LOCUS_ASSIGN_OR_RETURN(*out.mutable_rendered(), render_pivot_table(out, request));
  }
  return out;
}

absl::StatusOr<v1::PaperTable> read_pivot_table(Store& store, OutlineCache& outlines,
                                                const v1::GetPaperTableRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const PivotSources sources, read_pivot_sources(store, outlines, request));
  return pivot_table_of(sources, request);
}

namespace {

v1::PaperTable first_part(const v1::PaperTable& whole, int rows) {
  v1::PaperTable out = whole;
  if (rows >= out.rows_size()) return out;
  out.mutable_rows()->DeleteSubrange(rows, out.rows_size() - rows);
  const int cells = rows * out.columns_size();
  out.mutable_cells()->DeleteSubrange(cells, out.cells_size() - cells);
  auto* summaries = out.mutable_summaries();
  summaries->erase(std::remove_if(summaries->begin(), summaries->end(),
                                  [rows](const v1::PaperSummary& one) { return one.row() >= rows; }),
                   summaries->end());
  return out;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const v1::PaperTable>> PivotTables::get(const v1::GetPaperTableRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_size(request));
  LOCUS_RETURN_IF_ERROR(check_first_rows(request.first_rows()));
  if (request.first_rows() > 0 && !request.format().empty())
    return invalid("first_rows", "first_rows shortens the numbers, not a rendered table; leave out one of the two");
  std::vector<TableVersion> versions;
  for (const std::string& name : request.experiments()) {
    LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(name));
    LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(row.id));
    LOCUS_ASSIGN_OR_RETURN(const TableVersion version, table_version(store_, row, counts));
    versions.push_back(version);
  }
  return kept_.get(request.SerializeAsString(), versions, [&]() -> absl::StatusOr<v1::PaperTable> {
    if (request.first_rows() == 0) return read_pivot_table(store_, outlines_, request);
    v1::GetPaperTableRequest all = request;
    all.clear_first_rows();
    LOCUS_ASSIGN_OR_RETURN(const auto table, get(all));
    return first_part(*table, request.first_rows());
  });
}

}  // namespace locus::server
