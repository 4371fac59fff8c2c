// Affine maps by evaluating the input at each output pixel's point.
#include "engine/images/geometry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>

namespace locus::engine {
namespace {

constexpr int kFractionBits = 16;  // of Pillow's fixed-point coordinates

// The taps along one axis: indices within the image and where the point lies between the middle two.
template <int kTaps>
struct AxisTaps {
  std::array<int, kTaps> index;
  double t;
  AxisTaps(double position, int extent) {
    const double from = position - 0.5;  // at least -0.5
    int whole = static_cast<int>(from);
    if (from < whole) --whole;
    t = from - whole;
    const int first = whole - (kTaps / 2 - 1);
    for (int i = 0; i < kTaps; ++i) index[static_cast<std::size_t>(i)] = std::clamp(first + i, 0, extent - 1);
  }
};

double cubic(double p0, double p1, double p2, double p3, double t) {
  return p1 + t * ((p2 - p0) + t * ((2 * (p0 - p1) + p2 - p3) + t * (p1 - p0 + p3 - p2)));
}

std::uint8_t cut(double value) {
  if (value <= 0) return 0;
  return value >= 255 ? 255 : static_cast<std::uint8_t>(value);
}

template <int kChannels>
struct Bilinear {
  static void sample(const Image& image, double x, double y, std::uint8_t* to) {
    const AxisTaps<2> columns(x, image.width), rows(y, image.height);
    const std::uint8_t *above = image.row(rows.index[0]), *below = image.row(rows.index[1]);
    for (int c = 0; c < kChannels; ++c) {
      const int left = columns.index[0] * kChannels + c, right = columns.index[1] * kChannels + c;
      const double upper = above[left] + (above[right] - above[left]) * columns.t;
      const double lower = below[left] + (below[right] - below[left]) * columns.t;
      to[c] = static_cast<std::uint8_t>(upper + (lower - upper) * rows.t);
    }
  }
};

template <int kChannels>
struct Bicubic {
  static void sample(const Image& image, double x, double y, std::uint8_t* to) {
    const AxisTaps<4> columns(x, image.width), rows(y, image.height);
    if (rows.t == 0) {  // as under every map along the rows: the other three rows weigh nothing
      double row[kChannels];
      along(image.row(rows.index[1]), columns, row);
      for (int c = 0; c < kChannels; ++c) to[c] = cut(row[c]);
      return;
    }
    double values[4][kChannels];
    for (std::size_t r = 0; r < 4; ++r) along(image.row(rows.index[r]), columns, values[r]);
    for (int c = 0; c < kChannels; ++c) {
      to[c] = cut(cubic(values[0][c], values[1][c], values[2][c], values[3][c], rows.t));
    }
  }
  static void along(const std::uint8_t* row, const AxisTaps<4>& columns, double* to) {
    const std::uint8_t *p0 = row + columns.index[0] * kChannels, *p1 = row + columns.index[1] * kChannels,
                       *p2 = row + columns.index[2] * kChannels, *p3 = row + columns.index[3] * kChannels;
    for (int c = 0; c < kChannels; ++c) to[c] = cubic(p0[c], p1[c], p2[c], p3[c], columns.t);
  }
};

template <typename Sampler, int kChannels>
void interpolate(const Image& image, const AffineMap& map, std::span<const std::uint8_t> fill, Image& out) {
  for (int row = 0; row < out.height; ++row) {
    std::uint8_t* to = out.row(row);
    for (int column = 0; column < out.width; ++column, to += kChannels) {
      const double x = map[0] * (column + 0.5) + map[1] * (row + 0.5) + map[2];
      const double y = map[3] * (column + 0.5) + map[4] * (row + 0.5) + map[5];
      if (x < 0 || x >= image.width || y < 0 || y >= image.height) {
        std::copy_n(fill.begin(), kChannels, to);
      } else {
        Sampler::sample(image, x, y, to);
      }
    }
  }
}

// Pillow takes the nearest pixel by coordinates of 16 fractional bits, which decides where a point lies on an edge.
void pick_nearest(const Image& image, const AffineMap& map, std::span<const std::uint8_t> fill, Image& out) {
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::floor(value * (1 << kFractionBits) + 0.5));
  };
  const std::int64_t a = fixed(map[0]), b = fixed(map[1]), d = fixed(map[3]), e = fixed(map[4]);
  const std::int64_t c = fixed(map[2] + map[0] * 0.5 + map[1] * 0.5), f = fixed(map[5] + map[3] * 0.5 + map[4] * 0.5);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int row = 0; row < out.height; ++row) {
    std::uint8_t* to = out.row(row);
    for (int column = 0; column < out.width; ++column, to += channels) {
      const std::int64_t x = (c + column * a + row * b) >> kFractionBits;
      const std::int64_t y = (f + column * d + row * e) >> kFractionBits;
      const bool inside = x >= 0 && x < image.width && y >= 0 && y < image.height;
      std::copy_n(inside ? image.row(static_cast<int>(y)) + static_cast<std::size_t>(x) * channels : fill.data(),
                  channels, to);
    }
  }
}

