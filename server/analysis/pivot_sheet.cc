// Rounds and marks the pivot table.
#include "server/analysis/pivot_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace locus::server {
namespace {

std::string fixed(double value, int digits, bool sign = false) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];  // a double has at most 309 digits before the point
  std::snprintf(text, sizeof text, sign ? "%+.*f" : "%.*f", digits, value);
  return text;
}

std::string interval(double low, double high, int digits) {
  return "[" + fixed(low, digits) + ", " + fixed(high, digits) + "]";
}

std::string title_of(const v1::PaperTable& table) {
  std::vector<std::string> parts;
  for (const v1::TableHeading& column : table.columns()) {
    std::string text = column.metric();
    if (!column.unit().empty()) text += " (" + column.unit() + ")";
    if (!column.split().empty()) text += " on " + column.split();
    if (column.reduce() != "last" && !column.reduce().empty()) text += ", " + column.reduce();
    if (!column.direction().empty()) text += column.direction() == "min" ? ", lower is better" : ", higher is better";
    if (std::find(parts.begin(), parts.end(), text) == parts.end()) parts.push_back(std::move(text));
  }
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

SheetCell make_cell(const v1::PaperCell& from, const v1::TableHeading& column, const v1::GetPaperTableRequest& request,
                    int digits, int usual) {
  SheetCell out;
  for (const std::string& trial : from.trials()) out.trials.push_back(trial);
  out.flagged = from.flags_size() > 0;
  if (from.n() == 0) {
    out.mean = "-";
    return out;
  }
  out.mean = fixed(from.mean(), digits);
  if (column.top_seeds() > 0) out.all = "all " + fixed(from.mean_all(), digits);
  const std::string spread = request.spread().empty() ? "std" : request.spread();
  if (spread == "std" && std::isfinite(from.std())) out.spread = fixed(from.std(), digits);
  if (spread == "interval" && std::isfinite(from.low())) out.spread = interval(from.low(), from.high(), digits);
  out.interval = spread == "interval";
  if (request.differences() && std::isfinite(from.difference()))
    out.difference = fixed(from.difference(), digits, true);
  if (from.n() != usual) out.count = "n = " + std::to_string(from.n());
  if (from.seeds_needed() > 0) out.seeds = std::to_string(from.seeds_needed()) + " seeds";
  out.best = from.best();
  out.second = from.second();
  out.significant = from.significant();
  return out;
}

// Neighbors that say the same share a heading, unless an outer line parts them.
class Heads {
 public:
  Heads(const v1::PaperTable& table, const std::vector<std::string>& metrics, Sheet& out)
      : table_(table), metrics_(metrics), out_(out), parted_(static_cast<std::size_t>(table.columns_size()), false) {
    if (!parted_.empty()) parted_.front() = true;
  }

  // A line for each column axis, above it one with its name; metrics name themselves.
  void make() {
    const int axes = table_.column_axes_size();
    for (int axis = 0; axis < axes; ++axis) {
      if (table_.column_axes(axis) != "metric") name_axis(table_.column_axes(axis));
      add_values(axis, axis + 1 == axes);
    }
    if (axes == 0) add_values(axes, true);
  }

 private:
  void name_axis(const std::string& name) {
    auto& heads = out_.heads.emplace_back();
    for (const bool apart : parted_) {
      if (apart) heads.push_back({name, 1, true});
      if (!apart) ++heads.back().span;
    }
    add_summaries(false);
  }

  void add_values(int axis, bool last) {
    auto& heads = out_.heads.emplace_back();
    for (int c = 0; c < table_.columns_size(); ++c) {
      const v1::TableHeading& column = table_.columns(c);
      std::string text = axis < table_.column_axes_size() ? column.labels(axis) : column.metric();
      if (last && column.baseline()) text += " (baseline)";
      const auto at = static_cast<std::size_t>(c);
      parted_[at] = parted_[at] || last || column.labels(axis) != table_.columns(c - 1).labels(axis);
      if (parted_[at]) heads.push_back({std::move(text), 1});
      if (!parted_[at]) ++heads.back().span;
    }
    add_summaries(last);
  }

  void add_summaries(bool last) {
    for (const std::string& metric : metrics_) {
      const std::string prefix = metrics_.size() > 1 ? metric + " " : "";
      for (const char* name : {"mean", "IQM", "rank"}) out_.heads.back().push_back({last ? prefix + name : "", 1});
    }
  }

  const v1::PaperTable& table_;
  const std::vector<std::string>& metrics_;
  Sheet& out_;
  std::vector<bool> parted_;  // by column: something outer, or this, differs from the column before
};

void add_summaries(const v1::PaperTable& table, const std::vector<std::string>& metrics, int digits, Sheet& out) {
  out.summaries.assign(static_cast<std::size_t>(table.rows_size()), std::vector<std::string>(3 * metrics.size(), "-"));
  for (const v1::PaperSummary& one : table.summaries()) {
    const auto metric = std::find(metrics.begin(), metrics.end(), one.metric()) - metrics.begin();
    const auto at = out.summaries[static_cast<std::size_t>(one.row())].begin() + 3 * metric;
    if (one.columns_total() == 0) continue;
    if (!std::isnan(one.mean_rank())) at[2] = fixed(one.mean_rank(), 2);
    if (one.columns() < one.columns_total()) {
      at[0] = std::to_string(one.columns()) + " of " + std::to_string(one.columns_total()) + " columns";
      continue;
    }
    at[0] = fixed(one.mean(), digits);
    at[1] = fixed(one.iqm(), digits);
    if (std::isfinite(one.iqm_low())) at[1] += " " + interval(one.iqm_low(), one.iqm_high(), digits);
  }
}

}  // namespace

