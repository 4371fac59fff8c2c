// Stochastic gradient descent with momentum, and an exponential average of the weights that can be what is scored.
//
// The updates are PyTorch's (engine/train/optimizer.h); the average is timm's ModelEma (engine/train/hook.h). Weight
// decay is part of the gradient, as in PyTorch, not decoupled.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class MomentumDescent final : public CosineRecipe {
 public:
  using CosineRecipe::CosineRecipe;

  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<Sgd>(decay_groups(task, options().number("weight_decay")),
                                 Sgd::Settings{options().number("momentum"), options().boolean("nesterov")});
  }
};

}  // namespace

RecipeItem sgd() {
  Item item("recipe", "sgd", 1,
            "Stochastic gradient descent with momentum, linear warm-up and cosine decay over a fixed number of epochs");
  add_horizon(item);
  item.option(Option::number("lr", 0.05, "highest learning rate").above(0.0).maximum(100.0));
  add_gradient_decay(item, 1e-4);
  add_momentum(item);
  item.option(Option::boolean("nesterov", false, "look ahead by the momentum before the gradient is applied"));
  add_course(item, 0.0);
  item.option(Option::number("average_decay", 0.0,
                             "decay of an exponential average of the weights, which is then what is validated and "
                             "kept; 0 for none")
                  .minimum(0.0)
                  .maximum(0.999999)
                  .neutral(0.0));
  add_precision(item);
  add_reporting(item);
  item.facts({{"setting",
               {{"optimizer", "SGD"},
                {"schedule", "cosine decay"},
                {"layer-decay", 1},
                {"augmentation", "none"},
                {"tuning", "all weights"}}}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<MomentumDescent>(options); }};
}

}  // namespace locus::engine::recipes
