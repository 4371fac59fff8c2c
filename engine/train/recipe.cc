// The table of recipes, and groups of parameters.
#include "engine/train/recipe.h"

#include "engine/tasks/tuning.h"
#include "engine/train/groups.h"

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

std::unique_ptr<Recipe> make_recipe(const Json& configuration) {
  const Json& recipe = configuration.at("recipe");
  const RecipeItem& item = recipe_item(recipe.at("id").get<std::string>());
  return item.make(Options(item.item.json(), recipe.value("options", Json::object())));
}

TrainingHooks Recipe::hooks(Task&) const { return {}; }

void hold_backbones(Task& task) { task.hold(within_backbones(task)); }

std::vector<ParameterGroup> decay_groups(const Task& task, double weight_decay) {
  return parameter_groups(task, {.weight_decay = weight_decay});
}

}  // namespace locus::engine
