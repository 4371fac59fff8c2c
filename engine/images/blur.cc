// Box blurs of real radius in fixed point, by running sums.
#include "engine/images/blur.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace locus::engine::pillow {
namespace {

constexpr int kPasses = 3;

// The box: 2 reach + 1 pixels of weight `inner` and one of weight `edge` beyond each end, as fractions of 2^24.
struct BlurBox {
  int reach;
  std::uint32_t inner, edge;

  explicit BlurBox(float radius) : reach(static_cast<int>(radius)) {
    inner = static_cast<std::uint32_t>(static_cast<float>(1u << 24) / (radius * 2 + 1));
    edge = ((1u << 24) - (2 * static_cast<std::uint32_t>(reach) + 1) * inner) / 2;
  }
  std::uint8_t value(std::uint32_t sum, std::uint32_t ends) const {
    return static_cast<std::uint8_t>((sum * inner + ends * edge + (1u << 23)) >> 24);
  }
};

// Along an axis of `extent` places, `stride` bytes apart, for each of `lanes` bytes side by side.
void blur(const std::uint8_t* from, std::uint8_t* to, int extent, std::size_t stride, std::size_t lanes,
          const BlurBox& box, std::vector<std::uint32_t>& sums) {
  const auto at = [&](int i) { return from + static_cast<std::size_t>(std::clamp(i, 0, extent - 1)) * stride; };
  sums.assign(lanes, 0);
  for (int i = -box.reach; i <= box.reach; ++i) {
    const std::uint8_t* row = at(i);
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += row[lane];
  }
  for (int i = 0; i < extent; ++i, to += stride) {
    const std::uint8_t *before = at(i - box.reach - 1), *after = at(i + box.reach + 1), *leaves = at(i - box.reach);
    std::uint32_t* sum = sums.data();
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      to[lane] = box.value(sum[lane], std::uint32_t{before[lane]} + after[lane]);
      sum[lane] += std::uint32_t{after[lane]} - leaves[lane];
    }
  }
}

}  // namespace

float box_radius(double sigma) {
  const auto own = static_cast<float>(sigma);
  const float variance = own * own / kPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float fraction = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  fraction /= 6 * (variance - (whole + 1) * (whole + 1));
  return whole + fraction;
}

Image gaussian_blur(const Image& image, double sigma) {
  if (!(sigma >= 0)) {
    throw std::invalid_argument("a blur has a standard deviation of 0 pixels or more, not " + std::to_string(sigma));
  }
  const float radius = box_radius(sigma);
  Image out = image;
  if (radius == 0 || image.pixels.empty()) return out;
  const BlurBox box(radius);
  Image other = Image::blank(image.height, image.width, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t line = channels * static_cast<std::size_t>(image.width);
  std::vector<std::uint32_t> sums;
  for (int pass = 0; pass < kPasses; ++pass, std::swap(out.pixels, other.pixels)) {
    for (int y = 0; y < image.height; ++y) blur(out.row(y), other.row(y), image.width, channels, channels, box, sums);
  }
  for (int pass = 0; pass < kPasses; ++pass, std::swap(out.pixels, other.pixels)) {
    blur(out.pixels.data(), other.pixels.data(), image.height, line, line, box, sums);
  }
  return out;
}

}  // namespace locus::engine::pillow