Sheet make_sheet(const v1::PaperTable& table, const v1::GetPaperTableRequest& request) {
  const int digits = request.digits() == 0 ? 2 : request.digits();
  Sheet out;
  out.title = title_of(table);
  std::map<int, int> counts;  // n -> cells
  for (const v1::PaperCell& cell : table.cells()) {
    if (cell.n() > 0) ++counts[cell.n()];
  }
  const auto usual =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second <= b.second; });
  const int n = usual == counts.end() ? 0 : usual->first;
  std::vector<std::string> metrics;
  for (const v1::PaperSummary& one : table.summaries()) {
    if (std::find(metrics.begin(), metrics.end(), one.metric()) == metrics.end()) metrics.push_back(one.metric());
  }
  for (const std::string& axis : table.row_axes()) out.row_titles.push_back(axis);
  if (out.row_titles.empty()) out.row_titles.emplace_back();
  Heads(table, metrics, out).make();
  for (int r = 0; r < table.rows_size(); ++r) {
    auto& labels = out.rows.emplace_back(table.rows(r).labels().begin(), table.rows(r).labels().end());
    if (labels.empty()) labels.emplace_back();
    if (table.rows(r).baseline()) labels.front() += " (baseline)";
    auto& cells = out.cells.emplace_back();
    for (int c = 0; c < table.columns_size(); ++c)
      cells.push_back(make_cell(table.cells(r * table.columns_size() + c), table.columns(c), request, digits, n));
  }
  add_summaries(table, metrics, digits, out);
  if (n > 0) {
    const std::string spread = request.spread().empty() || request.spread() == "std"
                                   ? "Mean \xC2\xB1 sample standard deviation"
                               : request.spread() == "interval" ? "Mean and Student-t interval"
                                                                : "Mean";
    out.notes.push_back(spread + ", n = " + std::to_string(n) +
                        (counts.size() > 1 ? " unless a cell says otherwise." : "."));
  }
  for (const v1::TableHeading& column : table.columns()) {
    if (column.top_seeds() == 0) continue;
    out.notes.push_back("Of " + column.metric() + " on " + column.split() + ", the mean of the best " +
                        std::to_string(column.top_seeds()) + " seeds by this very number; beside it that of all.");
    break;
  }
  if (request.differences() && !table.baseline().empty())
    out.notes.push_back("In parentheses: the difference from " + table.baseline() + ".");
  if (request.detect() > 0) {
    char size[32];
    std::snprintf(size, sizeof size, "%.4g", request.detect());
    out.notes.push_back("Seeds: how many pairs would show a difference of " + std::string(size) +
                        " with 80 % power (paired t, at the p that the correction asks for first)" +
                        (table.test() == "sign-flip" ? ", and no fewer than the sign-flip test needs." : "."));
  }
  out.notes.insert(out.notes.end(), table.notes().begin(), table.notes().end());
  if (!table.matched().empty()) out.notes.push_back("Between the cells, " + table.matched() + ".");
  out.warnings.assign(table.warnings().begin(), table.warnings().end());
  return out;
}

std::string plain(const SheetCell& cell) {
  std::string out = cell.mean;
  if (!cell.spread.empty()) out += (cell.interval ? " " : " \xC2\xB1 ") + cell.spread;
  if (!cell.all.empty()) out += " (" + cell.all + ")";
  if (!cell.difference.empty()) out += " (" + cell.difference + ")";
  if (cell.significant) out += "*";
  if (cell.flagged) out += "\xE2\x80\xA0";
  if (!cell.count.empty()) out += " " + cell.count;
  if (!cell.seeds.empty()) out += " [" + cell.seeds + "]";
  return out;
}

}  // namespace locus::server
