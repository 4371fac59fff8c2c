// A recipe: how a task is trained. It makes everything the training loop works with; the loop decides nothing of it.
#pragma once

#include "engine/base/item.h"
#include "engine/base/precision.h"
#include "engine/base/registry.h"
#include "engine/train/hook.h"
#include "engine/train/schedule.h"

namespace locus::engine {

// What the loop itself asks of every recipe. Their options are named alike in all of them (recipes/options.h), since
// planning reads them, too.
struct LoopSettings {
  std::int64_t epochs = 1, batch = 1;  // batch: samples a step
  std::int64_t steps = 0;              // after which training ends, where the epochs have more; 0: with the epochs
  std::int64_t limit = 0;              // training samples used; 0: all
  double validate_every = 0;           // epochs; 0: at the end alone
  std::int64_t validation_images = 0;  // of a validation on the way; 0: all
  std::int64_t log_every = 1;          // steps averaged into a point
  std::int64_t snapshots = 0;          // models kept on the way
  // In which the forward and backward passes compute, as attempts report it, and every scoring of the model.
  Precision precision = Precision::kFloat32, eval_precision = Precision::kFloat32;
  std::int64_t accumulate = 1;  // parts that a step's batch is computed in
  std::int64_t repeats = 1;     // repeated augmentation: how often an epoch shows a sample (RepeatedOrder)
  bool keep_last = false;       // the last, incomplete batch of an epoch is a step, too
};

struct Horizon {
  std::int64_t epochs = 1, steps_per_epoch = 1;
  std::int64_t most = 0;  // LoopSettings::steps
  std::int64_t steps() const {
    const std::int64_t all = epochs * steps_per_epoch;
    return most > 0 && most < all ? most : all;
  }
};

// Immutable; what it makes belongs to one training run.
class Recipe {
 public:
  virtual ~Recipe() = default;

  virtual LoopSettings loop() const = 0;
  virtual Schedule schedule(const Horizon& horizon) const = 0;
  // For an initialized task on its device. What shall not learn it freezes (requires_grad_(false)) and leaves out of
  // every group.
  virtual std::unique_ptr<Optimizer> optimizer(Task& task) const = 0;
  // In the order they are to be called; made after the optimizer. None by default.
  virtual TrainingHooks hooks(Task& task) const;
};

struct RecipeItem {
  Item item;  // kind "recipe"
  std::unique_ptr<Recipe> (*make)(const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<RecipeItem>& recipe_registry();  // first, every line of recipes.def
inline const std::deque<RecipeItem>& recipe_items() { return recipe_registry().all(); }
inline const RecipeItem& recipe_item(std::string_view id) { return recipe_registry().find(id); }

// Reads a stage configuration's "recipe". Throws std::invalid_argument naming what is wrong.
std::unique_ptr<Recipe> make_recipe(const Json& configuration);

// Holds (Task::hold) everything within the task's backbones, so that heads alone learn.
void hold_backbones(Task& task);

// What learns of the task, in its order, in two groups: what the task lets decay (Task::decay) at `weight_decay`, and
// the rest. The usual groups of a recipe.
std::vector<ParameterGroup> decay_groups(const Task& task, double weight_decay);

}  // namespace locus::engine
