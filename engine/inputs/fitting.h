// Resizing and cropping of images that are bytes, to one extent.
#pragma once

#include "engine/data/transform.h"

namespace locus::engine {

// How an image comes to its extent.
struct Fitting {
  // shorter: the shorter side at the first of `size`, the longer one follows, cut to whole pixels. both: both sides times
  // one ratio in double precision, cut to whole pixels. stretch: to `size`, the aspect ratio ignored.
  std::string resize = "shorter";
  std::string method = "pillow";          // pillow: Pillow's resize to the byte; tensor: torchvision's of tensors
  std::string interpolation = "bicubic";  // with pillow also nearest, box, bilinear, hamming, lanczos; else bilinear
  Extent size{};                          // before the crop
  Extent crop{};                          // from the center, zeros around a smaller image
};

// A step that does it to every image of a sample, uint8 [C, H, W] with 1 or 3 channels. Throws std::invalid_argument on a
// name that is none of the above and on sizes below 1.
std::shared_ptr<const Transform> fitting(Fitting how);

// The extent that an image of `own` is resized to before the crop.
Extent resized_extent(const Extent& own, const Fitting& how);

}  // namespace locus::engine
