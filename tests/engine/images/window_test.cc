// Windows of resized images, plain resizing, OpenCV's hue, and values of PNG files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/images/decode.h"
#include "engine/images/encode.h"
#include "engine/images/opencv_colors.h"
#include "engine/images/plain_resize.h"
#include "engine/images/resize.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  ImageSize own, to;
  Box window;
};
constexpr Case kCases[] = {{{20, 30}, {13, 17}, {2, 3, 7, 9}},  {{9, 7}, {31, 40}, {5, 11, 20, 25}},
                           {{20, 30}, {20, 11}, {4, 1, 9, 8}},  {{20, 30}, {33, 30}, {1, 2, 30, 28}},
                           {{20, 30}, {20, 30}, {3, 4, 5, 6}},  {{1, 1}, {12, 9}, {0, 0, 12, 9}},
                           {{40, 3}, {400, 30}, {377, 9, 9, 9}}};

TEST(ResizeWindow, IsThatPartOfTheResizedImage) {
  for (const Case& one : kCases) {
    for (const int channels : {1, 3}) {
      const Image image = pattern(one.own.height, one.own.width, channels);
      for (const Filter filter :
           {Filter::kNearest, Filter::kBox, Filter::kBilinear, Filter::kHamming, Filter::kBicubic, Filter::kLanczos}) {
        EXPECT_EQ(resize_window(image, one.to, one.window, filter),
                  crop(resize(image, one.to.height, one.to.width, filter), one.window));
      }
    }
  }
  EXPECT_THROW(resize_window(pattern(4, 4, 3), {8, 8}, {0, 0, 9, 8}, Filter::kBox), std::invalid_argument);
}

// The definitions in floating point.
double exact_bilinear(const Image& image, const ImageSize& to, int y, int x, int c) {
  const auto place = [](int i, int from, int out) { return std::clamp((i + 0.5) * from / out - 0.5, 0.0, from - 1.0); };
  const double row = place(y, image.height, to.height), column = place(x, image.width, to.width);
  const int top = static_cast<int>(row), left = static_cast<int>(column);
  double sum = 0;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const double weight = (dy == 1 ? row - top : 1 - (row - top)) * (dx == 1 ? column - left : 1 - (column - left));
      const int at = std::min(left + dx, image.width - 1) * image.channels + c;
      if (weight > 0) sum += weight * image.row(std::min(top + dy, image.height - 1))[at];
    }
  }
  return sum;
}

TEST(PlainResize, MixesTheFourPixelsAroundAndRoundsHalfUp) {
  for (const Case& one : kCases) {
    const Image image = pattern(one.own.height, one.own.width, 3);
    const Image out = bilinear_window(image, one.to, one.window);
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          const double expected = exact_bilinear(image, one.to, one.window.top + y, one.window.left + x, c);
          EXPECT_NEAR(out.row(y)[3 * x + c], expected, 0.5 + 1e-9);
        }
      }
    }
  }
  Image two = Image::blank(1, 2, 1);
  two.pixels = {0, 1};
  EXPECT_THAT(bilinear_window(two, {1, 1}, {0, 0, 1, 1}).pixels, ElementsAre(1)) << "a half is rounded up";
}

TEST(PlainResize, TakesTheNearestPixelAtOrBeforeThePlace) {
  Image five = Image::blank(1, 5, 1);
  five.pixels = {10, 11, 12, 13, 14};
  EXPECT_THAT(nearest_window(five, {1, 3}, {0, 0, 1, 3}).pixels, ElementsAre(10, 11, 13));
  EXPECT_THAT(nearest_window(five, {1, 7}, {0, 0, 1, 7}).pixels, ElementsAre(10, 10, 11, 12, 12, 13, 14));
  EXPECT_THAT(nearest_window(five, {1, 7}, {0, 2, 1, 3}).pixels, ElementsAre(11, 12, 12));
  EXPECT_THROW(nearest_window(five, {0, 7}, {0, 0, 1, 1}), std::invalid_argument);
}

TEST(OpencvColors, KnowTheCornersOfTheHexcone) {
  Image colors = Image::blank(1, 6, 3);
  colors.pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 0, 128, 128, 128, 255, 0, 1};
  EXPECT_THAT(opencv::hsv_of(colors).pixels,
              ElementsAre(0, 255, 255, 60, 255, 255, 120, 255, 255, 30, 255, 255, 0, 0, 128, 0, 255, 255));
  EXPECT_THROW(opencv::hsv_of(Image::blank(1, 1, 1)), std::invalid_argument);
}

// Hue has 180 steps, so what comes back is near; value is kept.
TEST(OpencvColors, ComeBackWithinTheStepsOfHue) {
  const Image image = pattern(40, 50, 3);
  const Image back = opencv::rgb_of(opencv::hsv_of(image));
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    int most = 0, value = 0, value_back = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      most = std::max(most, std::abs(image.pixels[i + c] - back.pixels[i + c]));
      value = std::max<int>(value, image.pixels[i + c]);
      value_back = std::max<int>(value_back, back.pixels[i + c]);
    }
    EXPECT_LE(most, 6);
    EXPECT_EQ(value, value_back);
  }
}

TEST(OpencvColors, AreScaledShiftedAndCut) {
  Image image = Image::blank(1, 4, 1);
  image.pixels = {0, 3, 100, 250};
  EXPECT_THAT(opencv::linear(image, 1.5f, 0).pixels, ElementsAre(0, 4, 150, 255));
  EXPECT_THAT(opencv::linear(image, 1, -3.5f).pixels, ElementsAre(0, 0, 96, 246));
}

TEST(DecodeValues, GivesGrayAsItIsStored) {
  const Image gray = pattern(5, 7, 1);
  EXPECT_EQ(decode_values(encode_png(gray), StoredValues::kGray), gray);
}

TEST(DecodeValues, RefusesColorsAndOtherKinds) {
  const auto refusal = [](const std::vector<std::byte>& bytes) -> std::string {
    try {
      decode_values(bytes, StoredValues::kGray);
    } catch (const ImageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(encode_png(pattern(3, 3, 3))), HasSubstr("several channels"));
  EXPECT_THAT(refusal(encode_jpeg(pattern(3, 3, 1))), HasSubstr("JPEG"));
  std::vector<std::byte> cut = encode_png(pattern(30, 30, 1));
  cut.resize(cut.size() / 2);
  EXPECT_THAT(refusal(cut), HasSubstr("truncated"));
}

}  // namespace
}  // namespace locus::engine
