// What transforms draw and make.
#include "engine/data/transform.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor left = a.contiguous(), right = b.contiguous();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

// Computed apart from this code: Philox 4x32-10, key from SHA-256, of seed 7, epoch 3 and row 12345.
TEST(SampleDraws, AreTheKnownNumbersOfSeedNameEpochAndRow) {
  const RandomStreams random(7);
  const StreamDraws draws(random, 3, 12345);
  EXPECT_DOUBLE_EQ(draws.unit("crop.area", 0), 0.0072014924093707355);
  EXPECT_DOUBLE_EQ(draws.unit("flip", 0), 0.474526456778262);
  EXPECT_DOUBLE_EQ(draws.normal("randaugment.0.magnitude", 0), -1.2018936753373082);
}

TEST(SampleDraws, DifferByEpochRowAndAttempt) {
  const RandomStreams random(7);
  std::set<double> numbers;
  for (const std::int64_t epoch : {0, 1}) {
    for (const std::int64_t row : {0, 1}) {
      for (const std::uint32_t attempt : {0u, 1u})
        numbers.insert(StreamDraws(random, epoch, row).unit("flip", attempt));
    }
  }
  EXPECT_EQ(numbers.size(), 8u);
}

// Keys are kept by each thread; asking again, in another order or elsewhere changes no number.
TEST(SampleDraws, AreTheSameHoweverOftenAndInWhichThreadTheyAreAsked) {
  const RandomStreams random(7), other(8);
  const StreamDraws draws(random, 3, 12345), others(other, 3, 12345);
  const double area = draws.unit("crop.area", 0), different = others.unit("crop.area", 0);
  EXPECT_NE(area, different);
  double elsewhere = 0;
  std::thread([&] { elsewhere = draws.unit("crop.area", 0); }).join();
  EXPECT_EQ(elsewhere, area);
  for (int i = 0; i < 5000; ++i) draws.unit("name " + std::to_string(i), 0);  // more than are kept
  EXPECT_EQ(draws.unit("crop.area", 0), area);
  EXPECT_EQ(others.unit("crop.area", 0), different);
}

TEST(Normalized, IsByChannelAndLeavesItsInputAlone) {
  const Normalization normalization{{0.1, 0.2, 0.3}, {0.1, 0.2, 0.5}};
  const Tensor pixels = at::full({2, 3, 1, 1}, 51, at::kFloat);
  const Tensor out = normalized(pixels, normalization, at::kCPU);
  EXPECT_TRUE(at::allclose(out[1].view({3}), at::tensor({1.0f, 0.0f, -0.2f}), 1e-5, 1e-6));
  EXPECT_EQ(pixels.max().item<float>(), 51);
  EXPECT_TRUE(same_bits(normalized(pixels.to(at::kByte), {}, at::kCPU), pixels)) << "without channels only the type";
}

// Floats go through the operations, bytes of that many pixels through the table.
TEST(Normalized, GivesBytesTheBitsOfTheirFloats) {
  const Normalization gray{{0.286}, {0.353}}, color{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}, zero{{0}, {1}};
  for (const Normalization& normalization : {gray, color, zero}) {
    for (const std::int64_t channels : {1, 3}) {
      if (normalization.mean.size() == 3 && channels == 1) continue;
      const Tensor batch = drawn_samples(5, channels, 37, 41).at(kImage);
      for (const Tensor& images : {batch, batch[3], batch.slice(3, 1, 40), batch.slice(2, 0, 1)}) {
        EXPECT_TRUE(same_bits(normalized(images, normalization, at::kCPU),
                              normalized(images.to(at::kFloat), normalization, at::kCPU)))
            << normalization.mean.size() << " for " << channels << " channels, " << images.sizes();
      }
    }
  }
  EXPECT_THROW(normalized(drawn_samples(1, 2, 80, 80).at(kImage), color, at::kCPU), c10::Error) << "other channels";
}

TEST(ExtentAt, KeepsTheAspectRatio) {
  EXPECT_EQ(extent_at({28, 28}, 42), (Extent{42, 42}));
  EXPECT_EQ(extent_at({320, 480}, 224), (Extent{224, 336}));
  EXPECT_EQ(extent_at({480, 320}, 224), (Extent{336, 224}));
  EXPECT_EQ(extent_at({375, 500}, 256), (Extent{256, 341})) << "cut, not rounded: 341.33";
  EXPECT_EQ(extent_at({500, 203}, 438), (Extent{1078, 438})) << "cut, not rounded: 1078.8";
}

// Half-pixel centers. Bicubic: Keys' kernel with a = -0.75, borders clamped: -0.75 (d^3 - 5 d^2 + 8 d - 4) at d = 1.25
// is -0.10546875.
TEST(Resized, InterpolatesBetweenHalfPixelCenters) {
  const Tensor image = at::tensor({0.f, 100.f}).view({1, 1, 1, 2}).repeat({1, 1, 2, 1});
  const auto row = [&](std::string_view interpolation) { return resized(image, {4, 4}, interpolation)[0][0][1]; };
  EXPECT_TRUE(at::allclose(row("bilinear"), at::tensor({0.0f, 25.0f, 75.0f, 100.0f}), 1e-5, 1e-4));
  EXPECT_TRUE(at::allclose(row("bicubic"), at::tensor({-10.546875f, 22.65625f, 77.34375f, 110.546875f}), 1e-5, 1e-3));
  EXPECT_THROW(row("nearest"), std::invalid_argument);
  EXPECT_THROW(resized(image, {2, 2}, "nearest"), std::invalid_argument) << "also where nothing is to be done";
}

class Steps : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(Steps, GiveTheBitsOfWholeBatchesAndTakeWhatTheyPromise) {
  const std::int64_t channels = GetParam();
  const Normalization normalization{std::vector<double>(static_cast<std::size_t>(channels), 0.3),
                                    std::vector<double>(static_cast<std::size_t>(channels), 0.21)};
  const auto source = resident_source(drawn_samples(7, channels, 9, 13));
  const RandomStreams random(0);
  for (const char* interpolation : {"bilinear", "bicubic"}) {
    for (const Extent extent : {Extent{9, 13}, Extent{17, 21}, Extent{5, 7}}) {
      const Tensor batch =
          resized(normalized(source->resident()->at(kImage), normalization, at::kCPU), extent, interpolation);
      const auto first = normalizing(normalization), second = resizing(extent, channels, interpolation);
      for (std::int64_t row = 0; row < 7; ++row) {
        const StreamDraws draws(random, 0, row);
        const Sample middle = first->apply(source->read(row), draws), out = second->apply(middle, draws);
        EXPECT_TRUE(same_bits(out.at(kImage), batch[row])) << interpolation << " " << extent[0] << " " << row;
        EXPECT_EQ(out.at(kLabel).item<std::int64_t>(), row);
        EXPECT_LE(bytes_of(middle), first->bytes(source->bytes(row)));
        EXPECT_LE(bytes_of(out), second->bytes(bytes_of(middle)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, Steps, ::testing::Values(1, 3));

TEST(Resizing, RefusesAnImageOfOtherChannels) {
  const RandomStreams random(0);
  EXPECT_THROW(resizing({4, 4}, 3, "bilinear")->apply({{kImage, at::zeros({1, 2, 2})}}, StreamDraws(random, 0, 0)),
               std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
