// mmsegmentation's 80,000 iterations of a ViT with UPerNet: AdamW, a warm-up by steps, then a straight line to 0.
//
// It counts steps, not epochs: `epochs` must hold at least as many. Its stream of images knows no epochs, ours begins each anew.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class Mmseg final : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;

  Schedule schedule(const Horizon& horizon) const override {
    return MmsegPoly{.peak = scaled_rate(options()),
                     .start = 1e-6,
                     .warmup = options().integer("warmup_steps"),
                     .steps = horizon.steps()};
  }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<AdamW>(parameter_groups(task, group_rules(options())), AdamW::Settings{});
  }
};

}  // namespace

RecipeItem mmseg() {
  Item item("recipe", "mmseg", 1, "mmsegmentation's schedule of 80,000 steps: AdamW, warm-up, a straight line to 0");
  add_horizon(item, 64, 16);
  item.option(
      Option::integer("steps", 80000, "training ends after as many, if the epochs have more; 0: with the epochs")
          .minimum(0)
          .unit("steps"));
  add_rate(item, 6e-5, 0.01);
  item.option(Option::integer("warmup_steps", 1500, "steps of linear warm-up").minimum(0).unit("steps"));
  add_limits(item);
  add_groups(item, "task");
  add_clip_rule(item);
  add_precision(item);
  add_reporting(item);
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "linear decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Mmseg>(options); }};
}

}  // namespace locus::engine::recipes
