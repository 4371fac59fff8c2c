// Lists of classes written in one text.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace locus::engine {

// The words of `text`, in their order.
inline std::vector<std::string> class_list(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(std::move(word));
  return out;
}

}  // namespace locus::engine
