// DeiT-III's training from scratch on ImageNet-1K.
//
// Paper: Touvron et al. 2022, arXiv:2204.07118, table 1; numbers of its code for ViT-S (others: lr 0.003). LAMB clips the
// joint norm at 1 by itself, which the paper's tables do not say. Its loss is the binary cross-entropy, an option of the
// task: `task: {classification: {loss: binary-cross-entropy}}`; drop path is constant over depth, an option of the model.
#include "engine/train/layerwise.h"
#include "engine/train/recipe_options.h"

namespace locus::engine::recipes {
namespace {

class DeitIii final : public DeitRecipe {
 public:
  using DeitRecipe::DeitRecipe;

  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    return std::make_unique<Lamb>(parameter_groups(task, group_rules(options())),
                                  Lamb::Settings{.epsilon = 1e-8,
                                                 .clip = options().number("lamb_clip"),
                                                 .trust_clip = options().boolean("trust_clip"),
                                                 .always_adapt = options().boolean("always_adapt")});
  }
};

}  // namespace

RecipeItem deit_iii() {
  Item item("recipe", "deit-iii", 1, "DeiT-III: LAMB, a cosine by epochs, mixup and CutMix for a binary cross-entropy");
  item.set("paper", "Touvron et al. 2022, arXiv:2204.07118");
  add_deit(item, {.epochs = 800, .batch = 2048, .rate = 4e-3, .scaling = "none", .smoothing = 0});
  item.option(Option::number("lamb_clip", 1.0, "joint norm above which LAMB scales the gradients down; 0 for no limit")
                  .minimum(0.0));
  item.option(Option::boolean("trust_clip", false, "LAMB's ratio of norms is at most 1").neutral(false));
  item.option(Option::boolean("always_adapt", false, "LAMB's ratio of norms without weight decay, too").neutral(false));
  add_setting(item, {{"optimizer", "LAMB"}, {"beta1", 0.9}, {"beta2", 0.999}, {"schedule", "cosine decay"}});
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<DeitIii>(options); }};
}

}  // namespace locus::engine::recipes
