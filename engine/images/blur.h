// Gaussian blur as Pillow approximates it (ImageFilter.GaussianBlur).
#pragma once

#include "engine/images/image.h"

namespace locus::engine::pillow {

// The real radius of the box that three times over has the variance `sigma` squared (Gwosdek and others, SSVM 2011,
// equations 7, 11 and 14), in pixels, in float32 as Pillow computes it.
float box_radius(double sigma);

// Three boxes of that radius along the rows, then three along the columns, each rounded to 8 bits; the outermost pixels
// repeat. `sigma` in pixels; 0 is a copy. Throws std::invalid_argument on a negative one. Thread-safe.
Image gaussian_blur(const Image& image, double sigma);

}  // namespace locus::engine::pillow
