// Crops, padding and the sizes that evaluation resizes to.
#include "engine/images/crop.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

TEST(Crop, TakesTheRowsAndColumnsOfItsBox) {
  const Image image = pattern(6, 7, 3);
  const Image part = crop(image, 1, 2, 4, 3);
  ASSERT_EQ(part.height, 4);
  ASSERT_EQ(part.width, 3);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 3; ++x) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(part.row(y)[3 * x + c], image.row(1 + y)[3 * (2 + x) + c]);
    }
  }
}

TEST(Crop, RefusesBoxesThatLeaveTheImage) {
  const Image image = pattern(6, 7, 1);
  for (const Box& box : {Box{-1, 0, 2, 2}, {0, -1, 2, 2}, {5, 0, 2, 2}, {0, 6, 2, 2}, {0, 0, 0, 2}, {0, 0, 2, 0}})
    EXPECT_THROW(crop(image, box), std::invalid_argument);
}

TEST(Crop, HalfAPixelOfTheCenterGoesToTheEvenSide) {
  EXPECT_EQ(center_box({256, 341}, 224, 224), (Box{16, 58, 224, 224}));  // 58.5
  EXPECT_EQ(center_box({227, 227}, 224, 224), (Box{2, 2, 224, 224}));    // 1.5
  EXPECT_EQ(center_box({225, 229}, 224, 224), (Box{0, 2, 224, 224}));    // 0.5, 2.5
  EXPECT_EQ(center_box({224, 231}, 224, 224), (Box{0, 4, 224, 224}));    // 3.5
}

TEST(Crop, ASmallerImageGetsZerosAroundItAndTheOddOnesBelowAndToTheRight) {
  const Image image{2, 3, 1, {1, 2, 3, 4, 5, 6}};
  const Image out = center_crop(image, 5, 3);
  EXPECT_EQ(out.pixels, (std::vector<std::uint8_t>{0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0}));
  const Image both = center_crop(image, 1, 6);  // padded in width, cropped in height: round(0.5) = 0
  EXPECT_EQ(both.pixels, (std::vector<std::uint8_t>{0, 1, 2, 3, 0, 0}));
}

TEST(Crop, ACenterCropOfTheImageSizeIsTheImage) {
  const Image image = pattern(5, 4, 3);
  EXPECT_EQ(center_crop(image, 5, 4), image);
}

TEST(Crop, PaddingPutsZerosOnEachSide) {
  const Image out = zero_padded(Image{1, 1, 3, {7, 8, 9}}, {1, 0, 0, 1});
  EXPECT_EQ(out, (Image{2, 2, 3, {0, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0}}));
  EXPECT_THROW(zero_padded(out, {0, -1, 0, 0}), std::invalid_argument);
}

TEST(Sizes, TheLongerSideIsCutToWholePixels) {
  EXPECT_EQ(shorter_side_at({375, 500}, 256), (ImageSize{256, 341}));
  EXPECT_EQ(shorter_side_at({500, 375}, 256), (ImageSize{341, 256}));
  EXPECT_EQ(shorter_side_at({256, 300}, 256), (ImageSize{256, 300}));
  EXPECT_EQ(shorter_side_at({203, 500}, 438), (ImageSize{438, 1078}));
}

TEST(Sizes, BothSidesByAScaleMayLoseAPixelOfTheShorterOne) {
  EXPECT_EQ(both_sides_at({203, 500}, 438), (ImageSize{437, 1078}));
  EXPECT_EQ(both_sides_at({375, 500}, 256), (ImageSize{256, 341}));
}

TEST(Sizes, MarginsAreThoseOfTheEvaluations) {
  EXPECT_EQ(size_before_crop(224, CropMargin::kNone), 224);
  EXPECT_EQ(size_before_crop(224, CropMargin::kSevenEighths), 256);
  EXPECT_EQ(size_before_crop(224, CropMargin::kEightSevenths), 256);
  EXPECT_EQ(size_before_crop(512, CropMargin::kEightSevenths), 585);
  const std::pair<int, int> thousandths[] = {{224, 256}, {160, 182}, {288, 329}, {416, 475}};
  for (const auto& [size, resized] : thousandths) EXPECT_EQ(size_before_crop(size, CropMargin::kThousandths), resized);
  EXPECT_EQ(size_before_crop(224, CropMargin::kEightSeventhsSmall), 256);
  EXPECT_EQ(size_before_crop(160, CropMargin::kEightSeventhsSmall), 182);
  EXPECT_EQ(size_before_crop(225, CropMargin::kEightSeventhsSmall), 225);
}

TEST(Sizes, ThereAreNoneBelowOne) {
  EXPECT_THROW(shorter_side_at({0, 5}, 8), std::invalid_argument);
  EXPECT_THROW(both_sides_at({5, 5}, 0), std::invalid_argument);
  EXPECT_THROW(size_before_crop(0, CropMargin::kNone), std::invalid_argument);
  EXPECT_THROW(center_crop(pattern(2, 2, 1), 0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
