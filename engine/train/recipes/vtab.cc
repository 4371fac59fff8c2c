// Fine-tuning on a task of VTAB-1K, as Violin is.
//
// Code: vtab1k-pytorch (Alkin), with its schedule, whose last step but one has rate 0, and its rate that shrinks with the
// batch; layer decay by BEiT's rule. Tokens and position tables decay. Trained in bfloat16, scored in float32.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class Vtab final : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;

  Schedule schedule(const Horizon& horizon) const override {
    return VtabCosine{scaled_rate(options()), warmup_steps(options(), horizon), horizon.steps()};
  }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<AdamW>(parameter_groups(task, group_rules(options())), AdamW::Settings{});
  }
};

}  // namespace

RecipeItem vtab() {
  Item item("recipe", "vtab", 1, "VTAB-1K fine-tuning: AdamW with layer-wise decay of the rate, a cosine by steps");
  item.set("paper", "Zhai et al. 2020, arXiv:1910.04867");
  add_horizon(item, 50, 64);
  add_rate(item, 1e-3, 0.05);
  add_rate_scaling(item, "inverse", 64);
  add_warmup_share(item, 0.1);
  add_limits(item);
  add_groups(item, "matrices", 0.65);
  add_clip_rule(item);
  add_precision(item, Precision::kBfloat16, Precision::kFloat32);
  add_reporting(item);
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<Vtab>(options); }};
}

}  // namespace locus::engine::recipes
