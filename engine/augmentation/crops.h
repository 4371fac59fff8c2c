// Where random crops lie, and what is between pixels by name.
#pragma once

#include "engine/data/transform.h"
#include "engine/images/crop.h"
#include "engine/images/geometry.h"
#include "engine/images/resize.h"

namespace locus::engine {

// Of a crop: its share of the image's area, and its width over its height.
struct CropRange {
  double least_area = 0.08, most_area = 1;
  double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;
};

// torchvision's RandomResizedCrop (Szegedy and others, CVPR 2015): area uniform, ratio uniform in its logarithm, the first of
// ten tries whose rounded sides fit the image; else the largest part in the middle whose ratio is in range. Draws
// "crop.area", "crop.ratio", "crop.top" and "crop.left", the try being the attempt. In double precision. Thread-safe.
Box random_resized_crop(const ImageSize& image, const CropRange& range, const SampleDraws& draws);

// `image` there, resized to `extent` by Pillow's rule. Thread-safe.
Image resized_crop(const Image& image, const Box& box, const Extent& extent, Filter filter);
Image resized_crop(const ImageParts& image, const Box& box, const Extent& extent, Filter filter);

// Of a window of `extent` within the image, by the draws "pad.top" and "pad.left". Throws std::invalid_argument where the
// image is smaller than the window.
Box random_window(const ImageSize& image, const Extent& extent, const SampleDraws& draws);

// Of "bilinear", "bicubic" and, for filters, the other names of resizing. Throw std::invalid_argument on another.
Filter filter_of(std::string_view interpolation);
Sampling sampling_of(std::string_view interpolation);

inline ImageSize size_of(const Image& image) { return {image.height, image.width}; }

}  // namespace locus::engine
