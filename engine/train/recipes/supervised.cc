// Supervised training: AdamW, linear warm-up, cosine decay over a fixed horizon.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class Supervised final : public CosineRecipe {
 public:
  using CosineRecipe::CosineRecipe;

  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<AdamW>(decay_groups(task, options().number("weight_decay")), AdamW::Settings{});
  }
};

}  // namespace

RecipeItem supervised() {
  Item item("recipe", "supervised", 1, "AdamW with linear warm-up and cosine decay over a fixed number of epochs");
  add_horizon(item);
  add_rate(item, 0.001, 0.05);
  add_course(item, 1e-5);
  add_precision(item);
  add_reporting(item);
  item.facts({{"setting",
               {{"optimizer", "AdamW"},
                {"beta1", 0.9},
                {"beta2", 0.999},
                {"schedule", "cosine decay"},
                {"layer-decay", 1},
                {"augmentation", "none"},
                {"tuning", "all weights"}}}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Supervised>(options); }};
}

}  // namespace locus::engine::recipes
