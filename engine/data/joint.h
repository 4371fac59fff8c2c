// What is done to an image together with what belongs to its pixels: the mask of classes, depth, boxes and instances of a
// sample keep to the pixels they were made for. Functions of samples whose "image" is [C, H, W]; what a sample lacks is passed
// over, and every other tensor stays. New tensors are made, none is changed. Thread-safe.
#pragma once

#include <optional>
#include <span>

#include "engine/data/sample.h"
#include "engine/images/resize.h"

namespace locus::engine {

// Of the image. Throws DataError naming the tensor where a mask, depth or instances are of another size, or of a type or shape
// that sample.h does not name.
ImageSize joint_size(const Sample& sample);

// Whether the sample has more of its image than the image.
bool has_targets(const Sample& sample);
// Throws std::invalid_argument where it has: `who` changes images alone, and `instead` says what to write.
void refuse_targets(const Sample& sample, std::string_view who, std::string_view instead);

// The sample resized to `size`, of which `window` is kept.
struct Zoom {
  ImageSize size;
  Box window;
};
struct ZoomHow {
  // Images by this kernel of Pillow's and masks by Pillow's nearest pixel; nothing: images by plain bilinear pixels, masks by
  // the plain nearest one (plain_resize.h).
  std::optional<Filter> filter;
  double least_share = 0.1;  // of the pixels behind one of the depth that must be known, more than this
};

// Images uint8. Boxes are scaled by the actual ratio of each axis, cut to the window, and dropped with class and instance where
// nothing of them is left. Where the size is the sample's own this is a crop. Throws as joint_size, and std::invalid_argument
// where the window is not within the size.
Sample zoomed(Sample sample, const Zoom& zoom, const ZoomHow& how);
Sample cropped(Sample sample, const Box& window);

// Left and right exchanged.
Sample mirrored(Sample sample);

// Rows below and columns on the right up to `size`, where it is larger: images take `fill`, a number for each channel, masks
// kIgnored, depth and instances 0. Images of any type.
Sample padded(Sample sample, const ImageSize& size, std::span<const double> fill);

// Depth with holes, float32 [H, W], at `size`: with m = 1 where depth is finite and above 0, and 0 elsewhere, both depth m and m
// are resized, by averages over the areas (adaptive average pooling) where `size` is larger on neither axis, otherwise by
// half-pixel bilinear ones; the quotient (depth m) / (m + 1e-6) where m is above `least_share`, 0 elsewhere. Of this, `window`.
// Sums in double precision.
Tensor depth_window(const Tensor& depth, const ImageSize& size, const Box& window, double least_share);

}  // namespace locus::engine
