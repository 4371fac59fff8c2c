// Tables in LaTeX (booktabs) and Markdown: one frame, one escaping and one rule of marks for everything that
// writes them. Pure.
#pragma once

#include <string>
#include <vector>

namespace locus {

enum class Mark { kNone, kBest, kSecond };

// By mean, in the order given: the best and the second where two or more are finite. Means that are equal but
// for rounding, or as printed with `digits` after the point, share a mark, and two best leave no second.
std::vector<Mark> marks_of(const std::vector<double>& means, bool maximize, int digits);

// A cell, escaped for its format, with its mark.
std::string latex_marked(const std::string& cell, Mark mark);     // bold, underlined
std::string markdown_marked(const std::string& cell, Mark mark);  // bold, <u>

struct DocumentRow {
  std::vector<std::string> cells;    // escaped for the format
  std::vector<std::string> remarks;  // below the row, LaTeX only; any text
};

// The comments before a table; any text.
std::string latex_preface(const std::string& title, const std::vector<std::string>& notes,
                          const std::vector<std::string>& warnings);
// `alignment` as tabular takes it ("lrr"), `heads` whole lines (latex_line), rules between them included.
std::string latex_table(const std::string& alignment, const std::string& heads, const std::vector<DocumentRow>& rows);
// "  a & b \\". A first cell that begins with [ or * is braced: the \\ or rule before it would take it.
std::string latex_line(std::vector<std::string> cells);

std::string markdown_title(const std::string& title);  // any text
// `alignment` as for LaTeX; titles of any text.
std::string markdown_table(const std::string& alignment, const std::vector<std::string>& titles,
                           const std::vector<DocumentRow>& rows);
std::string markdown_notes(const std::vector<std::string>& notes, const std::vector<std::string>& warnings);

// For CSV: the shortest that reads back the same; empty for NaN.
std::string every_digit(double value);

}  // namespace locus
