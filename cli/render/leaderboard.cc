// Renders tables. The text, Markdown and LaTeX forms share their cells and, but for text, their writer with
// the pivot table (core/statistics/render/document.h); CSV carries every digit.
#include "cli/render/leaderboard.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "cli/render/numbers.h"
#include "cli/render/text_table.h"
#include "core/base/json.h"
#include "core/statistics/render/document.h"
#include "core/statistics/render/escape.h"

namespace locus {
namespace {

using Row = std::vector<std::string>;
struct Grid {
  std::vector<Column> columns;
  std::vector<Row> rows;
};

int decimals_of(const v1::Table& table) {
  double size = 0;
  for (const v1::TableRow& row : table.rows()) {
    if (std::isfinite(row.mean())) size = std::max(size, std::abs(row.mean()));
  }
  return decimals_for(table.unit(), size);
}

std::string plus_minus(double mean, double deviation, int decimals, bool with_sign = false) {
  if (std::isnan(mean)) return "-";
  std::string out = with_sign ? show_signed(mean, decimals) : show_fixed(mean, decimals);
  if (!std::isnan(deviation)) out += " ± " + show_fixed(deviation, decimals);
  return out;
}

std::string interval(double low, double high, int decimals) {
  if (std::isnan(low) || std::isnan(high)) return "-";
  return "[" + show_fixed(low, decimals) + ", " + show_fixed(high, decimals) + "]";
}

std::string label_text(const std::string& labels) {
  const Json json = Json::parse(labels, nullptr, false);
  if (!json.is_object()) return labels;
  std::string out;
  for (const auto& [name, value] : json.items()) {
    out += (out.empty() ? "" : ", ") + name + " ";
    out += value.is_string() ? value.get<std::string>() : value.dump();
  }
  return out;
}

std::string title_of(const v1::Table& table) {
  std::string out = table.experiment() + ": " + table.metric();
  if (!table.unit().empty()) out += " (" + table.unit() + ")";
  if (!table.split().empty()) out += " on " + table.split();
  if (const std::string labels = label_text(table.labels()); !labels.empty()) out += " at " + labels;
  if (!table.reduce().empty() && table.reduce() != "last") out += ", " + table.reduce();
  if (!table.selects_on().empty()) out += " on " + table.selects_on();
  if (!table.direction().empty()) out += table.direction() == "min" ? ", lower is better" : ", higher is better";
  return out + ", " + std::to_string(table.seeds()) + (table.seeds() == 1 ? " seed" : " seeds");
}

constexpr int kAfterMean = 4;  // columns before it

Grid leaderboard_grid(const v1::Table& table) {
  const int decimals = decimals_of(table);
  const bool compared = !table.baseline().empty(), best = table.top_seeds() > 0;
  Grid grid;
  grid.columns = {{"#", Align::kRight},
                  {"prior", Align::kLeft},
                  {"n", Align::kRight},
                  {best ? "mean of the best " + std::to_string(table.top_seeds()) : "mean ± std", Align::kRight},
                  {"95% CI", Align::kRight},
                  {compared ? "vs " + table.baseline() : "difference", Align::kRight},
                  {"p", Align::kRight},
                  {"lowest p", Align::kRight},
                  {"p (Holm)", Align::kRight},
                  {"params +", Align::kRight},
                  {"ms/step", Align::kRight}};
  if (best) grid.columns.insert(grid.columns.begin() + kAfterMean, {"of all ± std", Align::kRight});
  int rank = 0;
  for (const v1::TableRow& row : table.rows()) {
    const bool measured = !std::isnan(row.mean());
    std::string n = std::to_string(row.n());
    if (row.missing_seeds_size() > 0) n += "/" + std::to_string(row.n() + row.missing_seeds_size());
    const bool pairs = compared && row.pairs() > 0;
    std::string difference = row.baseline() ? "baseline" : row.standing();
    if (pairs) difference = plus_minus(row.difference(), row.difference_std(), decimals, true);
    const bool ranked = measured && row.standing().empty() && !table.chose();
    Row cells = {ranked ? std::to_string(++rank) : "-",
                 row.label(),
                 n,
                 plus_minus(row.mean(), row.std(), decimals),
                 interval(row.ci_low(), row.ci_high(), decimals),
                 difference,
                 pairs ? show_p(row.p_sign_flip()) : "",
                 pairs ? show_p(row.p_floor()) : "",
                 pairs ? show_p(row.p_holm()) : "",
                 row.parameters_added() < 0 ? "" : show_count(row.parameters_added()),
                 std::isnan(row.ms_per_step())
                     ? ""
                     : show_fixed(row.ms_per_step(), 1) + (row.times_vary() ? "\xE2\x80\xA0" : "")};
    if (best) cells.insert(cells.begin() + kAfterMean, plus_minus(row.mean_all(), row.std_all(), decimals));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid sweep_grid(const v1::Table& table) {
  std::vector<std::string> labels;  // in order of x, then of first appearance
  std::map<std::string, double> x;
  for (const v1::SweepSeries& series : table.sweep()) {
    for (const v1::SweepPoint& point : series.points()) {
      if (x.emplace(point.labels(), point.x()).second) labels.push_back(point.labels());
    }
  }
  std::stable_sort(labels.begin(), labels.end(), [&x](const auto& a, const auto& b) { return x[a] < x[b]; });
  Grid grid;
  grid.columns = {{"prior", Align::kLeft}};
  for (const std::string& one : labels) grid.columns.push_back({label_text(one), Align::kRight});
  const int decimals = decimals_of(table);
  for (const v1::SweepSeries& series : table.sweep()) {
    Row row = {series.label()};
    row.resize(grid.columns.size(), "-");
    for (const v1::SweepPoint& point : series.points()) {
      const auto at = std::find(labels.begin(), labels.end(), point.labels()) - labels.begin();
      row[static_cast<std::size_t>(at) + 1] = plus_minus(point.mean(), point.std(), decimals);
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

bool has_sweep(const v1::Table& table) {
  return std::any_of(table.sweep().begin(), table.sweep().end(),
                     [](const auto& series) { return series.points_size() > 1; });
}

// ": validation, the best of 32", where all rows were chosen alike.
std::string chosen_by(const v1::Table& table) {
  std::set<std::string> ways;
  for (const v1::TableRow& row : table.rows()) ways.insert(row.chosen_by());
  return ways.size() == 1 && !ways.begin()->empty() ? ": " + *ways.begin() : "";
}

std::vector<std::string> notes_of(const v1::Table& table) {
  std::vector<std::string> out;
  const bool compared = !table.baseline().empty();
  if (table.top_seeds() > 0) {
    out.push_back("Means are over the best " + std::to_string(table.top_seeds()) +
                  " seeds by this very number, as some papers report: they read high. Beside them stands that of all.");
  }
  if (table.chosen())
    out.push_back("Of each group of the search, the proposal that was chosen" + chosen_by(table) + ".");
  if (compared) {
    out.push_back(
        "Differences are paired by seed; p is the exact two-sided sign-flip test, beside it the lowest value "
        "that many pairs can reach.");
  }
  if (!table.correction().empty()) out.push_back("p (Holm) is corrected: " + table.correction() + ".");
  const bool varying =
      std::any_of(table.rows().begin(), table.rows().end(), [](const v1::TableRow& row) { return row.times_vary(); });
  if (varying) out.push_back("\xE2\x80\xA0: times that vary between the seeds: read the warnings.");
  if (!table.matched().empty()) out.push_back("Between the rows, " + table.matched() + ".");
  return out;
}

std::vector<std::string> warnings_of(const v1::Table& table) {
  return {table.warnings().begin(), table.warnings().end()};
}

std::string render_text(const v1::Table& table) {
  const Grid board = leaderboard_grid(table);
  std::string out = printable(title_of(table)) + "\n\n" + render_text_table(board.columns, board.rows);
  if (has_sweep(table)) {
    const Grid sweep = sweep_grid(table);
    out += "\n" + table.metric() + " by " +
           (sweep.columns.size() > 1 ? sweep.columns[1].title.substr(0, sweep.columns[1].title.find(' ')) : "") + "\n" +
           render_text_table(sweep.columns, sweep.rows);
  }
  const auto notes = notes_of(table);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += printable(note) + "\n";
  for (const std::string& warning : table.warnings()) out += "warning: " + printable(warning) + "\n";
  return out;
}

// ---- documents ----

std::string alignment_of(const Grid& grid) {
  std::string out;
  for (const Column& column : grid.columns) out += column.align == Align::kRight ? 'r' : 'l';
  return out;
}

// The means' marks, one a row, where the grid has means to mark.
using Marks = std::vector<Mark>;

Marks marks_of(const v1::Table& table) {
  std::vector<double> means;
  for (const v1::TableRow& row : table.rows())
    means.push_back(row.standing().empty() ? row.mean() : std::numeric_limits<double>::quiet_NaN());
  if (table.direction().empty() || table.chose()) return Marks(means.size(), Mark::kNone);
  return locus::marks_of(means, table.direction() != "min", decimals_of(table));
}

template <class Escape, class Emphasize>
std::vector<DocumentRow> document_rows(const Grid& grid, const Marks& marks, const Escape& escape,
                                       const Emphasize& emphasize) {
  constexpr std::size_t kMeanColumn = 3;
  std::vector<DocumentRow> out;
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    DocumentRow& row = out.emplace_back();
    for (const std::string& cell : grid.rows[r]) row.cells.push_back(escape(cell));
    if (r < marks.size()) row.cells[kMeanColumn] = emphasize(row.cells[kMeanColumn], marks[r]);
  }
  return out;
}

std::string markdown_grid(const Grid& grid, const Marks& marks) {
  std::vector<std::string> titles;
  for (const Column& column : grid.columns) titles.push_back(column.title);
  return markdown_table(alignment_of(grid), titles, document_rows(grid, marks, escape_markdown, markdown_marked));
}

std::string render_markdown(const v1::Table& table) {
  std::string out = markdown_title(title_of(table)) + markdown_grid(leaderboard_grid(table), marks_of(table));
  if (has_sweep(table)) out += "\n" + markdown_grid(sweep_grid(table), {});
  return out + "\n" + markdown_notes(notes_of(table), warnings_of(table));
}

// "83.12 ± 0.25" is one formula; anything else is text.
std::string latex_cell(const std::string& cell) {
  static const std::string kBetween = " \xC2\xB1 ";
  const std::size_t at = cell.find(kBetween);
  if (at == std::string::npos) return escape_latex(cell);
  const std::string mean = cell.substr(0, at), deviation = cell.substr(at + kBetween.size());
  if ((mean + deviation).find_first_not_of("+-.0123456789") != std::string::npos) return escape_latex(cell);
  return "$" + mean + " \\pm " + deviation + "$";
}

std::string latex_grid(const Grid& grid, const Marks& marks) {
  std::vector<std::string> titles;
  for (const Column& column : grid.columns) titles.push_back(escape_latex(column.title));
  return latex_table(alignment_of(grid), latex_line(titles), document_rows(grid, marks, latex_cell, latex_marked));
}

std::string render_latex(const v1::Table& table) {
  std::string out = latex_preface(title_of(table), notes_of(table), warnings_of(table)) +
                    latex_grid(leaderboard_grid(table), marks_of(table));
  if (has_sweep(table)) out += "\n" + latex_grid(sweep_grid(table), {});
  return out;
}

// ---- CSV ----

std::string render_csv(const v1::Table& table) {
  std::string out =
      "rank,label,baseline,n,missing_seeds,mean,std,ci_low,ci_high,pairs,difference,difference_std,"
      "difference_low,difference_high,"
      "p_sign_flip,p_floor,p_t,p_holm,parameters,parameters_added,ms_per_step,ms_per_step_std,selection,"
      "assignment,compared_with,baseline_mean,times_vary,top_seeds,mean_all,std_all,standing,chosen_by\n";
  int rank = 0;
  for (const v1::TableRow& row : table.rows()) {
    std::string missing;
    for (const auto seed : row.missing_seeds()) missing += (missing.empty() ? "" : " ") + std::to_string(seed);
    const auto count = [](std::int64_t value) { return value < 0 ? std::string() : std::to_string(value); };
    const bool ranked = !std::isnan(row.mean()) && row.standing().empty() && !table.chose();
    Row cells = {ranked ? std::to_string(++rank) : "", escape_csv(row.label()), row.baseline() ? "true" : "false",
                 std::to_string(row.n()), missing};
    for (const double value : {row.mean(), row.std(), row.ci_low(), row.ci_high()}) cells.push_back(every_digit(value));
    cells.push_back(std::to_string(row.pairs()));
    for (const double value : {row.difference(), row.difference_std(), row.difference_low(), row.difference_high(),
                               row.p_sign_flip(), row.p_floor(), row.p_t(), row.p_holm()}) {
      cells.push_back(every_digit(value));
    }
    cells.push_back(count(row.parameters()));
    cells.push_back(count(row.parameters_added()));
    for (const double value : {row.ms_per_step(), row.ms_per_step_std(), row.selection()})
      cells.push_back(every_digit(value));
    cells.push_back(escape_csv(row.assignment_json()));
    cells.push_back(escape_csv(row.baseline_label()));
    cells.push_back(every_digit(row.baseline_mean()));
    cells.push_back(row.times_vary() ? "true" : "false");
    cells.push_back(std::to_string(table.top_seeds()));
    for (const double value : {row.mean_all(), row.std_all()}) cells.push_back(every_digit(value));
    for (const std::string* text : {&row.standing(), &row.chosen_by()}) cells.push_back(escape_csv(*text));
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? "," : "") + cells[i];
    out += "\n";
  }
  return out;
}

}  // namespace

std::optional<TableFormat> parse_table_format(std::string_view name) {
  if (name == "table") return TableFormat::kTable;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "markdown") return TableFormat::kMarkdown;
  if (name == "latex") return TableFormat::kLatex;
  return std::nullopt;
}

std::string render_leaderboard(const v1::Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kCsv:
      return render_csv(table);
    case TableFormat::kMarkdown:
      return render_markdown(table);
    case TableFormat::kLatex:
      return render_latex(table);
    case TableFormat::kTable:
      break;
  }
  return render_text(table);
}

std::string render_sweep_csv(const v1::Table& table) {
  std::string out = "label,labels,x,mean,std,n\n";
  for (const v1::SweepSeries& series : table.sweep()) {
    for (const v1::SweepPoint& point : series.points()) {
      out += escape_csv(series.label()) + "," + escape_csv(point.labels()) + "," + every_digit(point.x()) + "," +
             every_digit(point.mean()) + "," + every_digit(point.std()) + "," + std::to_string(point.n()) + "\n";
    }
  }
  return out;
}

}  // namespace locus
