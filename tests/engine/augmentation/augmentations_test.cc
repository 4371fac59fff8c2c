// Every augmentation of the catalog, and what each is made of.
#include "engine/augmentation/augmentation.h"

#include <gtest/gtest.h>

#include "engine/augmentation/crops.h"
#include "engine/augmentation/erasing.h"
#include "engine/augmentation/jitter.h"
#include "engine/augmentation/policy.h"
#include "engine/base/failure.h"
#include "engine/data/pixels.h"
#include "engine/images/blur.h"
#include "engine/images/colors.h"
#include "tests/engine/augmentation/given_draws.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::WrittenDraws;

const Normalization kImageNet{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

AugmentationContext context_of(std::int64_t channels, const Extent& extent) {
  return {extent, channels, channels == 3 ? kImageNet : Normalization{{0.5}, {0.25}}, "bicubic"};
}

Augmentation made(const std::string& id, const AugmentationContext& context, const Json& options = Json::object()) {
  return *make_augmentation({{"augmentation", {{"id", id}, {"options", options}}}}, context);
}

Tensor augmented(const Augmentation& augmentation, const Image& image, const SampleDraws& draws) {
  Sample sample{{kImage, tensor_of(image)}, {kLabel, at::scalar_tensor(3, at::kLong)}};
  for (const auto& transform : augmentation.transforms) {
    const std::int64_t most = transform->bytes(bytes_of(sample));
    sample = transform->apply(std::move(sample), draws);
    EXPECT_LE(bytes_of(sample), most);
  }
  EXPECT_EQ(sample.at(kLabel).item<std::int64_t>(), 3);
  return sample.at(kImage);
}

TEST(Augmentations, GiveImagesOfTheExtentInTheTypeTheySay) {
  const RandomStreams random(2);
  for (const AugmentationItem& item : augmentation_items()) {
    for (const std::int64_t channels : {1, 3}) {
      const Augmentation augmentation = made(item.id(), context_of(channels, {24, 24}));
      const Image image = pattern(24, 24, static_cast<int>(channels));
      for (std::int64_t row = 0; row < 20; ++row) {
        const StreamDraws draws(random, 0, row);
        const Tensor out = augmented(augmentation, image, draws);
        EXPECT_EQ(out.sizes(), (at::IntArrayRef{channels, 24, 24})) << item.id();
        EXPECT_EQ(out.scalar_type(), augmentation.normalizes ? at::kFloat : at::kByte) << item.id();
        EXPECT_TRUE(out.is_contiguous() || !augmentation.normalizes) << item.id();
        EXPECT_TRUE(at::equal(out, augmented(augmentation, image, draws)))
            << item.id() << " is a function of its draws";
      }
    }
  }
}

TEST(Augmentations, ChangeWithTheRowUnlessTheyAreNone) {
  const RandomStreams random(2);
  for (const AugmentationItem& item : augmentation_items()) {
    const Augmentation augmentation = made(item.id(), context_of(3, {24, 24}));
    const Image image = pattern(24, 24, 3);
    const bool same = at::equal(augmented(augmentation, image, StreamDraws(random, 0, 0)),
                                augmented(augmentation, image, StreamDraws(random, 0, 1)));
    EXPECT_EQ(same, item.id() == "none") << item.id();
    EXPECT_EQ(augmentation.transforms.empty(), item.id() == "none") << item.id();
  }
}

TEST(Augmentations, AreNoneWhereTheConfigurationHasNone) {
  EXPECT_FALSE(make_augmentation(Json::object(), context_of(3, {24, 24})));
  EXPECT_THROW(made("crop-flip", context_of(2, {24, 24})), std::invalid_argument);
  EXPECT_THROW(made("deit", context_of(3, {24, 24}), {{"policy", "rand-q1"}}), std::invalid_argument);
  EXPECT_THROW(made("crop-flip", context_of(3, {24, 24}), {{"scale_min", 0.9}, {"scale_max", 0.5}}),
               std::invalid_argument);
  EXPECT_THROW(made("torchvision", context_of(3, {24, 24}), {{"bins", 5}}), std::invalid_argument) << "no bin 9 of 5";
}

TEST(CropFlip, IsACropResizedAndTurnedAround) {
  const RandomStreams random(4);
  const Image image = pattern(50, 60, 3);
  const Augmentation augmentation = made("crop-flip", context_of(3, {24, 32}));
  for (std::int64_t row = 0; row < 20; ++row) {
    const StreamDraws draws(random, 0, row);
    Image expected = resized_crop(image, random_resized_crop({50, 60}, {}, draws), {24, 32}, Filter::kBicubic);
    if (draws.unit("flip") < 0.5) expected = flipped(expected);
    EXPECT_EQ(image_of(augmented(augmentation, image, draws)), expected) << row;
  }
}

// Crop, flip, policy, normalization, erasing, in this order.
TEST(Deit, IsTheChainOfTimm) {
  const RandomStreams random(4);
  const Image image = pattern(50, 60, 3);
  const Augmentation augmentation = made("deit", context_of(3, {24, 24}));
  EXPECT_TRUE(augmentation.normalizes);
  const auto policy = timm_policy("rand-m9-mstd0.5-inc1", 24);
  for (std::int64_t row = 0; row < 50; ++row) {
    const StreamDraws draws(random, 0, row);
    Image expected = resized_crop(image, random_resized_crop({50, 60}, {}, draws), {24, 24}, Filter::kBicubic);
    if (draws.unit("flip") < 0.5) expected = flipped(expected);
    expected = policy->apply(expected, draws, {Sampling::kBicubic, {124, 116, 104}});
    const Tensor normal = normalized(tensor_of(expected), kImageNet, at::kCPU);
    EXPECT_TRUE(at::equal(augmented(augmentation, image, draws), erased(normal, {}, draws))) << row;
  }
}

TEST(Deit, TakesAPolicyInPlaceOfColorJitter) {
  const RandomStreams random(4);
  const Image image = pattern(50, 60, 3);
  const AugmentationContext context = context_of(3, {24, 24});
  const Augmentation plain = made("deit", context, {{"policy", "none"}, {"color_jitter", 0.0}, {"erasing", 0.0}});
  const Augmentation jitter = made("deit", context, {{"policy", "none"}, {"color_jitter", 0.4}, {"erasing", 0.0}});
  EXPECT_FALSE(jitter.normalizes) << "nothing needs normalized values";
  const Augmentation policy = made("deit", context, {{"color_jitter", 0.4}});
  const Augmentation default_policy = made("deit", context);
  for (std::int64_t row = 0; row < 10; ++row) {
    const StreamDraws draws(random, 0, row);
    const Image bare = image_of(augmented(plain, image, draws));
    EXPECT_EQ(image_of(augmented(jitter, image, draws)), jittered(bare, {0.4, 0.4, 0.4}, draws));
    EXPECT_TRUE(at::equal(augmented(policy, image, draws), augmented(default_policy, image, draws)));
  }
}

TEST(Deit, DrawsItsInterpolationWhereItIsRandom) {
  const RandomStreams random(4);
  const Image image = pattern(50, 60, 3);
  const auto with = [&](const char* interpolation) {
    return made("deit", context_of(3, {24, 24}), {{"interpolation", interpolation}});
  };
  int bilinear = 0;
  for (std::int64_t row = 0; row < 40; ++row) {
    const StreamDraws draws(random, 0, row);
    const bool low = draws.unit("interpolation") < 0.5;
    bilinear += low ? 1 : 0;
    EXPECT_TRUE(at::equal(augmented(with("random"), image, draws),
                          augmented(with(low ? "bilinear" : "bicubic"), image, draws)));
  }
  EXPECT_NEAR(bilinear, 20, 12);
}

TEST(PadCrop, IsAWindowOfTheImageWithABorderOfZeros) {
  const Image image = pattern(24, 24, 3);
  const Augmentation augmentation =
      made("pad-crop", context_of(3, {24, 24}), {{"policy", "none"}, {"color_jitter", 0.0}, {"erasing", 0.0}});
  const WrittenDraws draws({{"pad.top", {0}}, {"pad.left", {0.999}}, {"flip", {0.7}}, {"jitter.order", {1, 2, 3, 4}}});
  const Image out = image_of(augmented(augmentation, image, draws));
  EXPECT_EQ(crop(out, 4, 0, 20, 20), crop(image, 0, 4, 20, 20));
  EXPECT_EQ(crop(out, 0, 0, 4, 24), Image::blank(4, 24, 3));
  EXPECT_EQ(crop(out, 0, 20, 24, 4), Image::blank(24, 4, 3));
  EXPECT_THROW(augmented(made("pad-crop", context_of(3, {48, 48})), image, StreamDraws(RandomStreams(0), 0, 0)),
               std::invalid_argument);
}

TEST(ThreeAugment, IsExactlyOneOfThreeThenJitter) {
  const Image image = pattern(50, 60, 3);
  const Augmentation augmentation = made("three-augment", context_of(3, {24, 24}), {{"color_jitter", 0.0}});
  const auto out = [&](double kind) {
    return image_of(augmented(augmentation, image,
                              WrittenDraws({{"crop.area", {0.2}},
                                            {"crop.ratio", {0.5}},
                                            {"crop.top", {0.3}},
                                            {"crop.left", {0.6}},
                                            {"flip", {0.9}},
                                            {"three.kind", {kind}},
                                            {"blur.sigma", {0.5}},
                                            {"jitter.order", {1, 2, 3, 4}}})));
  };
  const WrittenDraws place({{"crop.area", {0.2}}, {"crop.ratio", {0.5}}, {"crop.top", {0.3}}, {"crop.left", {0.6}}});
  const Image part = resized_crop(image, random_resized_crop({50, 60}, {}, place), {24, 24}, Filter::kBicubic);
  EXPECT_EQ(out(0.3), pillow::grayscale(part));
  EXPECT_EQ(out(0.5), pillow::solarize(part, 128));
  EXPECT_EQ(out(0.9), pillow::gaussian_blur(part, 1.05));
}

TEST(ThreeAugment, CropsSimplyFromTheResizedImage) {
  const Image image = pattern(48, 60, 3);
  const Augmentation augmentation =
      made("three-augment", context_of(3, {24, 24}), {{"crop", "simple"}, {"color_jitter", 0.0}});
  const WrittenDraws draws({{"pad.top", {0.25}},
                            {"pad.left", {0.5}},
                            {"flip", {0.2}},
                            {"three.kind", {0.5}},
                            {"jitter.order", {1, 2, 3, 4}}});
  const Image around = reflect_padded(resize(image, 24, 30, Filter::kBicubic), 4);
  EXPECT_EQ(image_of(augmented(augmentation, image, draws)),
            pillow::solarize(flipped(crop(around, 2, 7, 24, 24)), 128));
  EXPECT_THROW(augmented(augmentation, pattern(2, 66, 3), draws), DataError);
}

TEST(Torchvision, AppliesItsPolicyToTheFlippedCrop) {
  const RandomStreams random(4);
  const Image image = pattern(50, 60, 3);
  const AugmentationContext context = context_of(3, {24, 24});
  const Augmentation bare = made("torchvision", context, {{"policy", "none"}});
  const std::map<std::string, std::shared_ptr<const Policy>> policies = {
      {"randaugment", torchvision_randaugment(2, {})},
      {"trivialaugment", torchvision_trivialaugment(31)},
      {"autoaugment", torchvision_autoaugment()}};
  for (const auto& [name, policy] : policies) {
    const Augmentation augmentation = made("torchvision", context, {{"policy", name}});
    for (std::int64_t row = 0; row < 20; ++row) {
      const StreamDraws draws(random, 0, row);
      const Image flat = image_of(augmented(bare, image, draws));
      EXPECT_EQ(image_of(augmented(augmentation, image, draws)), policy->apply(flat, draws, {})) << name << " " << row;
    }
  }
}

}  // namespace
}  // namespace locus::engine
