// Resizing: a second, plain definition of Pillow's arithmetic, numbers computed by hand, and what boxes do.
#include "engine/images/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;

constexpr Filter kWithKernel[] = {Filter::kBox, Filter::kBilinear, Filter::kHamming, Filter::kBicubic,
                                  Filter::kLanczos};

double support_of(Filter filter) {
  if (filter == Filter::kBox) return 0.5;
  if (filter == Filter::kBicubic) return 2;
  return filter == Filter::kLanczos ? 3 : 1;
}

double kernel_at(Filter filter, double x) {
  const double pi = std::acos(-1.0);
  const auto sinc = [&](double v) { return v == 0 ? 1.0 : std::sin(pi * v) / (pi * v); };
  const double a = std::abs(x);
  switch (filter) {
    case Filter::kBox:
      return -0.5 < x && x <= 0.5;
    case Filter::kBilinear:
      return a < 1 ? 1 - a : 0;
    case Filter::kHamming:
      return a < 1 ? sinc(x) * (static_cast<double>(0.54f) + static_cast<double>(0.46f) * std::cos(pi * x)) : 0;
    case Filter::kBicubic:
      if (a < 1) return 1.5 * a * a * a - 2.5 * a * a + 1;
      return a < 2 ? -0.5 * (a * a * a - 5 * a * a + 8 * a - 4) : 0;
    default:
      return a < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
}

// One line of `from` values to `to`, as section "coefficients" of Pillow's Resample.c computes it, pixel by pixel.
std::vector<int> plain_line(const std::vector<int>& line, int to, Filter filter) {
  const int from = static_cast<int>(line.size());
  if (from == to) return line;
  const double scale = static_cast<double>(from) / to, s = std::max(scale, 1.0), reach = support_of(filter) * s;
  std::vector<int> out;
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int low = std::max(static_cast<int>(std::trunc(center - reach + 0.5)), 0);
    const int high = std::min(static_cast<int>(std::trunc(center + reach + 0.5)), from);
    std::vector<double> weights;
    for (int j = low; j < high; ++j) weights.push_back(kernel_at(filter, (j - center + 0.5) * (1 / s)));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::int64_t total = 1 << 21;
    for (int j = low; j < high; ++j) {
      const double weight = weights[static_cast<std::size_t>(j - low)] / sum * 4194304;
      total += static_cast<std::int64_t>(weight < 0 ? weight - 0.5 : weight + 0.5) * line[static_cast<std::size_t>(j)];
    }
    out.push_back(static_cast<int>(std::clamp<std::int64_t>(total >> 22, 0, 255)));
  }
  return out;
}

Image plain_resize(const Image& from, int height, int width, Filter filter) {
  Image wide = Image::blank(from.height, width, from.channels);
  const auto at = [](const Image& image, int y, int x, int c) { return image.row(y) + x * image.channels + c; };
  for (int y = 0; y < from.height; ++y) {
    for (int c = 0; c < from.channels; ++c) {
      std::vector<int> line;
      for (int x = 0; x < from.width; ++x) line.push_back(*at(from, y, x, c));
      line = plain_line(line, width, filter);
      for (int x = 0; x < width; ++x)
        wide.row(y)[x * from.channels + c] = static_cast<std::uint8_t>(line[static_cast<std::size_t>(x)]);
    }
  }
  Image out = Image::blank(height, width, from.channels);
  for (int x = 0; x < width; ++x) {
    for (int c = 0; c < from.channels; ++c) {
      std::vector<int> line;
      for (int y = 0; y < from.height; ++y) line.push_back(*at(wide, y, x, c));
      line = plain_line(line, height, filter);
      for (int y = 0; y < height; ++y)
        out.row(y)[x * from.channels + c] = static_cast<std::uint8_t>(line[static_cast<std::size_t>(y)]);
    }
  }
  return out;
}

const std::vector<std::uint8_t> kRow = {0, 255, 0, 255, 10, 20, 30, 40};

std::vector<int> row_at(int width, Filter filter) {
  const Image out = resize(Image{1, 8, 1, kRow}, 1, width, filter);
  return {out.pixels.begin(), out.pixels.end()};
}

TEST(Resize, ARowShrinksToTheNumbersOfPillow) {
  EXPECT_THAT(row_at(5, Filter::kBilinear), ElementsAre(104, 113, 122, 21, 36));
  EXPECT_THAT(row_at(5, Filter::kBicubic), ElementsAre(104, 121, 126, 10, 37));
  EXPECT_THAT(row_at(5, Filter::kLanczos), ElementsAre(101, 137, 119, 2, 42));
  EXPECT_THAT(row_at(5, Filter::kBox), ElementsAre(128, 0, 133, 20, 35));
  EXPECT_THAT(row_at(5, Filter::kNearest), ElementsAre(0, 0, 10, 20, 40));
}

