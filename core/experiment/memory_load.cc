// Names of what decides memory.
#include "core/experiment/memory_load.h"

#include "core/base/sha256.h"

namespace locus {
namespace {

// `batch` and what else of the recipe decides memory are left out where they are null.
std::string memory_load_name(const std::string& kind, const Json& configuration, const Json& batch) {
  Json of = {{"kind", kind}, {"batch", batch}};
  for (const char* part : {"dataset", "input", "task", "model", "priors", "adapter", "augmentation"}) {
    if (configuration.contains(part)) of[part] = configuration.at(part);
  }
  const Json recipe = configuration.value("/recipe/options"_json_pointer, Json::object());
  for (const char* option : {"precision", "accumulate"}) {
    if (recipe.contains(option)) of[option] = recipe.at(option);
  }
  return sha256_hex(canonical_json(of));
}

}  // namespace

std::string memory_load_of(const Json& configuration) {
  return memory_load_name(configuration.value("kind", ""), configuration,
                          configuration.value("/recipe/options/batch"_json_pointer, Json()));
}

std::string memory_load_of_training(const Json& measurement, const Json& batch) {
  return memory_load_name("train", measurement, batch);
}

}  // namespace locus
