// Recipes of training: their options are the `train:` section of a specification, which the training loop reads.
#pragma once

#include "engine/base/item.h"
#include "engine/base/registry.h"

namespace locus::engine {

struct RecipeItem {
  Item item;  // kind "recipe"
  std::string id() const { return item.json().at("id"); }
};
Registry<RecipeItem>& recipe_registry();  // first, every line of recipes.def
inline const std::deque<RecipeItem>& recipe_items() { return recipe_registry().all(); }
inline const RecipeItem& recipe_item(std::string_view id) { return recipe_registry().find(id); }

}  // namespace locus::engine
