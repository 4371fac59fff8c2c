// Augmentations: what training images go through, sample by sample, beyond what every image of the dataset does.
#pragma once

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/data/transform.h"

namespace locus::engine {

// What an augmentation works for.
struct AugmentationContext {
  Extent extent;  // of the images a model is given
  std::int64_t channels = 3;
  Normalization normalization;            // of the images a model is given
  std::string interpolation = "bicubic";  // of the resizing that leads to `extent`
};

struct Augmentation {
  Transforms transforms = {};  // of uint8 images of any extent, into images of the context's extent
  bool normalizes = false;     // they give float32 images, normalized; otherwise uint8
};

struct AugmentationItem {
  Item item;  // kind "augmentation"
  Augmentation (*make)(const AugmentationContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<AugmentationItem>& augmentation_registry();  // first, every line of augmentations.def
inline const std::deque<AugmentationItem>& augmentation_items() { return augmentation_registry().all(); }
inline const AugmentationItem& augmentation_item(std::string_view id) { return augmentation_registry().find(id); }

// Of a stage configuration's "augmentation"; nothing where it has none. Throws std::invalid_argument naming what is wrong.
std::optional<Augmentation> make_augmentation(const Json& configuration, const AugmentationContext& context);

}  // namespace locus::engine
