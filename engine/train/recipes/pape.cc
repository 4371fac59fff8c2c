// PaPE's training on ImageNet-1K: AdamW that lets everything decay, a cosine by steps, torchvision's mixup and CutMix.
//
// Paper: parabolic position encoding, supplementary material and code. The learning rate reaches 0 at the last step; label
// smoothing is part of the mixed targets, which is the same as smoothing them in the loss. Drop path is constant over
// depth, an option of the model.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class Pape final : public OptionRecipe {
 public:
  explicit Pape(const Options& options) : OptionRecipe(options, /*torchvision=*/true) {}

  Schedule schedule(const Horizon& horizon) const override {
    return PapeCosine{scaled_rate(options()), options().number("min_lr"), warmup_steps(options(), horizon),
                      horizon.steps()};
  }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<AdamW>(parameter_groups(task, group_rules(options())), AdamW::Settings{});
  }
};

}  // namespace

RecipeItem pape() {
  Item item("recipe", "pape", 1, "PaPE: AdamW with decay of everything, warm-up and cosine by steps, mixup and CutMix");
  add_horizon(item, 300, 1024, /*repeats=*/1, /*keep_last=*/true);
  add_rate(item, 6e-4, 0.05);
  add_warmup_share(item, 0.05);
  item.option(Option::number("min_lr", 0.0, "learning rate at the last step").minimum(0.0).maximum(10.0));
  add_limits(item);
  add_groups(item, "none");
  add_clip_rule(item);
  add_mixing(item, /*torchvision=*/true, 0.1);
  add_precision(item, Precision::kFloat16, Precision::kFloat16);
  add_reporting(item);
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Pape>(options); }};
}

}  // namespace locus::engine::recipes
