// What the tests of claims read from the source tree.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/claims_files.h"
#include "core/claims/claims.h"

namespace locus::test {

inline const std::filesystem::path kRoot = LOCUS_SOURCE_ROOT;

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline Catalog engine_catalog() {
  auto catalog = Catalog::parse(Json::parse(contents(kRoot / "engine" / "catalog.json")));
  EXPECT_TRUE(catalog.ok()) << catalog.status();
  return *std::move(catalog);
}

// claims/*.yaml.
inline std::vector<PaperClaims> committed_papers() {
  const auto json = read_claims_folder(kRoot / "claims");
  EXPECT_TRUE(json.ok()) << json.status();
  auto papers = parse_claims({{"version", 1}, {"papers", *json}});
  EXPECT_TRUE(papers.ok()) << papers.status();
  return *std::move(papers);
}

}  // namespace locus::test
