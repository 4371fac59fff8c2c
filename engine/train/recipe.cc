// The table of recipes.
#include "engine/train/recipe.h"

namespace locus::engine {

namespace recipes {
#define LOCUS_RECIPE(name) RecipeItem name();
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
}  // namespace recipes

const std::vector<RecipeItem>& recipe_items() {
  static const std::vector<RecipeItem> all = {
#define LOCUS_RECIPE(name) recipes::name(),
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
  };
  return all;
}

const RecipeItem& recipe_item(std::string_view id) {
  for (const RecipeItem& item : recipe_items()) {
    if (item.id() == id) return item;
  }
  throw std::invalid_argument("no recipe '" + std::string(id) + "' in this build");
}

}  // namespace locus::engine
