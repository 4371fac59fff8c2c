// Augmentations of images with masks and depth, beside what the papers' code does written out once more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/augmentation/jitter.h"
#include "engine/augmentation/joint_steps.h"
#include "engine/augmentation/photometric.h"
#include "engine/images/colors.h"
#include "engine/images/geometry.h"
#include "engine/images/opencv_colors.h"
#include "engine/images/plain_resize.h"
#include "tests/engine/augmentation/given_draws.h"
#include "tests/engine/data/painted.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::painted;
using test::WrittenDraws;

using Numbers = std::map<std::string, std::vector<double>, std::less<>>;

AugmentationContext context_for(const Extent& extent, const Normalization& normalization = {}) {
  return {extent, 3, normalization, "bicubic"};
}

Sample augmented(const std::string& id, const AugmentationContext& context, const Json& options, Sample sample,
                 const SampleDraws& draws) {
  const auto augmentation = make_augmentation({{"augmentation", {{"id", id}, {"options", options}}}}, context);
  for (const auto& transform : augmentation->transforms) {
    const std::int64_t most = transform->bytes(bytes_of(sample));
    sample = transform->apply(std::move(sample), draws);
    EXPECT_LE(bytes_of(sample), most);
  }
  return sample;
}

// An image whose mask has `left` on its left half and `right` on the other, and noise in color.
Sample halves(const ImageSize& size, int left, int right) {
  Tensor mask = at::full({size.height, size.width}, right, at::kByte);
  mask.slice(1, 0, size.width / 2).fill_(left);
  return {{kImage, tensor_of(pattern(size.height, size.width, 3))}, {kMask, mask}};
}

const std::vector<std::pair<std::string, Json>> kQuiet = {
    {"asg-segmentation", {{"jitter", 0.0}}},
    {"asg-depth", {{"jitter", 0.0}, {"gray", 0.0}}},
    {"mmseg", {{"photometric", false}}},
};

// Only where nothing is padded does every pixel come from the image, so labels say where to look.
TEST(JointAugmentations, KeepImageMaskAndDepthAligned) {
  const RandomStreams random(5);
  const Normalization bytes{{0, 0, 0}, {1 / 255.0, 1 / 255.0, 1 / 255.0}};
  for (const auto& [id, options] : kQuiet) {
    for (const ImageSize own : {ImageSize{50, 80}, ImageSize{90, 60}, ImageSize{200, 220}}) {
      for (std::int64_t row = 0; row < 12; ++row) {
        const Sample out =
            augmented(id, context_for({48, 48}, bytes), options, painted(own), StreamDraws(random, 0, row));
        EXPECT_EQ(joint_size(out), (ImageSize{48, 48})) << id;
        test::expect_aligned(out, 48.0 / (4 * std::max(own.height, own.width)) * 2);
      }
    }
  }
}

TEST(JointAugmentations, TakeImagesWithoutTargets) {
  const RandomStreams random(5);
  for (const auto& [id, options] : kQuiet) {
    const Sample out = augmented(id, context_for({24, 24}, {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}), options,
                                 {{kImage, tensor_of(pattern(30, 40, 3))}}, StreamDraws(random, 0, 0));
    EXPECT_EQ(out.size(), 1u) << id;
  }
}

TEST(JointAugmentations, TakeAnImageOfOnePixel) {
  const RandomStreams random(5);
  for (const auto& [id, options] : kQuiet) {
    const Sample out = augmented(id, context_for({24, 24}, {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}), options,
                                 painted({1, 1}), StreamDraws(random, 0, 0));
    EXPECT_EQ(joint_size(out), (ImageSize{24, 24})) << id;
    EXPECT_EQ(out.at(kMask)[0][0].item<int>(), 0) << id;
  }
}

TEST(JointAugmentations, OfImagesAloneRefuseTargets) {
  const RandomStreams random(5);
  for (const char* id : {"crop-flip", "deit", "torchvision"}) {
    EXPECT_THROW(augmented(id, context_for({24, 24}, {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}), Json::object(),
                           painted({30, 40}), StreamDraws(random, 0, 0)),
                 std::invalid_argument)
        << id;
  }
}

TEST(AsgScale, CoversTheCropAndRoundsHalfToEven) {
  const auto size = [](const ImageSize& own, const Extent& extent, double unit) {
    return asg_scale(own, extent, 1.3, WrittenDraws(Numbers{{"scale", {unit}}}));
  };
  EXPECT_EQ(size({512, 683}, {336, 336}, 0).size, (ImageSize{336, 448}));
  EXPECT_EQ(size({512, 683}, {336, 336}, 0).filter, Filter::kBox);
  EXPECT_EQ(size({100, 300}, {336, 336}, 0.5).size, (ImageSize{386, 1159})) << "3.864 times";
  EXPECT_EQ(size({100, 300}, {336, 336}, 0.5).filter, Filter::kBicubic);
  EXPECT_EQ(size({1, 1}, {24, 24}, 0).size, (ImageSize{24, 24}));
  EXPECT_EQ(size({10, 10}, {25, 24}, 0).size, (ImageSize{25, 25}));
  EXPECT_EQ(size({2, 5}, {3, 3}, 0).size, (ImageSize{3, 8})) << "7.5 is rounded to the even side";
}