// As Python rounds: the nearest of all numbers with 15 decimals.
double to_15_decimals(double value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 15).ptr;
  double out = 0;
  std::from_chars(digits, end, out);
  return out;
}

// Quarter turns, counter-clockwise; by an odd number of them the image is square.
Image turned(const Image& image, int quarters) {
  Image out = Image::blank(image.height, image.width, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  const int bottom = image.height - 1, right = image.width - 1;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const int row = quarters == 1 ? x : quarters == 2 ? bottom - y : bottom - x;
      const int column = quarters == 1 ? right - y : quarters == 2 ? right - x : y;
      std::copy_n(image.row(row) + static_cast<std::size_t>(column) * channels, channels,
                  out.row(y) + static_cast<std::size_t>(x) * channels);
    }
  }
  return out;
}

// The index that `i` shows, by reflection about 0 and extent - 1.
int reflected(int i, int extent) {
  if (i < 0) return -i;
  return i < extent ? i : 2 * (extent - 1) - i;
}

}  // namespace

Image affine(const Image& image, const AffineMap& map, Sampling sampling, std::span<const std::uint8_t> fill) {
  if (fill.size() != static_cast<std::size_t>(image.channels)) {
    throw std::invalid_argument("an image of " + std::to_string(image.channels) + " channels is filled with " +
                                std::to_string(fill.size()) + " values; give one for each channel");
  }
  Image out = Image::blank(image.height, image.width, image.channels);
  const bool gray = image.channels == 1;
  if (sampling == Sampling::kNearest) {
    pick_nearest(image, map, fill, out);
  } else if (sampling == Sampling::kBilinear) {
    gray ? interpolate<Bilinear<1>, 1>(image, map, fill, out) : interpolate<Bilinear<3>, 3>(image, map, fill, out);
  } else {
    gray ? interpolate<Bicubic<1>, 1>(image, map, fill, out) : interpolate<Bicubic<3>, 3>(image, map, fill, out);
  }
  return out;
}

AffineMap rotation(double degrees, int height, int width) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360;
  const double angle = -(turn * (3.14159265358979323846 / 180));
  const double cosine = to_15_decimals(std::cos(angle)), sine = to_15_decimals(std::sin(angle));
  const double x = width / 2.0, y = height / 2.0;
  AffineMap map = {cosine, sine, 0, to_15_decimals(-std::sin(angle)), cosine, 0};
  map[2] = map[0] * -x + map[1] * -y + x;
  map[5] = map[3] * -x + map[4] * -y + y;
  return map;
}

Image rotated(const Image& image, double degrees, Sampling sampling, std::span<const std::uint8_t> fill) {
  const double quarters = degrees / 90;
  if (quarters == std::floor(quarters)) {
    const int turns = static_cast<int>(((static_cast<std::int64_t>(quarters) % 4) + 4) % 4);
    if (turns == 0) return image;
    if (turns == 2 || image.height == image.width) return turned(image, turns);
  }
  return affine(image, rotation(degrees, image.height, image.width), sampling, fill);
}

namespace {

template <int kChannels>
void turn_rows(const Image& image, Image& out) {
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = image.row(y);
    std::uint8_t* to = out.row(y) + (image.width - 1) * kChannels;
    for (int x = 0; x < image.width; ++x, from += kChannels, to -= kChannels) {
      for (int c = 0; c < kChannels; ++c) to[c] = from[c];
    }
  }
}

}  // namespace

Image flipped(const Image& image) {
  Image out = Image::blank(image.height, image.width, image.channels);
  if (image.channels == 1) {
    turn_rows<1>(image, out);
  } else {
    turn_rows<3>(image, out);
  }
  return out;
}

Image reflect_padded(const Image& image, int pixels) {
  if (pixels >= image.height || pixels >= image.width) {
    throw std::invalid_argument("an image of " + std::to_string(image.height) + " x " + std::to_string(image.width) +
                                " has not the " + std::to_string(pixels) + " pixels beside its border to reflect");
  }
  Image out = Image::blank(image.height + 2 * pixels, image.width + 2 * pixels, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < out.height; ++y) {
    const std::uint8_t* from = image.row(reflected(y - pixels, image.height));
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, to += channels) {
      std::copy_n(from + channels * static_cast<std::size_t>(reflected(x - pixels, image.width)), channels, to);
    }
  }
  return out;
}

}  // namespace locus::engine
