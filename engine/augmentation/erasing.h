// Random erasing.
#pragma once

#include "engine/data/transform.h"

namespace locus::engine {

// What is put into an erased box.
enum class ErasedBy {
  kPixel,     // a standard normal for each channel and pixel
  kRandom,    // one for each channel
  kConstant,  // 0, which is the mean of normalized images
};

struct Erasing {
  double probability = 0.25;
  ErasedBy by = ErasedBy::kPixel;
  std::int64_t most = 1;  // boxes; 1..most of them, each as likely
};

// `image`, float32 [C, H, W], normalized, with boxes erased (Zhong and others, AAAI 2020, in the form of timm): a box takes
// 2 % to a third of the image, shared by all boxes, with a ratio of height to width of 0.3 to 1/0.3, uniform in its logarithm; a
// box that does not fit within the image in ten tries is left out. Draws "erase.apply", "erase.count", of box j
// "erase.<j>.area", ".ratio", ".top" and ".left" with the try as attempt and, for one color, ".color" [C]; for pixels
// "erase.noise" [C, H, W] by their position in the image. The same tensor where nothing is erased, else a new one.
// Thread-safe.
Tensor erased(const Tensor& image, const Erasing& erasing, const SampleDraws& draws);

}  // namespace locus::engine