// One class covers the left of the image: windows there are drawn again.
TEST(CategoryWindow, OfAsgStaysAtTheTenthPosition) {
  const Sample sample = halves({20, 100}, 1, 2);
  const ZoomHow how{.filter = Filter::kBox};
  const CategoryRule rule{.most = 0.7};
  const auto left = [&](const std::vector<double>& lefts) {
    return category_window(sample.at(kMask), {20, 100}, {20, 20}, rule, how,
                           WrittenDraws(Numbers{{"crop.top", std::vector<double>(12)}, {"crop.left", lefts}}))
        .left;
  };
  EXPECT_EQ(left({0.0, 0.5, 0.9}), 40) << "the second has half of each class";
  EXPECT_EQ(left({0, 0, 0, 0, 0, 0, 0, 0, 0, 0.999}), 80) << "the last of ten, though it has one class";
  EXPECT_EQ(left({0, 0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.5}), 8) << "an eleventh is not drawn";
}

TEST(CategoryWindow, OfMmsegTakesAnEleventhUntested) {
  const Sample sample = halves({20, 100}, 1, 2);
  const CategoryRule rule{.most = 0.75, .several = true, .beyond = true};
  const auto left = [&](const std::vector<double>& lefts) {
    return category_window(sample.at(kMask), {20, 100}, {20, 20}, rule, {},
                           WrittenDraws(Numbers{{"crop.top", std::vector<double>(12)}, {"crop.left", lefts}}))
        .left;
  };
  EXPECT_EQ(left({0, 0.5}), 40);
  EXPECT_EQ(left({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.999}), 80) << "not tested";
}

TEST(CategoryWindow, CountsLabeledPixelsAlone) {
  const Tensor unlabeled = at::full({20, 100}, kIgnored, at::kByte);
  const WrittenDraws draws(
      Numbers{{"crop.top", std::vector<double>(12)}, {"crop.left", {0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.999}}});
  const auto left = [&](const Tensor& mask, const CategoryRule& rule) {
    return category_window(mask, {20, 100}, {20, 20}, rule, {}, draws).left;
  };
  EXPECT_EQ(left(unlabeled, {.most = 0.7}), 0) << "nothing is labeled: taken";
  EXPECT_EQ(left(unlabeled, {.most = 0.75, .several = true, .beyond = true}), 80) << "not more than one class";
  EXPECT_EQ(left(halves({20, 100}, 1, 1).at(kMask), {.most = 1}), 0) << "no rule";
  EXPECT_EQ(left({}, {.most = 0.7}), 0) << "no mask";
}

TEST(CategoryWindow, RefusesAnExactShare) {
  Tensor mask = at::full({10, 40}, 1, at::kByte);
  mask.slice(1, 7, 10).fill_(2);  // columns 0-9: seven tenths of class 1
  mask.slice(1, 26, 40).fill_(2);
  const WrittenDraws draws(Numbers{{"crop.top", std::vector<double>(12)}, {"crop.left", {0, 0.68}}});
  EXPECT_EQ(category_window(mask, {10, 40}, {10, 10}, {.most = 0.7}, {}, draws).left, 21);
}

// The steps of the published pipeline one after the other, on whole images.
TEST(AsgSegmentation, IsScaleWindowFlipAndJitter) {
  const Sample sample = halves({50, 70}, 3, 4);
  for (const double gate : {0.05, 0.5}) {
    const WrittenDraws draws(Numbers{{"scale", {0.4}},
                                     {"crop.top", {0.3}},
                                     {"crop.left", {0.5}},
                                     {"flip", {0.2}},
                                     {"jitter.apply", {gate}},
                                     {"jitter.order", {3, 1, 2, 0}},
                                     {"jitter.brightness", {0.9}},
                                     {"jitter.contrast", {0.1}},
                                     {"jitter.saturation", {0.7}},
                                     {"jitter.hue", {0.8}}});
    const Sample out = augmented("asg-segmentation", context_for({32, 32}), Json::object(), sample, draws);
    const double ratio = 32.0 / 50 * (1 + 0.4 * 0.3);
    const int height = static_cast<int>(std::nearbyint(50 * ratio)),
              width = static_cast<int>(std::nearbyint(70 * ratio));
    const int top = static_cast<int>(0.3 * (height - 32 + 1)), left = static_cast<int>(0.5 * (width - 32 + 1));
    const Image scaled = resize(pattern(50, 70, 3), height, width, Filter::kBox);
    Image expected = flipped(crop(scaled, top, left, 32, 32));
    if (gate < 0.1) {
      const auto between = [](double unit, double low, double high) { return low + unit * (high - low); };
      expected = pillow::hue(expected, between(0.8, -0.05, 0.05));
      expected = pillow::contrast(expected, between(0.1, 1 - 0.2, 1 + 0.2));
      expected = pillow::saturation(expected, between(0.7, 1 - 0.2, 1 + 0.2));
      expected = pillow::brightness(expected, between(0.9, 1 - 0.2, 1 + 0.2));
    }
    EXPECT_EQ(image_of(out.at(kImage)), expected) << gate;
    const Image mask = resize(image_of(sample.at(kMask).unsqueeze(0)), height, width, Filter::kNearest);
    EXPECT_EQ(image_of(out.at(kMask).unsqueeze(0)), flipped(crop(mask, top, left, 32, 32)));
  }
}

