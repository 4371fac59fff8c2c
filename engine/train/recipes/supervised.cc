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
  item.option(Option::number("lr", 0.001, "highest learning rate").above(0.0).maximum(10.0));
  item.option(Option::number("weight_decay", 0.05, "decoupled decay of weight matrices").minimum(0.0).maximum(10.0));
  add_course(item, 1e-5);
  add_reporting(item);
  item.facts({{"setting",
               {{"optimizer", "AdamW"},
                {"beta1", 0.9},
                {"beta2", 0.999},
                {"schedule", "cosine decay"},
                {"layer-decay", 1},
                {"augmentation", "none"},
                {"tuning", "all weights"},
                {"precision", "float32"}}}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Supervised>(options); }};
}

}  // namespace locus::engine::recipes
