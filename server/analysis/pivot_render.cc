// Writes the pivot table as a document.
#include "server/analysis/pivot_render.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/statistics/render/document.h"
#include "core/statistics/render/escape.h"
#include "server/analysis/pivot_sheet.h"

namespace locus::server {
namespace {

// The headings of one column, outermost first: "resolution 42 · top1".
std::vector<std::string> flat_heads(const Sheet& sheet) {
  std::vector<std::string> out;
  bool named = false;  // the line above says what axis this one is of
  for (const auto& line : sheet.heads) {
    std::size_t column = 0;
    for (const SheetHeading& head : line) {
      for (int i = 0; i < head.span; ++i, ++column) {
        if (out.size() <= column) out.emplace_back();
        if (head.text.empty()) continue;
        const char* between = out[column].empty() ? "" : named ? " " : " \xC2\xB7 ";
        out[column] += between + head.text;
      }
    }
    named = !line.empty() && line.front().axis;
  }
  return out;
}

// ---- text ----

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string aligned(const std::vector<std::vector<std::string>>& lines, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string space(widths[c] - width_of(line[c]), ' ');
      text += (c > 0 ? "  " : "") + (c < left ? line[c] + space : space + line[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string render_text(const Sheet& sheet) {
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& title : sheet.row_titles) lines[0].push_back(one_line(title));
  for (const std::string& head : flat_heads(sheet)) lines[0].push_back(one_line(head));
  for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
    auto& line = lines.emplace_back();
    for (const std::string& label : sheet.rows[r]) line.push_back(one_line(label));
    for (const SheetCell& cell : sheet.cells[r])
      line.push_back(plain(cell) + (cell.best ? " \xC2\xB9" : cell.second ? " \xC2\xB2" : ""));
    for (const std::string& summary : sheet.summaries[r]) line.push_back(summary);
  }
  std::string out = one_line(sheet.title) + "\n\n" + aligned(lines, sheet.row_titles.size()) + "\n";
  for (const std::string& note : sheet.notes) {
    const bool bold = note.starts_with("Bold:");
    out += (bold ? "\xC2\xB9: the best mean of the column; \xC2\xB2: the second." : one_line(note)) + "\n";
  }
  for (const std::string& warning : sheet.warnings) out += "warning: " + one_line(warning) + "\n";
  return out;
}

// ---- Markdown ----

// Inside <!-- -->, where two hyphens would end it.
std::string comment(const std::string& text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '-' && !out.empty() && out.back() == '-') out += ' ';
    out += c == '>' ? ' ' : c;
  }
  return out;
}

Mark mark_of(const SheetCell& cell) { return cell.best ? Mark::kBest : cell.second ? Mark::kSecond : Mark::kNone; }

// "violin, 42 | top1: small/3 small/4", for each cell of a row that has trials.
std::vector<std::string> trials_of(const Sheet& sheet, const std::vector<std::string>& heads, std::size_t row) {
  std::vector<std::string> out;
  for (std::size_t c = 0; c < sheet.cells[row].size(); ++c) {
    const SheetCell& cell = sheet.cells[row][c];
    if (!cell.trials.empty())
      out.push_back(joined(sheet.rows[row], ", ") + " | " + heads[c] + ": " + joined(cell.trials, " "));
  }
  return out;
}

std::string alignment_of(const Sheet& sheet, const std::vector<std::string>& heads) {
  return std::string(sheet.row_titles.size(), 'l') + std::string(heads.size(), 'r');
}

std::string render_markdown(const Sheet& sheet) {
  const std::vector<std::string> heads = flat_heads(sheet);
  std::vector<std::string> titles = sheet.row_titles;
  titles.insert(titles.end(), heads.begin(), heads.end());
  std::vector<DocumentRow> rows;
  std::string trials;
  for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
    DocumentRow& row = rows.emplace_back();
    for (const std::string& label : sheet.rows[r]) row.cells.push_back(escape_markdown(label));
    for (const SheetCell& cell : sheet.cells[r])
      row.cells.push_back(markdown_marked(escape_markdown(plain(cell)), mark_of(cell)));
    for (const std::string& summary : sheet.summaries[r]) row.cells.push_back(escape_markdown(summary));
    for (const std::string& one : trials_of(sheet, heads, r)) trials += comment(one) + "\n";
  }
  return markdown_title(sheet.title) + markdown_table(alignment_of(sheet, heads), titles, rows) + "\n" +
         markdown_notes(sheet.notes, sheet.warnings) + "\n<!-- trials\n" + trials + "-->\n";
}

// ---- LaTeX ----

