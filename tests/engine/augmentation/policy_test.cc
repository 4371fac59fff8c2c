// Policies: what is drawn, and what levels and bins mean.
#include "engine/augmentation/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/augmentation/levels.h"
#include "engine/images/colors.h"
#include "tests/engine/augmentation/given_draws.h"
#include "tests/engine/augmentation/reference_operations.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::WrittenDraws;

const Canvas kCanvas{Sampling::kBicubic, {124, 116, 104}};

double argument_at(std::string_view name, double level, bool negative = false) {
  return leveled_operation(name).argument(level, {.height = 192, .width = 224, .shorter = 224, .negative = negative});
}

TEST(Levels, MeanWhatTimmSaysAtNine) {
  EXPECT_DOUBLE_EQ(argument_at("Rotate", 9), 27);
  EXPECT_DOUBLE_EQ(argument_at("Rotate", 9, true), -27);
  EXPECT_EQ(argument_at("PosterizeIncreasing", 9), 1);
  EXPECT_EQ(argument_at("SolarizeIncreasing", 9), 26);
  EXPECT_EQ(argument_at("SolarizeAdd", 9), 99);
  for (const char* name : {"Color", "Contrast", "Brightness", "Sharpness"}) {
    const std::string more = std::string(name) + "Increasing";
    EXPECT_DOUBLE_EQ(argument_at(more, 9), 1.81);
    EXPECT_DOUBLE_EQ(argument_at(more, 9, true), 0.19);
    EXPECT_DOUBLE_EQ(argument_at(more, 10, true), 0.1);
    EXPECT_DOUBLE_EQ(argument_at(name, 9), 1.72);
    EXPECT_DOUBLE_EQ(argument_at(name, 9, true), 1.72) << "has no sign";
  }
  EXPECT_DOUBLE_EQ(argument_at("ShearX", 9), 0.27);
  EXPECT_DOUBLE_EQ(argument_at("ShearY", 9, true), -0.27);
  EXPECT_DOUBLE_EQ(argument_at("TranslateXRel", 9), 90.72);
  EXPECT_DOUBLE_EQ(argument_at("TranslateYRel", 9), 0.405 * 192);
  EXPECT_DOUBLE_EQ(argument_at("TranslateX", 5, true), -50) << "half of the whole pixels of 0.45 x 224, which are 100";
  EXPECT_EQ(argument_at("Posterize", 9), 3);
  EXPECT_EQ(argument_at("PosterizeOriginal", 9), 7);
  EXPECT_EQ(argument_at("Solarize", 9), 230);
}

TEST(Levels, OfTenLeaveNothingOfAPosterizedImage) {
  EXPECT_EQ(argument_at("PosterizeIncreasing", 10), 0);
  EXPECT_EQ(argument_at("PosterizeIncreasing", 9.99), 1);
  EXPECT_EQ(argument_at("SolarizeIncreasing", 10), 0);
}

TEST(Levels, AreOfOperationsThatThereAre) {
  for (const LeveledOperation& leveled : leveled_operations()) {
    const Operation& operation = operation_named(pillow_operations(), leveled.operation);
    const bool takes = argument_at(leveled.name, 3) != 0;
    EXPECT_EQ(takes, !operation.argument.empty()) << leveled.name;
  }
  for (const bool increasing : {false, true}) {
    EXPECT_EQ(randaugment_operations(increasing).size(), 15u);
    for (const std::string_view name : randaugment_operations(increasing)) EXPECT_NO_THROW(leveled_operation(name));
  }
  EXPECT_THROW(leveled_operation("Cutout"), std::invalid_argument);
}

// The published draws of this row: autocontrast at level 8.399; the second operation, posterization, is not applied.
TEST(TimmRandAugment, IsThePublishedOneOfSeedEpochAndVisit) {
  const RandomStreams random(7);
  const StreamDraws draws(random, 3, 12345);
  const Image image = pattern(31, 37, 3);
  EXPECT_EQ(timm_policy("rand-m9-mstd0.5-inc1", 224)->apply(image, draws, kCanvas), pillow::autocontrast(image));
  EXPECT_NEAR(9 + 0.5 * draws.normal("randaugment.0.magnitude"), 8.39905, 1e-5);
}

