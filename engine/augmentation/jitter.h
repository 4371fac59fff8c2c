// Color jitter.
#pragma once

#include "engine/data/transform.h"
#include "engine/images/image.h"

namespace locus::engine {

// Largest changes; 0 leaves a property alone.
struct Jitter {
  double brightness = 0, contrast = 0, saturation = 0;  // factors in max(0, 1 - x)..1 + x
  double hue = 0;                                       // whole turns, at most 0.5
};

// torchvision's ColorJitter on Pillow's images: each property by a uniform draw ("jitter.brightness", ..., "jitter.hue"), in
// the order of the numbers of "jitter.order", one a property. Thread-safe.
Image jittered(Image image, const Jitter& jitter, const SampleDraws& draws);

}  // namespace locus::engine
