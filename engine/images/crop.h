// Parts of images, and the sizes that evaluation crops from. Everything is thread-safe.
#pragma once

#include <array>

#include "engine/images/image.h"

namespace locus::engine {

// Rows top .. top + height - 1, columns left .. left + width - 1.
struct Box {
  int top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

struct ImageSize {
  int height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

// Throw std::invalid_argument unless the box has pixels and all of them are the image's.
void check_box(const ImageSize& image, const Box& box);
void check_box(const Image& image, const Box& box);

// Throws std::invalid_argument where the box leaves the image or has no pixels.
Image crop(const Image& image, const Box& box);
Image crop(const Image& image, int top, int left, int height, int width);

// Zeros around the image: `margins` are above, left, below, right, none negative (std::invalid_argument).
Image zero_padded(const Image& image, const std::array<int, 4>& margins);

// torchvision's CenterCrop: where the difference is odd, half a pixel is rounded to the even side; a smaller image is first
// padded with zeros, the odd row or column below or right. Throws std::invalid_argument on a size below 1.
Image center_crop(const Image& image, int height, int width);
// Its box within an image at least as large.
Box center_box(const ImageSize& image, int height, int width);

// The shorter side at `shorter`, the longer one cut to whole pixels: torchvision's Resize(int). Both throw
// std::invalid_argument on sizes below 1.
ImageSize shorter_side_at(const ImageSize& own, int shorter);
// Both sides times shorter / (own shorter side) in double precision, cut to whole pixels; may lose one even of the shorter
// side (203 at 438 gives 437). The evaluation of PaPE sizes images this way.
ImageSize both_sides_at(const ImageSize& own, int shorter);

// How much larger than its crop of `size` pixels an image is resized for evaluation, cut to whole pixels.
enum class CropMargin {
  kNone,                // size: DeiT-III
  kSevenEighths,        // size / 0.875: DeiT
  kEightSevenths,       // size 256 / 224: PaPE
  kThousandths,         // size 1.143: ASG
  kEightSeventhsSmall,  // 256 / 224 size, and none above 224: RMT
};
int size_before_crop(int size, CropMargin margin);

}  // namespace locus::engine
