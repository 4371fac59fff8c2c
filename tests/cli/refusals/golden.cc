// Reads, writes and compares golden tables.
#include "tests/cli/refusals/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/json.h"

namespace locus {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string cell(const std::string& text) {
  constexpr std::size_t kMost = 400;
  const std::string shown =
      text.size() <= kMost ? text : text.substr(0, kMost / 2) + "... (" + std::to_string(text.size()) + " bytes)";
  const std::string quoted = Json(shown).dump(-1, ' ', true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string without(std::string text, const std::string& what, const std::string& instead) {
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos; at += instead.size())
    text.replace(at, what.size(), instead);
  return text;
}

void compare_golden(const std::string& name, const std::string& table) {
  const std::string path = std::string(LOCUS_TEST_DATA) + "/refusals/" + name + ".tsv";
  if (std::getenv("LOCUS_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << table;
  const std::string wanted = bytes_of(path);
  std::stringstream found(table), golden(wanted);
  std::string a, b;
  for (int number = 1; std::getline(found, a); ++number, b.clear()) {
    std::getline(golden, b);
    EXPECT_EQ(a, b) << path << ":" << number << "; read it, then LOCUS_UPDATE_GOLDEN=1 writes it anew";
  }
  EXPECT_FALSE(std::getline(golden, b)) << path << " has a row that nobody makes: " << b;
}

}  // namespace locus
