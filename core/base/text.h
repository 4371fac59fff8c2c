// Words made into one text. Needs nothing.
#pragma once

#include <string>
#include <string_view>

namespace locus {

// The words of a range of strings in their order, `between` between them.
template <typename Words>
std::string joined(const Words& words, std::string_view between = ", ") {
  std::string out;
  bool first = true;
  for (const auto& word : words) {
    if (!first) out += between;
    out += word;
    first = false;
  }
  return out;
}

}  // namespace locus
