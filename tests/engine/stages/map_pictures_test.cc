// Pictures of scored images, and what a constant answer scores.
#include "engine/stages/map_pictures.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <span>

#include "engine/images/decode.h"
#include "engine/stages/constant_predictor.h"

namespace locus::engine {
namespace {

using Color = std::array<int, 3>;

const Normalization kPlainPixels{{0, 0, 0}, {1, 1, 1}};
const Json kTwoClasses = {{"classes", 2}, {"class_names", {"coat", "bag"}}, {"palette", {"#102030", "#405060"}}};

Image read_back(const std::string& png) { return decode(std::as_bytes(std::span(png))); }

Color pixel(const Image& image, int y, int x) {
  const std::uint8_t* at = image.row(y) + 3 * x;
  return {at[0], at[1], at[2]};
}

Batch with_mask() {
  const Tensor mask = at::tensor({0, 1, 255, 1}, at::kByte).view({1, 2, 2});
  return {{kImage, at::full({1, 3, 2, 2}, 0.5)}, {kMask, mask}};
}

TEST(MapPictures, OfMasksHaveFourPanelsInTheColorsOfTheDataset) {
  const Tensor said = at::tensor({0, 0, 1, 1}, at::kByte).view({1, 2, 2});
  const std::vector<std::string> pngs = MapPictures(kTwoClasses, kPlainPixels).draw(with_mask(), said);
  ASSERT_EQ(pngs.size(), 1u);
  const Image image = read_back(pngs[0]);
  ASSERT_EQ(image.height, 2);
  ASSERT_EQ(image.width, 4 * 2 + 3 * 4) << "panels of two pixels, four between them";
  const Color coat{0x10, 0x20, 0x30}, bag{0x40, 0x50, 0x60}, black{0, 0, 0};
  EXPECT_EQ(pixel(image, 0, 0), (Color{128, 128, 128})) << "the input";
  EXPECT_EQ(pixel(image, 0, 6), coat) << "the prediction";
  EXPECT_EQ(pixel(image, 1, 6), bag);
  EXPECT_EQ(pixel(image, 0, 13), bag) << "the target";
  EXPECT_EQ(pixel(image, 1, 12), black) << "is not labeled";
  const Color right = pixel(image, 0, 18), wrong = pixel(image, 0, 19);
  EXPECT_EQ(right[0], right[1]) << "gray";
  EXPECT_GT(wrong[0], 2 * wrong[1]) << "red";
  EXPECT_EQ(pixel(image, 1, 18), black) << "what is not labeled is neither";
}

TEST(MapPictures, NameTheClassesWithTheirColors) {
  EXPECT_EQ(MapPictures(kTwoClasses, kPlainPixels).legend(),
            Json::parse(R"([{"name": "coat", "color": "#102030"}, {"name": "bag", "color": "#405060"}])"));
}

TEST(MapPictures, OfClassesWithoutNamesAndColorsGiveThemBoth) {
  const Json legend = MapPictures({{"classes", 3}}, kPlainPixels).legend();
  ASSERT_EQ(legend.size(), 3u);
  EXPECT_EQ(legend[2]["name"], "2");
  EXPECT_NE(legend[0]["color"], legend[1]["color"]);
}

TEST(MapPictures, RefuseAPaletteOfOtherForm) {
  EXPECT_THROW(MapPictures({{"classes", 1}, {"palette", {"red"}}}, kPlainPixels), std::invalid_argument);
  EXPECT_THROW(MapPictures({{"classes", 1}, {"palette", {"#12345g"}}}, kPlainPixels), std::invalid_argument);
}

TEST(MapPictures, OfDepthsFitThePredictionAndHaveBarsBelow) {
  const Tensor depth = at::arange(1, 65, at::kFloat).view({1, 8, 8});
  const Batch batch = {{kImage, at::zeros({1, 3, 8, 8})}, {kDepth, depth}};
  const Image image = read_back(MapPictures(Json::object(), kPlainPixels).draw(batch, 3 * depth - 7).at(0));
  EXPECT_GT(image.height, 8);
  for (const int y : {0, 3, 7}) {
    for (const int x : {0, 5, 7}) EXPECT_EQ(pixel(image, y, 12 + x), pixel(image, y, 24 + x)) << y << " " << x;
  }
}

TEST(MapPictures, OfDepthsThatAreNotKnownAreBlack) {
  Tensor depth = at::ones({1, 4, 4});
  depth[0][1][2] = 0;
  depth[0][3][3] = 2;
  const Batch batch = {{kImage, at::zeros({1, 3, 4, 4})}, {kDepth, depth}};
  const Image image = read_back(MapPictures(Json::object(), kPlainPixels).draw(batch, at::ones({1, 4, 4})).at(0));
  EXPECT_EQ(pixel(image, 1, 2 * 8 + 2), (Color{0, 0, 0}));
  EXPECT_NE(pixel(image, 1, 2 * 8 + 1), (Color{0, 0, 0}));
}

TEST(MapPictures, OfNeitherMasksNorDepthsAreRefused) {
  EXPECT_THROW(
      MapPictures(Json::object(), kPlainPixels).draw({{kImage, at::zeros({1, 3, 2, 2})}}, at::zeros({1, 2, 2})),
      std::invalid_argument);
}

std::map<std::string, double> by_name(const std::vector<Score>& scores, const Json& labels = Json::object()) {
  std::map<std::string, double> out;
  for (const Score& one : scores) {
    if (one.labels == labels) out[one.metric] = one.value;
  }
  return out;
}

TEST(ConstantPredictor, SaysTheMostFrequentClassThatItLearned) {
  ConstantPredictor constant(3, 0);
  constant.learn({{kMask, at::tensor({2, 2, 0, 255, 255, 255}, at::kByte).view({1, 2, 3})}});
  constant.learn({{kMask, at::tensor({2, 1, 1}, at::kByte).view({1, 1, 3})}});
  constant.add({{kMask, at::tensor({2, 2, 2, 1, 255}, at::kByte).view({1, 1, 5})}});
  const auto found = by_name(constant.scores());
  EXPECT_DOUBLE_EQ(found.at("pixel-accuracy"), 75);
  EXPECT_DOUBLE_EQ(found.at("mean-accuracy"), 50);
  EXPECT_DOUBLE_EQ(found.at("miou"), (75.0 + 0) / 2) << "class 0 neither occurs nor is said";
  EXPECT_FALSE(found.contains("iou")) << "single classes are left out";
}

TEST(ConstantPredictor, SaysTheMedianOfTheImagesMedians) {
  ConstantPredictor constant(0, 0);
  const auto image = [](std::vector<double> meters) {
    const auto n = static_cast<std::int64_t>(meters.size());
    return Batch{{kDepth, at::tensor(meters, at::kFloat).view({1, 1, n})}};
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  constant.learn(image({1, 1, 9}));
  constant.learn(image({4, 4, 0}));  // 0 is not known
  constant.learn(image({8, nan, 8}));
  constant.learn(image({0, nan, 0}));  // nothing known
  constant.add(image({2, 4, 8}));
  const auto plain = by_name(constant.scores()), median = by_name(constant.scores(), {{"alignment", "median"}});
  EXPECT_NEAR(plain.at("abs-rel"), 100 * (1.0 + 0 + 0.5) / 3, 1e-9) << "4 m everywhere, which nothing fits";
  EXPECT_NEAR(plain.at("rmse"), std::sqrt((4.0 + 0 + 16) / 3), 1e-9);
  EXPECT_NEAR(median.at("abs-rel"), 100 * (1.0 + 0 + 0.5) / 3, 1e-9) << "the image's own median is 4 m, too";
}

TEST(ConstantPredictor, HasNothingToSayBeforeItLearned) {
  ConstantPredictor constant(2, 0);
  EXPECT_TRUE(constant.scores().empty());
  EXPECT_THROW(constant.add(with_mask()), std::logic_error);
  EXPECT_THROW(constant.learn({{kImage, at::zeros({1, 3, 2, 2})}}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
