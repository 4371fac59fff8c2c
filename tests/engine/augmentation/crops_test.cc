// Where crops lie.
#include "engine/augmentation/crops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/augmentation/draw.h"
#include "tests/engine/augmentation/given_draws.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::WrittenDraws;

// The same by its definition, in tries of which the first that fits is taken.
Box second_definition(const ImageSize& image, const CropRange& range, const SampleDraws& draws) {
  for (std::uint32_t attempt = 0; attempt < 10; ++attempt) {
    const double share = range.least_area + (range.most_area - range.least_area) * draws.unit("crop.area", attempt);
    const double low = std::log(range.least_ratio), high = std::log(range.most_ratio);
    const double ratio = std::exp(low + (high - low) * draws.unit("crop.ratio", attempt));
    const double area = share * image.height * image.width;
    const auto width = static_cast<int>(std::lrint(std::sqrt(area * ratio)));
    const auto height = static_cast<int>(std::lrint(std::sqrt(area / ratio)));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    const auto place = [&](const char* name, int room) {
      return std::min(static_cast<int>(draws.unit(name, attempt) * (room + 1)), room);
    };
    return {place("crop.top", image.height - height), place("crop.left", image.width - width), height, width};
  }
  return {-1, -1, -1, -1};
}

TEST(RandomResizedCrop, IsThePublishedBoxOfSeedEpochAndVisit) {
  const RandomStreams random(7);
  const ImageSize size{375, 500};
  const StreamDraws draws(random, 3, 12345);
  EXPECT_EQ(random_resized_crop(size, {}, draws), (Box{209, 92, 118, 137}));
  EXPECT_EQ(random_resized_crop(size, {.least_area = 0.05, .most_area = 0.4}, PrefixedDraws("view4.", draws)),
            (Box{33, 243, 252, 233}));
  EXPECT_EQ(random_resized_crop(size, {}, StreamDraws(random, 3, 12345 * 3 + 2)), (Box{12, 154, 346, 274}));
  EXPECT_EQ(random_resized_crop(size, {}, StreamDraws(random, 3, 12353)), (Box{30, 131, 294, 282})) << "the fourth try";
}

TEST(RandomResizedCrop, IsWhatItsDefinitionSays) {
  const RandomStreams random(11);
  for (const ImageSize size : {ImageSize{375, 500}, ImageSize{64, 64}, ImageSize{33, 40}, ImageSize{1, 1}}) {
    for (const CropRange& range : {CropRange{}, CropRange{0.5, 0.9, 0.5, 2}}) {
      for (std::int64_t row = 0; row < 200; ++row) {
        const StreamDraws draws(random, 1, row);
        const Box box = random_resized_crop(size, range, draws), second = second_definition(size, range, draws);
        if (second.height > 0) {
          EXPECT_EQ(box, second) << size.height << " x " << size.width << ", row " << row;
        }
        EXPECT_NO_THROW(check_box(Image::blank(size.height, size.width, 1), box));
      }
    }
  }
}

TEST(RandomResizedCrop, IsTheMiddleWhereNoTryFits) {
  const WrittenDraws large(
      {{"crop.area", std::vector<double>(10, 0.999)}, {"crop.ratio", std::vector<double>(10, 0.5)}});
  EXPECT_EQ(random_resized_crop({100, 1000}, {}, large), (Box{0, 433, 100, 133}));
  EXPECT_EQ(random_resized_crop({1000, 90}, {}, large), (Box{440, 0, 120, 90}));
  const WrittenDraws wide(
      {{"crop.area", std::vector<double>(10, 0.999)}, {"crop.ratio", std::vector<double>(10, 0.99)}});
  EXPECT_EQ(random_resized_crop({100, 100}, {}, wide), (Box{0, 0, 100, 100})) << "a ratio in range is kept whole";
}

TEST(ResizedCrop, IsTheCropResized) {
  const Image image = pattern(40, 50, 3);
  EXPECT_EQ(resized_crop(image, {3, 4, 20, 30}, {16, 16}, Filter::kBicubic),
            resize(crop(image, 3, 4, 20, 30), 16, 16, Filter::kBicubic));
}

TEST(RandomWindow, LiesWithinTheImage) {
  EXPECT_EQ(random_window({40, 40}, {32, 32}, WrittenDraws({{"pad.top", {0.999}}, {"pad.left", {0}}})),
            (Box{8, 0, 32, 32}));
  EXPECT_EQ(random_window({40, 40}, {32, 32}, WrittenDraws({{"pad.top", {0.12}}, {"pad.left", {0.5}}})),
            (Box{1, 4, 32, 32}));
  EXPECT_THROW(random_window({31, 40}, {32, 32}, WrittenDraws({})), std::invalid_argument);
}

TEST(IntegerOf, CountsBothEnds) {
  EXPECT_EQ(integer_of(0, 3, 5), 3);
  EXPECT_EQ(integer_of(0.34, 3, 5), 4);
  EXPECT_EQ(integer_of(std::nextafter(1.0, 0.0), 3, 5), 5);
  EXPECT_EQ(integer_of(0.7, 4, 4), 4);
}

TEST(Interpolations, AreNamed) {
  EXPECT_EQ(filter_of("bicubic"), Filter::kBicubic);
  EXPECT_EQ(sampling_of("bilinear"), Sampling::kBilinear);
  EXPECT_THROW(filter_of("cubic"), std::invalid_argument);
  EXPECT_THROW(sampling_of("lanczos"), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
