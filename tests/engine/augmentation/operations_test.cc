// Every operation against its second definition, and against what Pillow makes.
#include "engine/augmentation/operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "core/base/json.h"
#include "engine/augmentation/crops.h"
#include "engine/images/blur.h"
#include "engine/images/colors.h"
#include "engine/images/hsv.h"
#include "tests/engine/augmentation/reference_operations.h"
#include "tests/engine/images/pattern.h"
#include "tests/engine/support/sources.h"

namespace locus::engine {
namespace {

// What each argument is tried at, by the operation's name.
std::vector<double> arguments_of(const Operation& operation) {
  if (operation.argument.empty()) return {0};
  static const std::map<std::string, std::vector<double>, std::less<>> special = {
      {"gaussian-blur", {0, 0.1, 0.5, 1, 2, 9}},
      {"hue", {-0.5, -0.06, 0, 0.1, 0.5}},
      {"posterize", {0, 1, 3, 7, 8}},
      {"rotate", {-27, 9, 33.3, -133.7}},
      {"shear-x", {0.091737, -0.271319, 0.993127}},
      {"shear-y", {0.091737, -0.271319, 0.993127}},
      {"solarize", {0, 26, 178.5, 256}},
      {"solarize-add", {0, 55, 128}},
      {"translate-x", {-7.3137, 5, 30.4518}},
      {"translate-y", {-7.3137, 5, 30.4518}},
  };
  const auto found = special.find(operation.name);
  return found == special.end() ? std::vector<double>{0, 0.1, 0.19, 0.73, 1, 1.27, 1.81} : found->second;
}

// Whether two images are equal. `summed`: pixels are sums cut to whole numbers, so another order of summands may move one
// in a hundred by one; Pillow's own bytes (OfPillowGiveItsBytes) hold these exactly.
bool alike(const Image& found, const Image& expected, bool summed) {
  if (!summed || found.pixels.size() != expected.pixels.size()) return found == expected;
  std::size_t off = 0;
  for (std::size_t i = 0; i < found.pixels.size(); ++i) {
    const int apart = std::abs(found.pixels[i] - expected.pixels[i]);
    if (apart > 1) return false;
    off += static_cast<std::size_t>(apart);
  }
  return 100 * off <= found.pixels.size();
}

void expect_defined(std::span<const Operation> operations,
                    const std::map<std::string, test::ReferenceOperation, std::less<>>& reference) {
  for (const Operation& operation : operations) {
    const auto second = reference.find(operation.name);
    ASSERT_NE(second, reference.end()) << operation.name << " has no second definition";
    for (const Image& image : {pattern(17, 23, 3), pattern(12, 12, 3), pattern(9, 14, 1), Image::blank(5, 6, 3)}) {
      const std::vector<std::uint8_t> fill(static_cast<std::size_t>(image.channels), 116);
      for (const Sampling sampling : {Sampling::kNearest, Sampling::kBilinear, Sampling::kBicubic}) {
        if (!operation.geometric && sampling != Sampling::kNearest) continue;
        // Pillow's nearest pixel is by coordinates in fixed point, which Pillow's own bytes hold it to.
        if (operation.geometric && operation.name == "rotate" && sampling == Sampling::kNearest) continue;
        for (const double argument : arguments_of(operation)) {
          const Canvas canvas{sampling, fill};
          EXPECT_TRUE(alike(operation.apply(image, argument, canvas), second->second(image, argument, canvas),
                            operation.geometric && sampling != Sampling::kNearest))
              << operation.name << " " << argument << ", " << image.height << " x " << image.width << " x "
              << image.channels << ", sampling " << static_cast<int>(sampling);
        }
      }
    }
  }
}

TEST(Operations, OfPillowAreWhatTheirFormulasSay) { expect_defined(pillow_operations(), test::reference_pillow()); }

TEST(Operations, OfTorchvisionAreWhatTheirFormulasSay) {
  expect_defined(torchvision_operations(), test::reference_torchvision());
}

TEST(Operations, OfPillowGiveItsBytes) {
  const auto folder = test::in_sources("tests/engine/augmentation/testdata");
  const Json recorded = Json::parse(std::ifstream(folder / "pillow_operations.json"));
  std::set<std::string, std::less<>> seen;
  for (const Json& row : recorded.at("rows")) {
    const auto from = row.at("from").get<std::vector<int>>();
    const auto name = row.at("operation").get<std::string>();
    std::vector<std::uint8_t> fill = recorded.at("fill");
    fill.resize(static_cast<std::size_t>(from[2]));
    const Canvas canvas{sampling_of(row.at("interpolation").get<std::string>()), fill};
    const Image out = operation_named(pillow_operations(), name)
                          .apply(pattern(from[0], from[1], from[2]), row.at("argument"), canvas);
    EXPECT_EQ(digest_of(out), row.at("sha256")) << row << " by Pillow " << recorded.at("pillow");
    seen.insert(name);
  }
  for (const Operation& operation : pillow_operations()) EXPECT_TRUE(seen.contains(operation.name)) << operation.name;
}

TEST(Operations, ThatAreNotThereAreNamed) {
  EXPECT_THROW(operation_named(pillow_operations(), "identity"), std::invalid_argument);
  EXPECT_EQ(operation_named(torchvision_operations(), "identity").name, "identity");
}

TEST(Affine, WantsAFillValueForEachChannel) {
  const std::uint8_t one[] = {7};
  EXPECT_THROW(affine(pattern(4, 4, 3), shear_x(0.1), Sampling::kBilinear, one), std::invalid_argument);
  EXPECT_NO_THROW(affine(pattern(4, 4, 1), shear_x(0.1), Sampling::kBilinear, one));
}

TEST(Affine, KeepsPlainAreasAndWholeTranslations) {
  Image plain = Image::blank(9, 9, 3);
  std::fill(plain.pixels.begin(), plain.pixels.end(), std::uint8_t{201});
  const std::uint8_t same[] = {201, 201, 201};
  for (const Sampling sampling : {Sampling::kNearest, Sampling::kBilinear, Sampling::kBicubic}) {
    EXPECT_EQ(rotated(plain, 31.7, sampling, same), plain);
    const Image image = pattern(9, 9, 3);
    const Image moved = affine(image, translation(2, -1), sampling, same);
    for (int x = 0; x < 7; ++x) EXPECT_EQ(test::value_at(moved, 4, x, 1), test::value_at(image, 3, x + 2, 1));
  }
}

TEST(ReflectPadded, RepeatsNoPixelOfTheBorder) {
  const Image image{3, 3, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(reflect_padded(image, 2).pixels,
            (std::vector<std::uint8_t>{9, 8, 7, 8, 9, 8, 7, 6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1, 6, 5, 4, 5,
                                       6, 5, 4, 9, 8, 7, 8, 9, 8, 7, 6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1}));
  EXPECT_THROW(reflect_padded(image, 3), std::invalid_argument);
}

TEST(Hue, HasThePublishedNumbers) {
  using pillow::Pixel;
  EXPECT_EQ(pillow::hsv_of({200, 30, 40}), (Pixel{252, 216, 200}));
  EXPECT_EQ(pillow::hsv_of({10, 120, 250}), (Pixel{150, 244, 250}));
  EXPECT_EQ(pillow::hue(Image{1, 1, 3, {10, 120, 250}}, -0.06).pixels, (std::vector<std::uint8_t>{11, 208, 250}));
  EXPECT_EQ(pillow::hue(Image{1, 1, 3, {200, 30, 40}}, -0.06).pixels, (std::vector<std::uint8_t>{200, 31, 102}));
}

TEST(GaussianBlur, HasBoxesOfThePublishedRadii) {
  EXPECT_NEAR(pillow::box_radius(0.1), 0.001672, 1e-6);
  EXPECT_NEAR(pillow::box_radius(0.5), 0.045455, 1e-6);
  EXPECT_FLOAT_EQ(pillow::box_radius(1), 0.25f);
  EXPECT_FLOAT_EQ(pillow::box_radius(2), 1.375f);
  EXPECT_THROW(pillow::gaussian_blur(pattern(3, 3, 3), -1), std::invalid_argument);
  EXPECT_THROW(pillow::gaussian_blur(pattern(3, 3, 3), std::nan("")), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
