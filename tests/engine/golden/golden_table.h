// Tables that are committed and held against: rows of JSON, one a line.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "tests/engine/support/sources.h"

namespace locus::engine::test {

// Expects `found` to be what the file of that name in this folder holds; with LOCUS_GOLDEN=update it is written instead.
inline void expect_golden(const char* name, const Json& found) {
  const std::string file = in_sources("tests/engine/golden") / name;
  const char* mode = std::getenv("LOCUS_GOLDEN");
  if (mode && std::string_view(mode) == "update") {
    std::ofstream out(file);
    const char* before = "[\n";
    for (const Json& one : found) {
      out << before << one.dump();
      before = ",\n";
    }
    out << "\n]\n";
    return;
  }
  const char* advice = "If the change is meant: LOCUS_GOLDEN=update ctest --test-dir <build> -R golden";
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << " is missing. " << advice;
  const Json known = Json::parse(in);
  ASSERT_EQ(known.size(), found.size()) << advice;
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(known[i], found[i]) << advice;
}

}  // namespace locus::engine::test