// The list of increasing operations and their arguments again, by the formulas.
Image second_definition(Image image, double center, double deviation, const SampleDraws& draws) {
  static const char* const names[] = {"autocontrast", "equalize",     "invert",     "rotate",      "posterize",
                                      "solarize",     "solarize-add", "saturation", "contrast",    "brightness",
                                      "sharpness",    "shear-x",      "shear-y",    "translate-x", "translate-y"};
  for (const char* k : {"randaugment.0", "randaugment.1"}) {
    const std::string name(k);
    const auto op = static_cast<std::size_t>(15 * draws.unit(name + ".op"));
    if (draws.unit(name + ".apply") > 0.5) continue;
    const double l = std::clamp(center + deviation * draws.normal(name + ".magnitude"), 0.0, 10.0) / 10;
    const double sign = draws.unit(name + ".sign") > 0.5 ? -1 : 1;
    const double arguments[] = {0,
                                0,
                                0,
                                sign * 30 * l,
                                4 - std::trunc(4 * l),
                                256 - std::min(256.0, std::trunc(256 * l)),
                                std::min(128.0, std::trunc(110 * l)),
                                std::max(0.1, 1 + sign * 0.9 * l),
                                std::max(0.1, 1 + sign * 0.9 * l),
                                std::max(0.1, 1 + sign * 0.9 * l),
                                std::max(0.1, 1 + sign * 0.9 * l),
                                sign * 0.3 * l,
                                sign * 0.3 * l,
                                sign * 0.45 * l * image.width,
                                sign * 0.45 * l * image.height};
    image = test::reference_pillow().at(names[op])(image, arguments[op], kCanvas);
  }
  return image;
}

TEST(TimmRandAugment, IsWhatItsDefinitionSays) {
  const RandomStreams random(1);
  const Image image = pattern(16, 20, 3);
  const auto policy = timm_policy("rand-m9-mstd0.5-inc1", 16);
  int same = 0;
  for (std::int64_t row = 0; row < 300; ++row) {
    const StreamDraws draws(random, 0, row);
    const Image out = policy->apply(image, draws, kCanvas);
    EXPECT_EQ(out, second_definition(image, 9, 0.5, draws)) << row;
    same += out == image ? 1 : 0;
  }
  EXPECT_NEAR(same, 75, 30) << "a quarter of the images stay as they are";
}

TEST(TimmRandAugment, ReadsItsConfiguration) {
  const Image image = pattern(16, 20, 3);
  const auto made = [&](std::string_view configuration, const SampleDraws& draws) {
    return timm_policy(configuration, 16)->apply(image, draws, kCanvas);
  };
  // Operation 4 of 15 is posterization.
  const WrittenDraws one(
      {{"randaugment.0.op", {4.5 / 15}}, {"randaugment.0.apply", {0.3}}, {"randaugment.0.sign", {0.9}}});
  EXPECT_EQ(made("rand-n1-m5", one), pillow::posterize(image, 2)) << "plain operations";
  EXPECT_EQ(made("rand-n1", one), pillow::posterize(image, 4)) << "at level 10";
  EXPECT_EQ(made("rand-n1-m8-inc1", one), pillow::posterize(image, 1));
  EXPECT_EQ(made("rand-n1-m8-inc0", one), pillow::posterize(image, 1)) << "any number means increasing, as in timm";
  EXPECT_EQ(made("rand-n1-m8-p0.2", one), image) << "not applied";
  EXPECT_EQ(made("rand-n1-m20-inc1", one), pillow::posterize(image, 0)) << "cut to 10";
  EXPECT_EQ(made("rand-n1-m15-mmax15", one), pillow::posterize(image, 6));
  const WrittenDraws uniform({{"randaugment.0.op", {4.5 / 15}},
                              {"randaugment.0.apply", {0.3}},
                              {"randaugment.0.sign", {0.9}},
                              {"randaugment.0.magnitude", {0.5}}});
  EXPECT_EQ(made("rand-n1-m8-mstd101-inc1", uniform), pillow::posterize(image, 3)) << "uniform in 0..8";
  EXPECT_EQ(made("rand-n1-m8-mstd4-inc1", uniform), pillow::posterize(image, 0)) << "8 + 4 x 0.5";
  EXPECT_EQ(made("rand-n1-p1-m8-inc1", WrittenDraws({{"randaugment.0.op", {4.5 / 15}}, {"randaugment.0.sign", {0}}})),
            pillow::posterize(image, 1))
      << "what is certain is not drawn";
}

TEST(TimmPolicy, RefusesWhatItCannotRead) {
  for (const char* configuration :
       {"", "none", "random-m9", "rand-x3", "rand-m", "rand-mx", "rand-m9.5", "rand-n0", "rand-m9-t3a", "rand-m9x",
        "v0-m3", "original-inc1", "rand-p-0.5", "rand-p1.5", "rand-n1001"}) {
    EXPECT_THROW(timm_policy(configuration, 224), std::invalid_argument) << configuration;
  }
  for (const char* configuration : {"rand-m9-mstd0.5-inc1", "rand-n3", "rand", "v0", "original-mstd0.5"}) {
    EXPECT_NO_THROW(timm_policy(configuration, 224)) << configuration;
  }
}

TEST(AutoAugment, AppliesBothOperationsOfASubPolicyByTheirProbability) {
  EXPECT_EQ(autoaugment_original().size(), 25u);
  EXPECT_EQ(autoaugment_v0().size(), 25u);
  const Image image = pattern(16, 20, 3);
  // The fourth sub-policy: posterization .6 at 7, .6 at 6.
  const auto draws = [](double second) {
    return WrittenDraws({{"autoaugment.policy", {3.5 / 25}},
                         {"autoaugment.0.apply", {0.6}},
                         {"autoaugment.0.sign", {0}},
                         {"autoaugment.1.apply", {second}},
                         {"autoaugment.1.sign", {0}}});
  };
  EXPECT_EQ(timm_policy("original", 16)->apply(image, draws(0.61), kCanvas), pillow::posterize(image, 6));
  EXPECT_EQ(timm_policy("original", 16)->apply(image, draws(0.1), kCanvas), pillow::posterize(image, 6));
  EXPECT_EQ(torchvision_autoaugment()->apply(image, draws(0.61), {}), pillow::posterize(image, 5)) << "8 - 4 x 7 / 9";
}