TEST(AsgDepth, ScalesDepthWithItsMetersAndTakesColorsAway) {
  const WrittenDraws draws(Numbers{{"scale", {0.5}},
                                   {"crop.top", {0}},
                                   {"crop.left", {0.999}},
                                   {"flip", {0.9}},
                                   {"jitter.apply", {0.9}},
                                   {"gray", {0.01}}});
  const Sample sample = painted({60, 80});
  const Sample out = augmented("asg-depth", context_for({24, 24}), Json::object(), sample, draws);
  const ImageSize size{26, 35};  // 60, 80 times 24 / 60 times 1.1, rounded
  const Box window{0, 11, 24, 24};
  EXPECT_TRUE(at::allclose(out.at(kDepth), depth_window(sample.at(kDepth), size, window, 0.1)));
  const Image scaled = resize(image_of(sample.at(kImage)), size.height, size.width, Filter::kBox);
  EXPECT_EQ(image_of(out.at(kImage)), pillow::grayscale(crop(scaled, window)));
}

TEST(Mmseg, FitsItsBoxAndPadsWhatIsSmallerAfterNormalization) {
  const Normalization normalization{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  const Sample sample = halves({30, 90}, 3, 4);
  const WrittenDraws draws(Numbers{{"scale", {0}}, {"crop.top", {0, 0}}, {"crop.left", {0.999, 0.5}}, {"flip", {0.1}}});
  const Sample out = augmented("mmseg", context_for({32, 32}, normalization), {{"photometric", false}}, sample, draws);
  // The box is 64 x 16: the shorter side is the tighter one, 30 -> 16, 90 -> 48. Three quarters of the first window
  // are of one class.
  const ImageSize size{16, 48};
  const Box window{0, 8, 16, 32};
  const Image scaled = flipped(bilinear_window(image_of(sample.at(kImage)), size, window));
  const Tensor image = out.at(kImage);
  ASSERT_EQ(image.sizes(), (at::IntArrayRef{3, 32, 32}));
  EXPECT_TRUE(at::equal(image.slice(1, 0, 16), normalized(tensor_of(scaled), normalization, at::kCPU)));
  EXPECT_EQ(image.slice(1, 16).abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(out.at(kMask).slice(0, 16), at::full({16, 32}, kIgnored, at::kByte)));
  EXPECT_EQ(out.at(kMask)[3][0].item<int>(), 4);
  EXPECT_EQ(out.at(kMask)[3][31].item<int>(), 3);
}

std::uint8_t cut(float value) { return static_cast<std::uint8_t>(std::min(std::max(value, 0.0f), 255.0f)); }

TEST(Photometric, ContrastIsEarlyOrLateByItsMode) {
  const Image image = pattern(9, 11, 3);
  for (const double mode : {0.2, 0.8}) {
    const WrittenDraws draws(Numbers{{"photo.brightness", {0.3}},
                                     {"photo.brightness.shift", {0.9}},
                                     {"photo.mode", {mode}},
                                     {"photo.contrast", {0.1}},
                                     {"photo.contrast.factor", {0.75}},
                                     {"photo.saturation", {0.4}},
                                     {"photo.saturation.factor", {0.25}},
                                     {"photo.hue", {0.4}},
                                     {"photo.hue.shift", {0}}});
    Image expected = image;
    const auto each = [&](const auto& value) {
      for (std::uint8_t& pixel : expected.pixels) pixel = cut(value(static_cast<float>(pixel)));
    };
    each([](float v) { return v + 25.6f; });
    if (mode < 0.5) each([](float v) { return v * 1.25f; });
    Image hsv = opencv::hsv_of(expected);
    for (std::size_t i = 1; i < hsv.pixels.size(); i += 3)
      hsv.pixels[i] = cut(static_cast<float>(hsv.pixels[i]) * 0.75f);
    hsv = opencv::hsv_of(opencv::rgb_of(hsv));
    for (std::size_t i = 0; i < hsv.pixels.size(); i += 3)
      hsv.pixels[i] = static_cast<std::uint8_t>((hsv.pixels[i] - 18 + 180) % 180);
    expected = opencv::rgb_of(hsv);
    if (mode >= 0.5) each([](float v) { return v * 1.25f; });
    EXPECT_EQ(distorted(image, draws), expected) << mode;
  }
}

TEST(Photometric, MayDoNothing) {
  const Image image = pattern(9, 11, 3);
  const WrittenDraws draws(Numbers{{"photo.brightness", {0.5}},
                                   {"photo.mode", {0.1}},
                                   {"photo.contrast", {0.5}},
                                   {"photo.saturation", {0.7}},
                                   {"photo.hue", {0.9}}});
  EXPECT_EQ(distorted(image, draws), image);
}

}  // namespace
}  // namespace locus::engine
