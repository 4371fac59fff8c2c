// Linear probe: everything within the backbones stays as it is, and the head learns by SGD.
//
// As DINO's eval_linear.py (Caron et al. 2021, arXiv:2104.14294): momentum 0.9, no weight decay, the rate base * batch / 256
// times (1 + cos(pi e / epochs)) / 2 in epoch e, counted from 0. What the head reads and starts from are options of the
// task (features, head_std); a backbone of which nothing learns runs in evaluation mode and without gradients.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class LinearProbe final : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;

  Schedule schedule(const Horizon& horizon) const override {
    return by_epoch(AnnealingCosine{.base = scaled_rate(options()), .length = horizon.epochs}, horizon.steps_per_epoch);
  }

  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    hold_backbones(task);
    return std::make_unique<Sgd>(decay_groups(task, options().number("weight_decay")),
                                 Sgd::Settings{.momentum = options().number("momentum")});
  }
};

}  // namespace

RecipeItem linear_probe() {
  Item item("recipe", "linear-probe", 1, "The head alone learns, by SGD with a cosine decay from epoch to epoch");
  add_horizon(item, 100, 256);
  item.option(Option::number("lr", 0.001, "learning rate of the first epoch").above(0.0).maximum(100.0));
  add_rate_scaling(item, "linear", 256);
  add_momentum(item);
  add_gradient_decay(item, 0);
  add_limit(item);
  add_precision(item);
  add_reporting(item);
  item.facts({{"setting",
               {{"optimizer", "SGD"},
                {"schedule", "cosine decay"},
                {"layer-decay", 1},
                {"augmentation", "none"},
                {"tuning", "head"}}}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<LinearProbe>(options); }};
}

}  // namespace locus::engine::recipes
