// No augmentation: training images as the dataset gives them.
#include "engine/augmentation/augmentation.h"

namespace locus::engine::augmentations {

AugmentationItem none() {
  return {Item("augmentation", "none", 1, "Training images as the dataset gives them"),
          [](const AugmentationContext&, const Options&) { return Augmentation{}; }};
}

}  // namespace locus::engine::augmentations
