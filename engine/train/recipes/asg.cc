// Active Spatial Guidance's training on ImageNet-100: small batches, a warm-up of some thousand steps, gradients clipped.
//
// The paper trains in float32, its code in bfloat16 where the GPU can (option precision). Without weight decay are biases
// and what has "norm" in its name; tokens and tables decay.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class Asg final : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;

  Schedule schedule(const Horizon& horizon) const override {
    return AsgCosine{scaled_rate(options()), options().number("min_lr"), options().number("warmup_lr"),
                     options().integer("warmup_steps"), horizon.steps()};
  }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<AdamW>(parameter_groups(task, group_rules(options())), AdamW::Settings{});
  }
};

}  // namespace

RecipeItem asg() {
  Item item("recipe", "asg", 1,
            "Active Spatial Guidance: AdamW in small batches, warm-up and cosine by steps, clipping");
  add_horizon(item, 130, 32, /*repeats=*/1, /*keep_last=*/true);
  add_rate(item, 7e-5, 0.01);
  item.option(Option::integer("warmup_steps", 3000, "steps of linear warm-up").minimum(0).unit("steps"));
  item.option(Option::number("warmup_lr", 1e-7, "learning rate that the warm-up begins at").minimum(0.0).maximum(10.0));
  item.option(Option::number("min_lr", 1e-8, "learning rate at the end of the cosine").minimum(0.0).maximum(10.0));
  add_limits(item, 1.0);
  add_groups(item, "names");
  add_clip_rule(item);
  add_precision(item);
  add_reporting(item);
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Asg>(options); }};
}

}  // namespace locus::engine::recipes
