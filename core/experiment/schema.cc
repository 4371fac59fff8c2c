// The list of schema.def.
#include "core/experiment/schema.h"

#include <string_view>

namespace locus {
namespace {

constexpr SpecificationKey kKeys[] = {
#define LOCUS_KEY(path, type, initial, help) {path, type, initial, help},
#include "core/experiment/schema.def"
#undef LOCUS_KEY
};

}  // namespace

std::span<const SpecificationKey> specification_keys() { return kKeys; }

const std::vector<std::string>& top_level_keys() {
  static const auto names = [] {
    std::vector<std::string> out;
    for (const SpecificationKey& key : kKeys) {
      if (std::string_view(key.path).find_first_of(".[") == std::string_view::npos) out.emplace_back(key.path);
    }
    return out;
  }();
  return names;
}

}  // namespace locus