TEST(AutoAugment, NamesOperationsThatBothLibrariesHave) {
  for (const SubPolicy& policy : autoaugment_v0()) {
    for (const PolicyStep& step : policy) EXPECT_NO_THROW(leveled_operation(step.operation));
  }
  // Every operation of a sub-policy changes something somewhere, in either library.
  const Image image = pattern(16, 20, 3);
  for (std::size_t p = 0; p < 25; ++p) {
    const WrittenDraws draws({{"autoaugment.policy", {(static_cast<double>(p) + 0.5) / 25}},
                              {"autoaugment.0.apply", {0}},
                              {"autoaugment.0.sign", {0}},
                              {"autoaugment.1.apply", {0}},
                              {"autoaugment.1.sign", {0}}});
    EXPECT_NE(timm_policy("original", 16)->apply(image, draws, kCanvas), image) << p;
    EXPECT_NE(torchvision_autoaugment()->apply(image, draws, {}), image) << p;
  }
}

// Operation k of torchvision's 14, at bin 9 of 31 on 224 x 224 pixels.
Image torchvision_nine(const Image& image, int k, double sign) {
  const WrittenDraws draws({{"randaugment.0.op", {(k + 0.5) / 14}}, {"randaugment.0.sign", {sign}}});
  return torchvision_randaugment(1, {})->apply(image, draws, {});
}

TEST(TorchvisionRandAugment, HasThePublishedArgumentsAtNine) {
  const Image image = pattern(224, 224, 3);
  const std::pair<const char*, std::array<double, 2>> expected[] = {
      {"identity", {0, 0}},         {"shear-x", {0.09, -0.09}},   {"shear-y", {0.09, -0.09}},
      {"translate-x", {30, -30}},   {"translate-y", {30, -30}},   {"rotate", {9, -9}},
      {"brightness", {1.27, 0.73}}, {"saturation", {1.27, 0.73}}, {"contrast", {1.27, 0.73}},
      {"sharpness", {1.27, 0.73}},  {"posterize", {7, 7}},        {"solarize", {178.5, 178.5}},
      {"autocontrast", {0, 0}},     {"equalize", {0, 0}}};
  for (int k = 0; k < 14; ++k) {
    const auto& [name, arguments] = expected[k];
    const auto& reference = operation_named(torchvision_operations(), name);
    EXPECT_EQ(torchvision_nine(image, k, 0.51), reference.apply(image, arguments[0], {})) << name;
    EXPECT_EQ(torchvision_nine(image, k, 0.5), reference.apply(image, arguments[1], {})) << name;
  }
}

TEST(TorchvisionRandAugment, AppliesEveryOperationItDraws) {
  const Image image = pattern(16, 20, 3);
  const WrittenDraws draws({{"randaugment.0.op", {10.5 / 14}}, {"randaugment.1.op", {11.5 / 14}}});
  const auto reference = [&](const char* name, const Image& of, double argument) {
    return test::reference_torchvision().at(name)(of, argument, {});
  };
  EXPECT_EQ(torchvision_randaugment(2, {30, 31})->apply(image, draws, {}),
            reference("solarize", reference("posterize", image, 4), 0));
}

TEST(TrivialAugment, DrawsOneOperationAtAnyBinOfWiderRanges) {
  const Image image = pattern(64, 64, 3);
  const auto made = [&](double op, double bin, double sign) {
    const WrittenDraws draws(
        {{"trivialaugment.op", {op}}, {"trivialaugment.magnitude", {bin}}, {"trivialaugment.sign", {sign}}});
    return torchvision_trivialaugment(31)->apply(image, draws, {});
  };
  const auto reference = [&](const char* name, double argument) {
    return test::reference_torchvision().at(name)(image, argument, {});
  };
  EXPECT_EQ(made(1.5 / 14, 0.999, 0.9), reference("shear-x", 0.99));
  EXPECT_EQ(made(3.5 / 14, 15.5 / 31, 0.2), reference("translate-x", -16));
  EXPECT_EQ(made(5.5 / 14, 0.999, 0.9), reference("rotate", 135));
  EXPECT_EQ(made(6.5 / 14, 0.999, 0.1), reference("brightness", 1 - 0.99));
  EXPECT_EQ(made(10.5 / 14, 0.999, 0.1), reference("posterize", 2));
  EXPECT_EQ(made(11.5 / 14, 0.001, 0.1), reference("solarize", 255));
}

}  // namespace
}  // namespace locus::engine
