// Aligned text tables.
#include "cli/render/text_table.h"

#include <algorithm>

namespace locus {
namespace {

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 const std::vector<Column>& columns) {
  std::string out;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (widths[c] == 0) continue;
    if (!out.empty()) out += "  ";
    out += pad(cells[c], widths[c], columns[c].align);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string printable(const std::string& text) {
  std::string out = text;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string render_text_table(const std::vector<Column>& columns,
                              const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(columns.size(), 0);
  std::vector<std::vector<std::string>> cells = rows;
  for (auto& row : cells) {
    row.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      row[c] = printable(row[c]);
      widths[c] = std::max(widths[c], display_width(row[c]));
    }
  }
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    titles.push_back(columns[c].title);
    if (widths[c] > 0 || rows.empty()) widths[c] = std::max(widths[c], display_width(columns[c].title));
  }
  std::string out = line(titles, widths, columns);
  for (const auto& row : cells) out += line(row, widths, columns);
  return out;
}

}  // namespace locus
