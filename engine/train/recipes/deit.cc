// DeiT's training of Vision Transformers on ImageNet-1K, as Violin and its baselines are pre-trained.
//
// Paper: Touvron et al. 2021, arXiv:2012.12877, table 9; numbers of its code. There the rate of an epoch is that of the one
// before, which schedule_late keeps; lr is for a batch of 1024 and grows with the batch. The average of the weights is
// kept but not reported.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {

RecipeItem deit() {
  Item item("recipe", "deit", 1, "DeiT: AdamW, a cosine by epochs, mixup and CutMix, an average of the weights");
  item.set("paper", "Touvron et al. 2021, arXiv:2012.12877");
  add_deit(item, {});
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<DeitRecipe>(options); }};
}

}  // namespace locus::engine::recipes
