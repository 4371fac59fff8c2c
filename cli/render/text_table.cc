// Aligned text tables.
#include "cli/render/text_table.h"

#include <algorithm>
#include <map>

namespace locus {
namespace {

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 const std::vector<Column>& columns, TextStyle style) {
  std::string out;
  std::size_t last = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (widths[c] > 0 && !cells[c].empty()) last = c;
  }
  for (std::size_t c = 0; c < columns.size() && c <= last; ++c) {
    if (widths[c] == 0) continue;
    if (!out.empty()) out += "  ";
    const bool open = c == last && columns[c].align == Align::kLeft;  // no trailing spaces
    const std::string text = open ? cells[c] : pad(cells[c], widths[c], columns[c].align);
    out += columns[c].paint == Paint::kState ? paint_state(text, cells[c], style) : text;
  }
  return out + "\n";
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string paint_state(const std::string& text, const std::string& state, TextStyle style) {
  static const std::map<std::string, const char*> kColors = {
      {"completed", "32"}, {"succeeded", "32"}, {"active", "36"},   {"running", "36"},  {"paused", "33"},
      {"held", "33"},      {"silent", "33"},    {"draining", "33"}, {"failed", "31"},   {"lost", "31"},
      {"queued", "2"},     {"blocked", "2"},    {"cancelled", "2"}, {"retired", "2"},   {"offline", "2"},
      {"waiting", "2"},    {"parked", "33"},    {"stopped", "2"},   {"finished", "32"}, {"ended", "32"}};
  const auto found = kColors.find(state);
  if (!style.color || found == kColors.end()) return text;
  return "\033[" + std::string(found->second) + "m" + text + "\033[0m";
}

std::string printable(const std::string& text) {
  std::string out = text;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string render_text_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                              TextStyle style) {
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
  std::string out = line(titles, widths, columns, {});
  for (const auto& row : cells) out += line(row, widths, columns, style);
  return out;
}

std::string wrap_text(const std::string& text, int indent, int width) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const std::size_t room = static_cast<std::size_t>(std::max(20, width - indent));
  std::string out, line;
  const auto end_line = [&] {
    if (!line.empty()) out += margin + line + "\n";
    line.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      end_line();
      out += "\n";
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > room) end_line();
    line += (line.empty() ? "" : " ") + word;
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  end_line();
  return out;
}

}  // namespace locus
