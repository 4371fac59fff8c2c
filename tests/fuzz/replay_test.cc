// Every input that is kept, seeds and what once went wrong, through the entry that it is kept for.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

namespace fs = std::filesystem;

struct Target {
  const char* name;
  Entry entry;
};

#define LOCUS_FUZZ_TARGET(name) {#name, &name},
const Target kTargets[] = {
#include LOCUS_FUZZ_LIST
};
#undef LOCUS_FUZZ_TARGET

class Kept : public ::testing::TestWithParam<Target> {};

TEST_P(Kept, IsReadOrRefusedAndNothingElse) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(fs::path(LOCUS_FUZZ_CORPUS) / GetParam().name))
    files.push_back(file.path());
  ASSERT_FALSE(files.empty()) << "a target begins with a seed in tests/fuzz/corpus/" << GetParam().name;
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NO_THROW(GetParam().entry(bytes)) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, Kept, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace locus::fuzz
