// Names of tests that are made from what they are about.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace locus::engine::test {

// "deit-iii" as "deit_iii": whatever the name of a test may not hold becomes an underscore.
inline std::string fit_for_a_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return text;
}

}  // namespace locus::engine::test