// Inside math.
std::string latex_number(const std::string& text) {
  if (text == "NaN") return "\\mathrm{NaN}";
  return text == "inf" ? "\\infty" : text == "-inf" ? "-\\infty" : text;
}

std::string latex_cell(const SheetCell& cell) {
  if (cell.mean == "-") return cell.flagged ? "{-}$^{\\dagger}$" : "{-}";
  std::string math = latex_number(cell.mean);
  if (!cell.spread.empty()) math += cell.interval ? "\\ " + cell.spread : " \\pm " + latex_number(cell.spread);
  std::string out = latex_marked("$" + math + "$", mark_of(cell));
  if (!cell.all.empty()) out += " (" + escape_latex(cell.all) + ")";
  if (!cell.difference.empty()) out += " ($" + latex_number(cell.difference) + "$)";
  if (cell.significant) out += "$^{*}$";
  if (cell.flagged) out += "$^{\\dagger}$";
  if (!cell.count.empty()) out += " " + escape_latex(cell.count);
  if (!cell.seeds.empty()) out += " [" + escape_latex(cell.seeds) + "]";
  return out;
}

std::string latex_heads(const Sheet& sheet) {
  std::string out;
  for (std::size_t line = 0; line < sheet.heads.size(); ++line) {
    const bool last = line + 1 == sheet.heads.size();
    std::string rules;
    std::size_t column = sheet.row_titles.size();
    std::vector<std::string> cells;
    for (const std::string& title : sheet.row_titles) cells.push_back(last ? escape_latex(title) : "");
    for (const SheetHeading& head : sheet.heads[line]) {
      const std::string text = escape_latex(head.text);
      cells.push_back(head.span > 1 ? "\\multicolumn{" + std::to_string(head.span) + "}{c}{" + text + "}" : text);
      if (head.span > 1)
        rules += "\\cmidrule(lr){" + std::to_string(column + 1) + "-" +
                 std::to_string(column + static_cast<std::size_t>(head.span)) + "}";
      column += static_cast<std::size_t>(head.span);
    }
    out += latex_line(std::move(cells)) + (rules.empty() ? "" : "  " + rules + "\n");
  }
  return out;
}

std::string render_latex(const Sheet& sheet) {
  const std::vector<std::string> heads = flat_heads(sheet);
  std::vector<DocumentRow> rows;
  for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
    DocumentRow& row = rows.emplace_back();
    for (const std::string& label : sheet.rows[r]) row.cells.push_back(escape_latex(label));
    for (const SheetCell& cell : sheet.cells[r]) row.cells.push_back(latex_cell(cell));
    for (const std::string& summary : sheet.summaries[r]) row.cells.push_back("{" + escape_latex(summary) + "}");
    row.remarks = trials_of(sheet, heads, r);
  }
  return latex_preface(sheet.title, sheet.notes, sheet.warnings) +
         latex_table(alignment_of(sheet, heads), latex_heads(sheet), rows);
}

// ---- HTML ----

std::string render_html(const Sheet& sheet) {
  std::string out = "<table class=\"locus-pivot\">\n<caption>" + escape_html(sheet.title) + "</caption>\n<thead>\n";
  for (std::size_t line = 0; line < sheet.heads.size(); ++line) {
    out += "<tr>";
    const bool last = line + 1 == sheet.heads.size();
    for (const std::string& title : sheet.row_titles)
      out += "<th scope=\"col\">" + (last ? escape_html(title) : "") + "</th>";
    for (const SheetHeading& head : sheet.heads[line]) {
      out += head.span > 1 ? "<th scope=\"colgroup\" colspan=\"" + std::to_string(head.span) + "\">"
                           : "<th scope=\"col\">";
      out += escape_html(head.text) + "</th>";
    }
    out += "</tr>\n";
  }
  out += "</thead>\n<tbody>\n";
  for (std::size_t r = 0; r < sheet.rows.size(); ++r) {
    out += "<tr>";
    for (const std::string& label : sheet.rows[r]) out += "<th scope=\"row\">" + escape_html(label) + "</th>";
    for (const SheetCell& cell : sheet.cells[r]) {
      const std::string text = escape_html(plain(cell)), trials = escape_html(joined(cell.trials, " "));
      out += "<td data-trials=\"" + trials + "\" title=\"" + trials + "\">";
      out += (cell.best ? "<b>" + text + "</b>" : cell.second ? "<u>" + text + "</u>" : text) + "</td>";
    }
    for (const std::string& summary : sheet.summaries[r]) out += "<td>" + escape_html(summary) + "</td>";
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n";
  for (const std::string& note : sheet.notes) out += "<p class=\"note\">" + escape_html(note) + "</p>\n";
  for (const std::string& warning : sheet.warnings) out += "<p class=\"warning\">" + escape_html(warning) + "</p>\n";
  return out;
}

// ---- CSV: a line a cell, every digit ----

template <class Numbers>
std::string numbers_of(const Numbers& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : " ") + std::to_string(number);
  return out;
}

