// The training of SDT-H on ImageNet-1K, which is RMT's: DeiT's with an average of the weights that depends on the batch.
//
// Papers: Fan et al. 2024, arXiv:2309.11523 (RMT), whose code this follows; its logs show a batch of 2048 at twice the
// rate, which lr_scaling gives for that batch.
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {

RecipeItem sdt_h() {
  Item item("recipe", "sdt-h", 1, "SDT-H and RMT: as DeiT, the average of the weights at a decay by batch");
  item.set("paper", "Fan et al. 2024, arXiv:2309.11523");
  add_deit(item, {.average_batch = 512});
  add_setting(item, {{"optimizer", "AdamW"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<DeitRecipe>(options); }};
}

}  // namespace locus::engine::recipes