TEST(Resize, ARowGrowsToTheNumbersOfPillow) {
  EXPECT_THAT(row_at(11, Filter::kBicubic), ElementsAre(0, 166, 194, 2, 221, 148, 0, 19, 27, 35, 41));
}

TEST(Resize, ColumnsAreResizedAsRowsAre) {
  const Image out = resize(Image{8, 1, 1, kRow}, 5, 1, Filter::kBicubic);
  EXPECT_THAT(out.pixels, ElementsAre(104, 121, 126, 10, 37));
}

TEST(Resize, TheTapsOfBicubicAreThoseOfKeysWithMinusOneHalf) {
  const ResizeTaps taps = resize_taps(8, 5, 0, Filter::kBicubic);
  EXPECT_EQ(taps.first, 0);
  ASSERT_EQ(taps.weights.size(), 4u);
  const double expected[] = {.611381, .429092, -.018213, -.022260};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(taps.weights[i], expected[i], 5e-7) << i;
}

TEST(Resize, TapsSumToOneWhateverTheSizes) {
  for (const Filter filter : kWithKernel) {
    for (const auto& [from, to] : {std::pair{375, 224}, {224, 375}, {3, 1}, {1, 3}, {1000, 7}}) {
      for (int i = 0; i < to; ++i) {
        const ResizeTaps taps = resize_taps(from, to, i, filter);
        EXPECT_NEAR(std::accumulate(taps.weights.begin(), taps.weights.end(), 0.0), 1, 1e-12);
        EXPECT_GE(taps.first, 0);
        EXPECT_LE(taps.first + static_cast<int>(taps.weights.size()), from);
      }
    }
  }
}

TEST(Resize, EveryKernelAgreesWithThePlainDefinition) {
  struct Case {
    int height, width, to_height, to_width;
  };
  for (const Case& c :
       {Case{17, 33, 9, 20}, {33, 17, 40, 51}, {5, 49, 5, 16}, {49, 5, 16, 5}, {1, 1, 3, 2}, {50, 70, 1, 1}}) {
    for (const int channels : {1, 3}) {
      const Image from = pattern(c.height, c.width, channels);
      for (const Filter filter : kWithKernel) {
        EXPECT_EQ(resize(from, c.to_height, c.to_width, filter), plain_resize(from, c.to_height, c.to_width, filter))
            << c.height << " x " << c.width << " to " << c.to_height << " x " << c.to_width << ", filter "
            << static_cast<int>(filter);
      }
    }
  }
}

TEST(Resize, ABoxIsCroppedFirstAndNothingBesideItTakesPart) {
  const Image from = pattern(60, 80, 3);
  for (const Box& box : {Box{7, 11, 40, 50}, {0, 0, 60, 80}, {59, 79, 1, 1}, {3, 0, 24, 80}, {0, 3, 60, 24}}) {
    for (const Filter filter : {Filter::kNearest, Filter::kBicubic}) {
      EXPECT_EQ(resize(from, box, 24, 24, filter), resize(crop(from, box), 24, 24, filter));
    }
  }
}

TEST(Resize, AConstantImageStaysConstant) {
  const Image from{7, 9, 3, std::vector<std::uint8_t>(7 * 9 * 3, 201)};
  for (const Filter filter : kWithKernel) {
    for (const std::uint8_t pixel : resize(from, 31, 4, filter).pixels) EXPECT_EQ(pixel, 201);
  }
}

TEST(Resize, TheImageItselfComesBackWhereTheSizeIsRight) {
  const Image from = pattern(12, 13, 3);
  EXPECT_EQ(resize(from, 12, 13, Filter::kLanczos), from);
}

TEST(Resize, SizesBelowOneAndBoxesThatLeaveTheImageAreRefused) {
  const Image from = pattern(4, 4, 3);
  EXPECT_THROW(resize(from, 0, 4, Filter::kBicubic), std::invalid_argument);
  EXPECT_THROW(resize(from, 4, -1, Filter::kNearest), std::invalid_argument);
  EXPECT_THROW(resize(from, Box{1, 0, 4, 4}, 2, 2, Filter::kBicubic), std::invalid_argument);
  EXPECT_THROW(resize(from, Box{0, -1, 2, 2}, 2, 2, Filter::kBicubic), std::invalid_argument);
  EXPECT_THROW(resize_taps(8, 5, 5, Filter::kBicubic), std::invalid_argument);
  EXPECT_THROW(resize_taps(8, 5, 0, Filter::kNearest), std::invalid_argument);
}

TEST(Resize, EveryFilterHasAName) {
  EXPECT_EQ(filter_named("nearest"), Filter::kNearest);
  EXPECT_EQ(filter_named("hamming"), Filter::kHamming);
  EXPECT_EQ(filter_named("lanczos"), Filter::kLanczos);
  EXPECT_EQ(filter_named("cubic"), std::nullopt);
}

}  // namespace
}  // namespace locus::engine