std::vector<std::string> csv_titles(const v1::PaperTable& table) {
  std::vector<std::string> titles;
  for (const auto* axes : {&table.row_axes(), &table.column_axes()}) {
    for (const std::string& axis : *axes) titles.push_back(escape_csv(axis));
  }
  for (const char* name : {"metric",
                           "split",
                           "reduce",
                           "unit",
                           "direction",
                           "shown",
                           "n",
                           "mean",
                           "std",
                           "low",
                           "high",
                           "missing_seeds",
                           "failed_seeds",
                           "pairs",
                           "difference",
                           "difference_std",
                           "difference_low",
                           "difference_high",
                           "p",
                           "p_floor",
                           "p_adjusted",
                           "best",
                           "second",
                           "significant",
                           "seeds_needed",
                           "flags",
                           "trials",
                           "test",
                           "top_seeds",
                           "mean_all",
                           "std_all",
                           "chosen_by"})
    titles.emplace_back(name);
  return titles;
}

std::string render_csv(const v1::PaperTable& table, const Sheet& sheet) {
  std::string out = joined(csv_titles(table), ",") + "\n";
  for (int i = 0; i < table.cells_size(); ++i) {
    const int r = i / table.columns_size(), c = i % table.columns_size();
    const v1::TableHeading &row = table.rows(r), &column = table.columns(c);
    const v1::PaperCell& cell = table.cells(i);
    std::vector<std::string> fields;
    for (const auto* heading : {&row, &column}) {
      for (const std::string& label : heading->labels()) fields.push_back(escape_csv(label));
    }
    for (const std::string* text :
         {&column.metric(), &column.split(), &column.reduce(), &column.unit(), &column.direction()})
      fields.push_back(escape_csv(*text));
    const std::string shown = plain(sheet.cells[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
    fields.push_back(shown.find(',') == std::string::npos ? shown : "\"" + shown + "\"");  // numbers and marks alone
    fields.push_back(std::to_string(cell.n()));
    fields.push_back(cell.n() > 0 && std::isnan(cell.mean()) ? "NaN" : every_digit(cell.mean()));  // data, not a gap
    for (const double value : {cell.std(), cell.low(), cell.high()}) fields.push_back(every_digit(value));
    fields.push_back(numbers_of(cell.missing_seeds()));
    fields.push_back(numbers_of(cell.failed_seeds()));
    fields.push_back(std::to_string(cell.pairs()));
    for (const double value : {cell.difference(), cell.difference_std(), cell.difference_low(), cell.difference_high(),
                               cell.p(), cell.p_floor(), cell.p_adjusted()})
      fields.push_back(every_digit(value));
    for (const bool mark : {cell.best(), cell.second(), cell.significant()})
      fields.emplace_back(mark ? "true" : "false");
    fields.push_back(std::to_string(cell.seeds_needed()));
    fields.push_back(joined(cell.flags(), " "));
    fields.push_back(escape_csv(joined(cell.trials(), " ")));
    fields.push_back(cell.test());
    fields.push_back(std::to_string(column.top_seeds()));
    for (const double value : {cell.mean_all(), cell.std_all()}) fields.push_back(every_digit(value));
    fields.push_back(escape_csv(cell.chosen_by()));
    out += joined(fields, ",") + "\n";
  }
  return out;
}

std::string render_json(const v1::PaperTable& table) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string out;
  (void)google::protobuf::util::MessageToJsonString(table, &out,
                                                    options);  // cannot fail: every field is UTF-8
  return out;
}

}  // namespace

absl::StatusOr<std::string> render_pivot_table(const v1::PaperTable& table, const v1::GetPaperTableRequest& request) {
  const std::string& format = request.format();
  if (format == "json") return render_json(table);
  const Sheet sheet = make_sheet(table, request);
  if (format == "text") return render_text(sheet);
  if (format == "latex") return render_latex(sheet);
  if (format == "markdown") return render_markdown(sheet);
  if (format == "html") return render_html(sheet);
  if (format == "csv") return render_csv(table, sheet);
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "'" + format + "' is no format; choose text, latex, markdown, csv, json or html", "format",
                    {{"format", format}});
}

}  // namespace locus::server
