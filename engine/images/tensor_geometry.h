// Affine maps of 8-bit images as torchvision computes them on tensors (transforms.v2.functional.affine and rotate, 0.26) by
// the nearest pixel: points outside take 0. The result is always a new image. Thread-safe.
#pragma once

#include "engine/images/image.h"

namespace locus::engine::torchvision {

// The content moves to the left where the row is below the top edge, by `factor` times its distance; about the top left.
Image shear_x(const Image& image, double factor);
Image shear_y(const Image& image, double factor);  // columns and rows exchanged
// By whole pixels, cut: positive numbers move the content to the right, downwards.
Image translate_x(const Image& image, double pixels);
Image translate_y(const Image& image, double pixels);
Image rotate(const Image& image, double degrees);  // about the center

}  // namespace locus::engine::torchvision
