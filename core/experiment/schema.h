// The keys of a specification, as data.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace locus {

struct SpecificationKey {
  const char *path, *type, *initial, *help;  // core/experiment/schema.def
};

std::span<const SpecificationKey> specification_keys();

// Those without a parent: "name", "matrix".
const std::vector<std::string>& top_level_keys();

}  // namespace locus
