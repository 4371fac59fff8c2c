// The contract suite as a program: of the engine's priors, and its first data set, host, task and recipe; or with
// `--plugin FILE` first, of what the plugin brings. `--data-root FOLDER` next says where its data sets lie.
#include <gtest/gtest.h>

#include <iostream>

#include "engine/plugin/load.h"
#include "tests/engine/parts/contract.h"
#include "tests/engine/support/models.h"

namespace {

// The priors of a plugin, which it loads.
std::vector<std::string> priors_of(const char* file) {
  locus::engine::load_plugin(file);
  std::vector<std::string> out;
  for (const auto& item : locus::engine::prior_items()) {
    if (item.item.json().contains("origin")) out.push_back(item.id());
  }
  return out;
}

// Takes an option and its value from the front of the arguments; null where it is not there.
const char* take(int& count, char**& values, std::string_view option) {
  if (count < 3 || values[1] != option) return nullptr;
  const char* value = values[2];
  values[2] = values[0];
  values += 2;
  count -= 2;
  return value;
}

}  // namespace

int main(int count, char** values) {
  if (const char* file = take(count, values, "--plugin")) {
    try {
      const std::vector<std::string> priors = priors_of(file);
      locus::engine::test::test_only(priors);
      locus::engine::contract::test_plugins_alone();
      // What is said of priors and of all together asks nothing of a plugin without them.
      if (priors.empty()) GTEST_FLAG_SET(filter, "*/Parts*");
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      return 2;
    }
  }
  if (const char* folder = take(count, values, "--data-root")) locus::engine::contract::read_data_at(folder);
  locus::engine::contract::add_made_images();
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
