// The tables of recipes and stage kinds.
#include "engine/train/stage.h"

#include "core/base/sha256.h"

namespace locus {

namespace stages {
#define LOCUS_STAGE(name) StageItem name();
#include "engine/train/stages.def"
#undef LOCUS_STAGE
}  // namespace stages

namespace recipes {
#define LOCUS_RECIPE(name) RecipeItem name();
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
}  // namespace recipes

namespace {

template <typename ItemType>
const ItemType& find_item(const std::vector<ItemType>& items, std::string_view id, std::string_view kind) {
  for (const ItemType& item : items) {
    if (item.id() == id) return item;
  }
  throw std::invalid_argument("no " + std::string(kind) + " '" + std::string(id) + "' in this build");
}

}  // namespace

const std::vector<StageItem>& stage_items() {
  static const std::vector<StageItem> all = {
#define LOCUS_STAGE(name) stages::name(),
#include "engine/train/stages.def"
#undef LOCUS_STAGE
  };
  return all;
}

const std::vector<RecipeItem>& recipe_items() {
  static const std::vector<RecipeItem> all = {
#define LOCUS_RECIPE(name) recipes::name(),
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
  };
  return all;
}

const StageItem& stage_item(std::string_view id) { return find_item(stage_items(), id, "stage kind"); }
const RecipeItem& recipe_item(std::string_view id) { return find_item(recipe_items(), id, "recipe"); }

std::string configuration_identity(const Json& configuration) {
  return sha256_hex(canonical_json(configuration));
}

}  // namespace locus
