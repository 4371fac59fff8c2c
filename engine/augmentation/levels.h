// timm's operations by level: what a level of 0..10 means for each.
#pragma once

#include "engine/augmentation/operations.h"

namespace locus::engine {

// What levels are told beside themselves.
struct LevelScene {
  int height = 0, width = 0;   // of the image
  std::int64_t shorter = 224;  // side of training images, which absolute translations go by
  bool negative = false;       // the drawn sign, for those that have one
};

struct LeveledOperation {
  std::string_view name;       // timm's: "SolarizeIncreasing"
  std::string_view operation;  // of pillow_operations()
  double (*argument)(double level, const LevelScene& scene);
};

// Every operation that timm's policies name. Values of timm 1.0, which are those of 0.3.2.
std::span<const LeveledOperation> leveled_operations();
// Throws std::invalid_argument when there is none.
const LeveledOperation& leveled_operation(std::string_view name);

// The operations RandAugment draws from, in timm's order; `increasing` those that change more at a higher level.
std::span<const std::string_view> randaugment_operations(bool increasing);

}  // namespace locus::engine
