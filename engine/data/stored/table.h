// Tables in text files: a line of names, then a line a row.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace locus::engine {

// Fields are separated by one character and have no quotes. Immutable; thread-safe.
class TextTable {
 public:
  // Throws DataError where the file cannot be read, is empty, or a row has another number of fields than there are names.
  TextTable(std::filesystem::path file, char separator);

  std::size_t rows() const { return rows_.size(); }
  // The fields of that column. Throws DataError naming the file where it has none of the name.
  std::vector<std::string> column(const std::string& name) const;
  // The same as numbers. Throws DataError besides naming the line of a field that is no number.
  std::vector<double> numbers(const std::string& name) const;

 private:
  std::size_t index_of(const std::string& name) const;

  std::filesystem::path file_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace locus::engine
