// The contract suite as a program: of the engine's priors, or with `--plugin FILE` first, of those that the plugin brings.
#include <gtest/gtest.h>

#include <iostream>

#include "engine/plugin/load.h"
#include "tests/engine/support/models.h"

namespace {

// The priors of a plugin, which it loads.
std::vector<std::string> priors_of(const char* file) {
  const std::string name = locus::engine::load_plugin(file).name;
  std::vector<std::string> out;
  for (const auto& item : locus::engine::prior_items()) {
    if (item.item.json().contains("origin")) out.push_back(item.id());
  }
  if (out.empty())
    throw std::invalid_argument("the plugin " + name + " brings no prior, and the contract is of priors");
  return out;
}

}  // namespace

int main(int count, char** values) {
  if (count > 2 && std::string_view(values[1]) == "--plugin") {
    try {
      locus::engine::test::test_only(priors_of(values[2]));
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      return 2;
    }
    values[2] = values[0];
    values += 2;
    count -= 2;
  }
  testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}
