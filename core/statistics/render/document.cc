// The frame of tables in LaTeX and Markdown.
#include "core/statistics/render/document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/statistics/render/escape.h"

namespace locus {

namespace {

// Summing in another order, or from another first guess, moves the last bits of a mean.
bool equal_but_for_rounding(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

std::string printed(double value, int digits) {
  char text[400];  // a double has at most 309 digits before the point
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

std::vector<Mark> marks_of(const std::vector<double>& means, bool maximize, int digits) {
  std::vector<Mark> out(means.size(), Mark::kNone);
  std::vector<std::size_t> order;  // of the finite ones, the best first
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (std::isfinite(means[i])) order.push_back(i);
  }
  if (order.size() < 2) return out;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return maximize ? means[a] > means[b] : means[a] < means[b]; });
  std::size_t at = 0;
  const auto mark = [&](Mark as) {
    const double first = means[order[at]];
    std::size_t marked = 0;
    for (; at < order.size(); ++at, ++marked) {
      const double here = means[order[at]];
      if (!equal_but_for_rounding(first, here) && printed(first, digits) != printed(here, digits)) break;
      out[order[at]] = as;
    }
    return marked;
  };
  if (mark(Mark::kBest) == 1 && at < order.size()) mark(Mark::kSecond);
  return out;
}

std::string latex_marked(const std::string& cell, Mark mark) {
  if (mark == Mark::kBest) return "\\textbf{\\boldmath " + cell + "}";
  return mark == Mark::kSecond ? "\\underline{" + cell + "}" : cell;
}

std::string markdown_marked(const std::string& cell, Mark mark) {
  if (mark == Mark::kBest) return "**" + cell + "**";
  return mark == Mark::kSecond ? "<u>" + cell + "</u>" : cell;
}

std::string latex_preface(const std::string& title, const std::vector<std::string>& notes,
                          const std::vector<std::string>& warnings) {
  std::string out = "% needs \\usepackage{booktabs}\n% " + one_line(title) + "\n";
  for (const std::string& note : notes) out += "% " + one_line(note) + "\n";
  for (const std::string& warning : warnings) out += "% warning: " + one_line(warning) + "\n";
  return out;
}

std::string latex_line(std::vector<std::string> cells) {
  if (!cells.empty() && (cells[0].starts_with("[") || cells[0].starts_with("*"))) cells[0] = "{" + cells[0] + "}";
  std::string out = "  ";
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? " & " : "") + cells[i];
  return out + " \\\\\n";
}

std::string latex_table(const std::string& alignment, const std::string& heads, const std::vector<DocumentRow>& rows) {
  std::string out = "\\begin{tabular}{" + alignment + "}\n\\toprule\n" + heads + "\\midrule\n";
  for (const DocumentRow& row : rows) {
    out += latex_line(row.cells);
    for (const std::string& remark : row.remarks) out += "  % " + one_line(remark) + "\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::string markdown_title(const std::string& title) { return "**" + escape_markdown(title) + "**\n\n"; }

std::string markdown_table(const std::string& alignment, const std::vector<std::string>& titles,
                           const std::vector<DocumentRow>& rows) {
  std::string head = "|", rule = "|", body;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    head += " " + escape_markdown(titles[i]) + " |";
    rule += alignment.at(i) == 'r' ? " ---: |" : " --- |";
  }
  for (const DocumentRow& row : rows) {
    body += "|";
    for (const std::string& cell : row.cells) body += " " + cell + " |";
    body += "\n";
  }
  return head + "\n" + rule + "\n" + body;
}

std::string markdown_notes(const std::vector<std::string>& notes, const std::vector<std::string>& warnings) {
  std::string out;
  for (const std::string& note : notes) out += "- " + escape_markdown(note) + "\n";
  for (const std::string& warning : warnings) out += "- warning: " + escape_markdown(warning) + "\n";
  return out;
}

std::string every_digit(double value) {
  if (std::isnan(value)) return "";
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace locus
