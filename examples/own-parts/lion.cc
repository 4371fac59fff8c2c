// Lion: the sign of a momentum is the step (Chen et al. 2023, arXiv:2302.06675, Algorithm 2), with a cosine decay.
//
//   c = b1 m + (1 - b1) g;   p <- p - rate (sign c + decay p);   m <- b2 m + (1 - b2) g
#include "engine/plugin/plugin.h"
#include "engine/train/recipe_options.h"

namespace {

using namespace locus::engine;

class Lion final : public Optimizer {
 public:
  Lion(std::vector<ParameterGroup> groups, double beta1, double beta2)
      : Optimizer(std::move(groups), {"momentum"}), beta1_(beta1), beta2_(beta2) {}

 private:
  void apply(Update& update) override {
    for (std::size_t i = 0; i < update.parameters.size(); ++i) {
      const Tensor &gradient = update.gradients[i], &momentum = update.states[0][i];
      const Tensor direction = (beta1_ * momentum + (1 - beta1_) * gradient).sign_();
      const Tensor& parameter = update.parameters[i];
      parameter.mul_(1 - update.rate * update.weight_decay).add_(direction, -update.rate);
      momentum.mul_(beta2_).add_(gradient, 1 - beta2_);
    }
  }

  double beta1_, beta2_;
};

class LionRecipe final : public recipes::CosineRecipe {
 public:
  using CosineRecipe::CosineRecipe;

  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<Lion>(decay_groups(task, options().number("weight_decay")), options().number("beta1"),
                                  options().number("beta2"));
  }
};

RecipeItem lion() {
  Item item("recipe", "lion", 1, "The sign of a momentum, linear warm-up and cosine decay");
  recipes::add_horizon(item, 10, 64);
  recipes::add_rate(item, 3e-4, 0.1);
  item.option(Option::number("beta1", 0.9, "share of the momentum in a step").minimum(0.0).maximum(1.0));
  item.option(Option::number("beta2", 0.99, "share of the momentum that stays").minimum(0.0).maximum(1.0));
  recipes::add_course(item, 0.0);
  recipes::add_precision(item);
  recipes::add_reporting(item);
  item.facts({{"setting",
               {{"optimizer", "Lion"},
                {"schedule", "cosine decay"},
                {"layer-decay", 1},
                {"augmentation", "none"},
                {"tuning", "all weights"}}}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<LionRecipe>(options); }};
}

}  // namespace

LOCUS_RECIPE(lion)
