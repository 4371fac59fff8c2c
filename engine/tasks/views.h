// How an image is looked at where a task makes a map of it: as a whole, in windows, mirrored as well, at several scales.
#pragma once

#include "engine/layers/resampling.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// One stretch of an axis.
struct WindowSpan {
  std::int64_t first = 0, end = 0;
  bool operator==(const WindowSpan&) const = default;
};
// The windows along an axis of `length` pixels: max(length - window + stride - 1, 0) / stride + 1 of them, window i ending at
// min(i stride + window, length) and as long as `window`, or as the axis where that is shorter (mmsegmentation).
std::vector<WindowSpan> windows_along(std::int64_t length, std::int64_t window, std::int64_t stride);

// Image extents and a function that makes maps [B, C, h, w] of images [B, c, H, W], each standing for the whole image.
using MakeMap = std::function<Tensor(const Tensor& image)>;

// The maps of an image that Views asks for, each standing for the whole image: at every scale (sides floor(side scale + 1/2),
// half-pixel bilinear) the image, and where it is asked for its mirror, whose map is mirrored back. In windows the map of a scale
// has the image's extent, each place the mean over its windows of theirs enlarged to the window.
std::vector<Tensor> maps_of_views(const Tensor& image, const Views& views, const MakeMap& make);

}  // namespace locus::engine
