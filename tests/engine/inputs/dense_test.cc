// The input of dense predictions: centers and whole images with their targets.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/data/joint.h"
#include "engine/data/pixels.h"
#include "engine/images/plain_resize.h"
#include "engine/inputs/input.h"
#include "tests/engine/data/painted.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::painted;

const Normalization kMeans{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

std::shared_ptr<const Input> dense_of(const Json& options) {
  const Json facts = {{"channels", 3}};
  const InputItem& item = input_item("dense");
  return item.make({facts, kMeans}, Options(item.item.json(), options));
}

Sample seen(const Input& input, Sample sample, const ViewRequest& request = {}) {
  const RandomStreams random(0);
  for (const auto& step : input.view(request).transforms) {
    const std::int64_t most = step->bytes(bytes_of(sample));
    sample = step->apply(std::move(sample), StreamDraws(random, 0, 0));
    EXPECT_LE(bytes_of(sample), most);
  }
  return sample;
}

// ASG's depth: 1024 x 768 comes to 320 x 240, and of that rows 8 to 231 and columns 48 to 271 are taken.
TEST(DenseCenter, OfHypersimIsThePublishedCrop) {
  const auto input = dense_of({{"size", 224}, {"side", "height"}, {"margin", 1.07}});
  const Sample sample = {{kImage, tensor_of(pattern(768, 1024, 3))}, {kDepth, at::rand({768, 1024}) + 1}};
  const Sample out = seen(*input, sample);
  EXPECT_EQ(image_of(out.at(kImage)),
            crop(resize(image_of(sample.at(kImage)), 240, 320, Filter::kBox), 8, 48, 224, 224));
  EXPECT_TRUE(at::allclose(out.at(kDepth), depth_window(sample.at(kDepth), {240, 320}, {8, 48, 224, 224}, 0.01)));
}

TEST(DenseCenter, OfAMaskFollowsTheImage) {
  for (const ImageSize own : {ImageSize{60, 90}, ImageSize{200, 120}, ImageSize{20, 33}}) {
    const Sample out = seen(*dense_of({{"size", 48}}), painted(own));
    EXPECT_EQ(joint_size(out), (ImageSize{48, 48}));
    test::expect_aligned(out, 48.0 / std::min(own.height, own.width));
    EXPECT_LT(out.at(kMask).max().item<int>(), static_cast<int>(kIgnored)) << "nothing is padded";
  }
}

TEST(DenseCenter, OfAShortSideIsPaddedWithTheMeanColor) {
  const Sample out = seen(*dense_of({{"size", 48}, {"side", "height"}}), painted({60, 30}));
  EXPECT_EQ(joint_size(out), (ImageSize{48, 48}));
  const Tensor image = out.at(kImage);
  EXPECT_EQ(image[0][10][40].item<int>(), 124);
  EXPECT_EQ(image[1][10][40].item<int>(), 116);
  EXPECT_EQ(image[2][10][40].item<int>(), 104);
  EXPECT_EQ(out.at(kMask)[10][40].item<int>(), kIgnored);
  EXPECT_EQ(out.at(kDepth)[10][40].item<float>(), 0);
}

// 683 x 512 into 2048 x 512: 683 x 512; 500 x 375: 683 x 512; 2100 x 400: 2048 x 390.
TEST(DenseWhole, FitsTheImageIntoTheBoxAndLeavesTheTarget) {
  const auto input = dense_of({{"size", 512}, {"view", "whole"}});
  const auto size = [&](int width, int height) {
    Sample sample = {{kImage, tensor_of(Image::blank(height, width, 3))},
                     {kMask, at::zeros({height, width}, at::kByte)}};
    const Sample out = seen(*input, sample);
    EXPECT_TRUE(at::equal(out.at(kMask), sample.at(kMask)));
    return std::pair(out.at(kImage).size(2), out.at(kImage).size(1));
  };
  EXPECT_EQ(size(683, 512), (std::pair<std::int64_t, std::int64_t>(683, 512)));
  EXPECT_EQ(size(500, 375), (std::pair<std::int64_t, std::int64_t>(683, 512)));
  EXPECT_EQ(size(2100, 400), (std::pair<std::int64_t, std::int64_t>(2048, 390)));
  EXPECT_TRUE(input->view({}).view.apart);
  EXPECT_FALSE(dense_of({})->view({}).view.apart);
}

TEST(DenseWhole, IsResizedByPlainPixelsAndTrainsOnTheCenter) {
  const auto input = dense_of({{"size", 32}, {"view", "whole"}});
  const Image image = pattern(40, 50, 3);
  const Sample out = seen(*input, {{kImage, tensor_of(image)}});
  EXPECT_EQ(image_of(out.at(kImage)), bilinear_window(image, {32, 40}, {0, 0, 32, 40}));
  EXPECT_EQ(seen(*input, {{kImage, tensor_of(image)}}, {.resolution = 64}).at(kImage).size(1), 64);
  const RandomStreams random(0);
  Sample sample = painted({40, 50});
  for (const auto& step : input->preparation({32, 32}))
    sample = step->apply(std::move(sample), StreamDraws(random, 0, 0));
  EXPECT_EQ(joint_size(sample), (ImageSize{32, 32}));
}

TEST(DenseInput, FollowsTheResolutionOfAnEvaluation) {
  const Sample out = seen(*dense_of({{"size", 48}, {"margin", 1.25}}), painted({100, 150}), {.resolution = 64});
  EXPECT_EQ(joint_size(out), (ImageSize{64, 64}));
  EXPECT_THROW(dense_of({})->view({.resolution = 64, .resize = "pillow"}), std::invalid_argument);
}

TEST(ResizedInput, RefusesTargets) {
  const Json facts = {{"channels", 3}};
  const InputItem& item = input_item("resized");
  const auto input = item.make({facts, kMeans}, Options(item.item.json(), {{"size", 32}}));
  EXPECT_THROW(seen(*input, painted({40, 50})), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
