// Crops, padding and sizes.
#include "engine/images/crop.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace locus::engine {
namespace {

std::string text(int height, int width) { return std::to_string(height) + " x " + std::to_string(width); }

void check_size(int height, int width, const char* what) {
  if (height < 1 || width < 1)
    throw std::invalid_argument(std::string(what) + " of " + text(height, width) + " pixels has none");
}

// Half of `odd_or_even` >= 0, a half pixel to the even side.
int half_to_even(int odd_or_even) {
  const int half = odd_or_even / 2;
  return odd_or_even % 2 == 1 && half % 2 == 1 ? half + 1 : half;
}

}  // namespace

void check_box(const ImageSize& image, const Box& box) {
  check_size(box.height, box.width, "a crop");
  if (box.top >= 0 && box.left >= 0 && box.height <= image.height - box.top && box.width <= image.width - box.left)
    return;
  throw std::invalid_argument("a crop of " + text(box.height, box.width) + " pixels at row " + std::to_string(box.top) +
                              ", column " + std::to_string(box.left) + " leaves its image of " +
                              text(image.height, image.width));
}

void check_box(const Image& image, const Box& box) { check_box(ImageSize{image.height, image.width}, box); }

Image crop(const Image& image, const Box& box) {
  check_box(image, box);
  Image out = Image::blank(box.height, box.width, image.channels);
  const std::ptrdiff_t offset = std::ptrdiff_t{1} * box.left * image.channels;
  const std::size_t bytes = std::size_t{1} * box.width * image.channels;
  for (int y = 0; y < box.height; ++y) std::copy_n(image.row(box.top + y) + offset, bytes, out.row(y));
  return out;
}

Image crop(const Image& image, int top, int left, int height, int width) {
  return crop(image, Box{top, left, height, width});
}

Image zero_padded(const Image& image, const std::array<int, 4>& margins) {
  const auto [above, left, below, right] = margins;
  if (std::min({above, left, below, right}) < 0)
    throw std::invalid_argument("an image is padded by no negative number of pixels");
  Image out = Image::blank(image.height + above + below, image.width + left + right, image.channels);
  const std::ptrdiff_t offset = std::ptrdiff_t{1} * left * image.channels;
  const std::size_t bytes = std::size_t{1} * image.width * image.channels;
  for (int y = 0; y < image.height; ++y) std::copy_n(image.row(y), bytes, out.row(above + y) + offset);
  return out;
}

Box center_box(const ImageSize& image, int height, int width) {
  check_size(height, width, "a center crop");
  if (height > image.height || width > image.width) {
    throw std::invalid_argument("a center crop of " + text(height, width) + " pixels does not lie within an image of " +
                                text(image.height, image.width));
  }
  return {half_to_even(image.height - height), half_to_even(image.width - width), height, width};
}

Image center_crop(const Image& image, int height, int width) {
  check_size(height, width, "a center crop");
  const int rows = std::max(0, height - image.height), columns = std::max(0, width - image.width);
  if (rows == 0 && columns == 0) return crop(image, center_box({image.height, image.width}, height, width));
  const Image padded = zero_padded(image, {rows / 2, columns / 2, rows - rows / 2, columns - columns / 2});
  return crop(padded, center_box({padded.height, padded.width}, height, width));
}

ImageSize shorter_side_at(const ImageSize& own, int shorter) {
  check_size(own.height, own.width, "an image");
  check_size(shorter, shorter, "an image");
  const auto longer = [&](int longest, int shortest) {
    return static_cast<int>(std::int64_t{shorter} * longest / shortest);
  };
  if (own.height <= own.width) return {shorter, longer(own.width, own.height)};
  return {longer(own.height, own.width), shorter};
}

ImageSize both_sides_at(const ImageSize& own, int shorter) {
  check_size(own.height, own.width, "an image");
  check_size(shorter, shorter, "an image");
  const double scale = static_cast<double>(shorter) / std::min(own.height, own.width);
  return {std::max(1, static_cast<int>(own.height * scale)), std::max(1, static_cast<int>(own.width * scale))};
}

int size_before_crop(int size, CropMargin margin) {
  check_size(size, size, "a crop");
  switch (margin) {
    case CropMargin::kNone:
      break;
    case CropMargin::kSevenEighths:
      return static_cast<int>(size / 0.875);
    case CropMargin::kEightSevenths:
      return static_cast<int>(size * 256.0 / 224.0);
    case CropMargin::kThousandths:
      return static_cast<int>(size * 1.143);
    case CropMargin::kEightSeventhsSmall:
      return size <= 224 ? static_cast<int>(256.0 / 224.0 * size) : size;
  }
  return size;
}

}  // namespace locus::engine
