// The table of recipes.
#include "engine/train/recipe.h"

namespace locus::engine {

namespace recipes {
#define LOCUS_RECIPE(name) RecipeItem name();
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
}  // namespace recipes

Registry<RecipeItem>& recipe_registry() {
  static Registry<RecipeItem> entries("recipe", {
#define LOCUS_RECIPE(name) recipes::name(),
#include "engine/train/recipes.def"
#undef LOCUS_RECIPE
                                                });
  return entries;
}

}  // namespace locus::engine
