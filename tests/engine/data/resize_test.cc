// Antialiased resizing of byte tensors: a second, plain definition of ATen's arithmetic, and its distance from Pillow's.
#include "engine/data/resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/data/pixels.h"
#include "engine/images/resize.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

double kernel_at(bool bicubic, double x) {
  x = std::abs(x);
  if (!bicubic) return x < 1 ? 1 - x : 0;
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

// One pass over the last dimension of [n, from] bytes. The weights are rounded to as many bits as keep the greatest of them
// below 2^15 (ATen, UpSampleKernel.cpp), rather than to Pillow's 22.
Tensor plain_pass(const Tensor& rows, std::int64_t to, bool bicubic) {
  const std::int64_t from = rows.size(1);
  if (from == to) return rows;
  const double scale = static_cast<double>(from) / static_cast<double>(to), s = std::max(scale, 1.0);
  const double reach = (bicubic ? 2 : 1) * s;
  std::vector<std::pair<std::int64_t, std::vector<double>>> taps;
  double greatest = 0;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto low = std::max<std::int64_t>(static_cast<std::int64_t>(center - reach + 0.5), 0);
    const auto high = std::min<std::int64_t>(static_cast<std::int64_t>(center + reach + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = low; j < high; ++j) {
      weights.push_back(kernel_at(bicubic, (static_cast<double>(j) - center + 0.5) / s));
      sum += weights.back();
    }
    for (double& weight : weights) greatest = std::max(greatest, weight /= sum);
    taps.emplace_back(low, weights);
  }
  int bits = 0;
  while (bits < 22 && std::floor(0.5 + greatest * std::ldexp(1, bits + 1)) < 32768) ++bits;
  Tensor out = at::empty({rows.size(0), to}, at::kByte);
  const auto in = rows.accessor<std::uint8_t, 2>();
  auto values = out.accessor<std::uint8_t, 2>();
  for (std::int64_t r = 0; r < rows.size(0); ++r) {
    for (std::int64_t i = 0; i < to; ++i) {
      const auto& [low, weights] = taps[static_cast<std::size_t>(i)];
      std::int64_t sum = std::int64_t{1} << (bits - 1);
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const double weight = std::ldexp(weights[j], bits);
        sum += static_cast<std::int64_t>(weight < 0 ? weight - 0.5 : weight + 0.5) *
               in[r][low + static_cast<std::int64_t>(j)];
      }
      values[r][i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> bits, 0, 255));
    }
  }
  return out;
}

Tensor plain(const Tensor& image, const Extent& extent, bool bicubic) {
  const Tensor wide = plain_pass(image.reshape({-1, image.size(2)}), extent[1], bicubic)
                          .view({image.size(0), image.size(1), extent[1]});
  const Tensor turned = wide.transpose(1, 2).contiguous();
  return plain_pass(turned.view({-1, turned.size(2)}), extent[0], bicubic)
      .view({image.size(0), extent[1], extent[0]})
      .transpose(1, 2)
      .contiguous();
}

std::int64_t most_apart(const Tensor& a, const Tensor& b) {
  return (a.to(at::kLong) - b.to(at::kLong)).abs().max().item<std::int64_t>();
}

constexpr Extent kExtents[] = {{32, 32}, {96, 30}, {113, 60}, {40, 97}, {200, 150}};

TEST(TensorResize, IsThePlainDefinitionOfAten) {
  for (const int channels : {1, 3}) {
    const Tensor image = tensor_of(pattern(113, 97, channels));
    for (const Extent& extent : kExtents) {
      for (const bool bicubic : {false, true}) {
        const Tensor out = resized_antialias(image, extent, bicubic ? "bicubic" : "bilinear");
        EXPECT_LE(most_apart(out, plain(image, extent, bicubic)), 1)
            << extent[0] << " x " << extent[1] << (bicubic ? " bicubic" : " bilinear");
        EXPECT_TRUE(out.is_contiguous());
      }
    }
  }
}

TEST(TensorResize, IsNearPillowsAndFarFromResizingWithoutAntialiasing) {
  const Image image = pattern(113, 97, 3);
  for (const bool bicubic : {false, true}) {
    const Tensor out = resized_antialias(tensor_of(image), {32, 32}, bicubic ? "bicubic" : "bilinear");
    EXPECT_LE(most_apart(out, tensor_of(resize(image, 32, 32, bicubic ? Filter::kBicubic : Filter::kBilinear))), 2);
    const Tensor without =
        resized(tensor_of(image).unsqueeze(0).to(at::kFloat), {32, 32}, bicubic ? "bicubic" : "bilinear");
    EXPECT_GT(most_apart(out, without.squeeze(0).round().clamp(0, 255)), 20);
  }
}

TEST(TensorResize, TheOrderOfPixelsInMemoryDoesNotMatter) {
  const Tensor planes = tensor_of(pattern(60, 50, 3));
  const Tensor interleaved = planes.permute({1, 2, 0}).contiguous().permute({2, 0, 1});
  EXPECT_TRUE(
      resized_antialias(planes, {31, 29}, "bicubic").equal(resized_antialias(interleaved, {31, 29}, "bicubic")));
}

TEST(TensorResize, AnImageOfThatExtentComesBack) {
  const Tensor image = tensor_of(pattern(8, 9, 3));
  EXPECT_TRUE(resized_antialias(image, {8, 9}, "bilinear").equal(image));
}

TEST(TensorResize, RefusesWhatIsNoImageOfBytes) {
  const Tensor image = tensor_of(pattern(8, 9, 3));
  EXPECT_THROW(resized_antialias(image, {4, 4}, "lanczos"), std::invalid_argument);
  EXPECT_THROW(resized_antialias(image, {0, 4}, "bilinear"), std::invalid_argument);
  EXPECT_THROW(resized_antialias(image.to(at::kFloat), {4, 4}, "bilinear"), std::invalid_argument);
  EXPECT_THROW(resized_antialias(image[0], {4, 4}, "bilinear"), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
