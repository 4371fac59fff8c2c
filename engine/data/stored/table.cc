// Splits lines.
#include "engine/data/stored/table.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "engine/base/failure.h"
#include "engine/data/stored/file_reader.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kRowsMost = 256 << 20;  // bytes

std::vector<std::string> split(std::string line, char separator) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

TextTable::TextTable(std::filesystem::path file, char separator) : file_(std::move(file)) {
  std::istringstream lines(read_text_file(file_, kRowsMost));
  std::string line;
  if (!std::getline(lines, line) || line.empty())
    throw DataError(file_.string() + " is empty; its first line has the names of its columns");
  for (const std::string& name : split(line, separator)) names_.push_back(trimmed(name));
  for (std::int64_t number = 2; std::getline(lines, line); ++number) {
    if (trimmed(line).empty() || line == "\r") continue;
    std::vector<std::string> fields = split(line, separator);
    if (fields.size() != names_.size()) {
      throw DataError(file_.string() + ", line " + std::to_string(number) + " has " + std::to_string(fields.size()) +
                      " fields, and there are " + std::to_string(names_.size()) + " columns");
    }
    for (std::string& field : fields) field = trimmed(field);
    rows_.push_back(std::move(fields));
  }
}

std::size_t TextTable::index_of(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) throw DataError(file_.string() + " has no column '" + name + "'");
  return static_cast<std::size_t>(found - names_.begin());
}

std::vector<std::string> TextTable::column(const std::string& name) const {
  const std::size_t index = index_of(name);
  std::vector<std::string> out;
  out.reserve(rows_.size());
  for (const auto& row : rows_) out.push_back(row[index]);
  return out;
}

std::vector<double> TextTable::numbers(const std::string& name) const {
  std::vector<double> out;
  for (const std::string& field : column(name)) {
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) {
      throw DataError(file_.string() + ": '" + field.substr(0, 40) + "' in row " + std::to_string(out.size() + 1) +
                      " of the column '" + name + "' is no number");
    }
    out.push_back(value);
  }
  return out;
}

}  // namespace locus::engine
