// Recipes of training: their options are the `train:` section of a specification, which the training loop reads.
#pragma once

#include "engine/base/item.h"

namespace locus::engine {

struct RecipeItem {
  Item item;  // kind "recipe"
  std::string id() const { return item.json().at("id"); }
};
const std::vector<RecipeItem>& recipe_items();       // every line of recipes.def
const RecipeItem& recipe_item(std::string_view id);  // throws std::invalid_argument

}  // namespace locus::engine
