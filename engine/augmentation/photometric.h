// mmsegmentation's photometric distortion.
#pragma once

#include "engine/data/transform.h"
#include "engine/images/image.h"

namespace locus::engine {

// Of RGB images, each with probability 1/2 by the draw of its name: "photo.brightness", plus -32..32
// ("photo.brightness.shift"); contrast, times 0.5..1.5 ("photo.contrast", ".factor"), here where "photo.mode" is below 1/2, else
// at the end; saturation of 8-bit HSV times 0.5..1.5 ("photo.saturation", ".factor"); hue plus a whole number of -18..17 of 180
// ("photo.hue", ".shift"). Values are computed in float32 and cut to bytes after each step. On 1 channel saturation and hue
// leave the image as it is. Thread-safe.
Image distorted(Image image, const SampleDraws& draws);

}  // namespace locus::engine
