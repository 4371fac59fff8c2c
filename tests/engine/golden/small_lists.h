// Lists of options, one number for each stage of a backbone, that make a network small.
#pragma once

#include "core/base/json.h"

namespace locus::engine::test {

// Of each list among `options` that says how large the stages are one as long, with small numbers that fit together.
inline Json small_lists(const Json& options) {
  Json out = Json::object();
  for (const char* name : {"dims", "depths", "heads", "hidden"}) {
    if (!options.contains(name) || !options.at(name).is_array()) continue;
    const std::string_view list = name;
    Json& numbers = out[name] = Json::array();
    for (int s = 0; s < static_cast<int>(options.at(name).size()); ++s) {
      numbers.push_back(list == "dims"     ? 16 * (s + 1)
                        : list == "depths" ? 1 + s % 2
                        : list == "heads"  ? 2 + 2 * (s % 2)
                                           : 24 + 8 * s);
    }
  }
  return out;
}

}  // namespace locus::engine::test
