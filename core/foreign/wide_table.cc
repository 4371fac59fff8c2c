// Reads rows, quoted fields among them, and their numbers.
#include "core/foreign/wide_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "core/base/invalid.h"
#include "core/base/utf8.h"

namespace locus {
namespace {

constexpr std::size_t kTableColumnsMost = 4096;

absl::Status wrong_cell(std::size_t line, const std::string& column, const std::string& what) {
  return invalid("file",
                 "line " + std::to_string(line) + (column.empty() ? "" : ", column \"" + column + "\"") + ": " + what);
}

// Row by row. A quoted field may hold commas, line ends and doubled quotes.
class TableRows {
 public:
  explicit TableRows(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  bool done() const { return at_ >= text_.size(); }
  std::size_t line() const { return line_; }  // of the row that was read last

  absl::StatusOr<std::vector<std::string>> next() {
    line_ = upcoming_;
    std::vector<std::string> out;
    for (bool more = true; more;) {
      if (out.size() == kTableColumnsMost)
        return wrong_cell(line_, "", "more than " + std::to_string(kTableColumnsMost) + " columns");
      LOCUS_ASSIGN_OR_RETURN(std::string field, field_here());
      out.push_back(std::move(field));
      more = !done() && text_[at_] == ',';
      if (more) ++at_;
    }
    if (!done() && text_[at_] == '\r') ++at_;
    if (!done() && text_[at_] == '\n') ++at_;
    ++upcoming_;
    return out;
  }

 private:
  absl::StatusOr<std::string> field_here() {
    if (done() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      std::string out(text_.substr(at_, end - at_));
      at_ = end;
      return out;
    }
    std::string out;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++upcoming_;
      if (text_[at_] != '"') {
        out += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        out += text_[at_++];
      } else {
        ++at_;
        if (done() || text_[at_] == ',' || text_[at_] == '\r' || text_[at_] == '\n') return out;
        break;
      }
    }
    return wrong_cell(line_, "", "a quoted field does not end with a quote and a comma or the line's end");
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 0, upcoming_ = 1;
};

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

std::optional<double> real_of(const std::string& text) {
  const std::string word = lower(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
  if (word == "-inf" || word == "-infinity") return -std::numeric_limits<double>::infinity();
  double out = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out);
  if (error != std::errc() || stop != end) return std::nullopt;
  return out;
}

// A whole number, which other programs also write as 10.0.
std::optional<std::int64_t> whole_of(const std::string& text) {
  const auto value = real_of(text);
  if (!value || !(std::abs(*value) < 9e15) || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

struct TableHead {
  std::vector<std::string> names;
  std::size_t step = 0;
  std::optional<std::size_t> time;
};

absl::StatusOr<TableHead> read_head(std::vector<std::string> cells) {
  static const std::set<std::string> kSteps = {"step", "_step", "global_step", "steps"};
  static const std::set<std::string> kTimes = {"wall time", "wall_time", "_timestamp"};
  TableHead out;
  std::optional<std::size_t> step;
  std::set<std::string> seen;
  for (std::string& cell : cells) cell = trimmed(cell);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string word = lower(cells[i]);
    if (!seen.insert(cells[i]).second || (kSteps.contains(word) && step))
      return wrong_cell(1, valid_utf8(cells[i]), "stands twice: the table needs one such column");
    if (kSteps.contains(word))
      step = i;
    else if (kTimes.contains(word))
      out.time = i;
  }
  if (seen.contains("metric") && seen.contains("value")) {
    return wrong_cell(1, "",
                      "this is a long table, a row a point; make it one with a column a series, for example by "
                      "pandas: table.pivot(index=\"step\", columns=\"metric\", values=\"value\"), one run a file");
  }
  if (!step) {
    return wrong_cell(1, "",
                      "no column is called step, _step, global_step or steps; a table has a header, a column of "
                      "steps and a column a series");
  }
  out.step = *step;
  out.names = std::move(cells);
  return out;
}

absl::Status read_row(const TableHead& head, const std::vector<std::string>& cells, std::size_t line,
                      std::set<std::int64_t>& steps, Gathered* out) {
  const auto step = whole_of(trimmed(cells[head.step]));
  if (!step || *step < 0) {
    return wrong_cell(line, head.names[head.step],
                      "\"" + valid_utf8(cells[head.step].substr(0, 40)) + "\" is no whole number from 0 on");
  }
  if (!steps.insert(*step).second) {
    return wrong_cell(line, head.names[head.step],
                      "step " + std::to_string(*step) + " stands a second time: a file holds one run, a row a step");
  }
  Microseconds time = 0;
  if (head.time) {
    const auto seconds = real_of(trimmed(cells[*head.time]));
    if (seconds && *seconds > 0 && *seconds < 9e12) time = static_cast<Microseconds>(std::round(*seconds * 1e6));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == head.step || (head.time && i == *head.time)) continue;
    const std::string cell = trimmed(cells[i]);
    if (cell.empty()) continue;
    const auto value = real_of(cell);
    if (!value) {
      return wrong_cell(line, valid_utf8(head.names[i]),
                        "\"" + valid_utf8(cell.substr(0, 40)) + "\" is no number: leave the column out of the file");
    }
    LOCUS_RETURN_IF_ERROR(out->add(head.names[i], *step, time, *value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status read_wide_table(std::string_view text, Gathered* out) {
  TableRows rows(text);
  if (rows.done()) return wrong_cell(1, "", "the file is empty");
  LOCUS_ASSIGN_OR_RETURN(auto first, rows.next());
  LOCUS_ASSIGN_OR_RETURN(const TableHead head, read_head(std::move(first)));
  std::set<std::int64_t> steps;
  while (!rows.done()) {
    LOCUS_ASSIGN_OR_RETURN(const auto cells, rows.next());
    if (cells.size() == 1 && trimmed(cells[0]).empty()) continue;
    if (cells.size() != head.names.size()) {
      return wrong_cell(
          rows.line(), "",
          "has " + std::to_string(cells.size()) + " fields, and the header " + std::to_string(head.names.size()));
    }
    LOCUS_RETURN_IF_ERROR(read_row(head, cells, rows.line(), steps, out));
  }
  return absl::OkStatus();
}

}  // namespace locus
