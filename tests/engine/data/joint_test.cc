// Images and what belongs to their pixels, changed together.
#include "engine/data/joint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/failure.h"
#include "engine/base/random.h"
#include "tests/engine/data/painted.h"

namespace locus::engine {
namespace {

using test::painted;
using ::testing::HasSubstr;

std::vector<float> numbers(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// Adaptive average pooling and half-pixel bilinear interpolation of known depth, pixel by pixel as the definition has it.
float plain_depth(const Tensor& depth, const ImageSize& to, int y, int x, double least) {
  const auto height = depth.size(0), width = depth.size(1);
  const bool average = to.height <= height && to.width <= width;
  double sum = 0, known = 0;
  const auto add = [&](std::int64_t row, std::int64_t column, double weight) {
    const float value = depth[row][column].item<float>();
    if (!std::isfinite(value) || value <= 0) return;
    sum += weight * value;
    known += weight;
  };
  if (average) {
    const auto first = [](int i, std::int64_t from, int out) { return i * from / out; };
    const auto last = [](int i, std::int64_t from, int out) {
      return static_cast<std::int64_t>(std::ceil((i + 1.0) * static_cast<double>(from) / out));
    };
    const auto rows = last(y, height, to.height) - first(y, height, to.height);
    const auto columns = last(x, width, to.width) - first(x, width, to.width);
    for (std::int64_t row = first(y, height, to.height); row < last(y, height, to.height); ++row) {
      for (std::int64_t column = first(x, width, to.width); column < last(x, width, to.width); ++column)
        add(row, column, 1.0 / static_cast<double>(rows * columns));
    }
  } else {
    const double row = std::max(0.0, (y + 0.5) * static_cast<double>(height) / to.height - 0.5);
    const double column = std::max(0.0, (x + 0.5) * static_cast<double>(width) / to.width - 0.5);
    for (int dy = 0; dy < 2; ++dy) {
      for (int dx = 0; dx < 2; ++dx) {
        const double down = row - std::floor(row), across = column - std::floor(column);
        add(std::min<std::int64_t>(static_cast<std::int64_t>(row) + dy, height - 1),
            std::min<std::int64_t>(static_cast<std::int64_t>(column) + dx, width - 1),
            (dy == 1 ? down : 1 - down) * (dx == 1 ? across : 1 - across));
      }
    }
  }
  return known > least ? static_cast<float>(sum / (known + 1e-6)) : 0.0f;
}

TEST(DepthWindow, IsTheDefinition) {
  Tensor depth = RandomStreams(3).uniform("test", "depth", 0, {13, 17}, 0.5, 20);
  depth[2][3] = 0;
  depth[4][4] = std::nan("");
  depth[4][5] = std::numeric_limits<float>::infinity();
  depth.slice(0, 8, 13).slice(1, 9, 17).zero_();
  for (const ImageSize to : {ImageSize{5, 7}, ImageSize{13, 6}, ImageSize{20, 31}, ImageSize{20, 9}}) {
    for (const double least : {0.01, 0.1, 0.6}) {
      const Tensor out = depth_window(depth, to, {1, 2, to.height - 2, to.width - 3}, least);
      for (int y = 0; y < to.height - 2; ++y) {
        for (int x = 0; x < to.width - 3; ++x)
          EXPECT_NEAR(out[y][x].item<float>(), plain_depth(depth, to, y + 1, x + 2, least), 2e-5);
      }
    }
  }
}

// Pooling 7 -> 3 covers rows 0-2, 2-4, 4-6.
TEST(DepthWindow, AveragesOverCellsThatMayOverlap) {
  const Tensor rows = at::arange(1, 8, at::kFloat).view({7, 1});
  const std::vector<float> out = numbers(depth_window(rows, {3, 1}, {0, 0, 3, 1}, 0.1));
  EXPECT_NEAR(out[0], 2, 1e-5);
  EXPECT_NEAR(out[1], 4, 1e-5);
  EXPECT_NEAR(out[2], 6, 1e-5);
}

TEST(DepthWindow, DropsWhatIsMostlyUnknown) {
  const Tensor row = at::tensor({4.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 8.0f}).view({1, 8});
  const std::vector<float> most = numbers(depth_window(row, {1, 2}, {0, 0, 1, 2}, 0.1));
  EXPECT_NEAR(most[0], 4, 1e-4) << "the mean of what is known";
  EXPECT_NEAR(most[1], 8, 1e-4);
  EXPECT_EQ(numbers(depth_window(row, {1, 2}, {0, 0, 1, 2}, 0.25))[0], 0) << "a quarter is not more than a quarter";
}

// Every tensor of a painted sample says where its pixels come from.
TEST(Joint, KeepsEveryPixelBesideItsMaskAndDepth) {
  const ImageSize own{60, 90};
  for (const ImageSize size : {ImageSize{60, 90}, ImageSize{47, 61}, ImageSize{100, 131}}) {
    for (const std::optional<Filter> filter : {std::optional<Filter>(), std::optional(Filter::kBicubic)}) {
      for (const bool turned : {false, true}) {
        Sample out = zoomed(painted(own), {size, {5, 7, 30, 40}}, {.filter = filter});
        if (turned) out = mirrored(std::move(out));
        test::expect_aligned(out, static_cast<double>(size.height) / own.height);
      }
    }
  }
}

TEST(Joint, LeavesTheTensorsItWasGivenAlone) {
  const Sample before = painted({20, 30});
  Sample copy;
  for (const auto& [name, tensor] : before) copy.emplace(name, tensor.clone());
  static_cast<void>(padded(mirrored(zoomed(before, {{10, 15}, {0, 0, 8, 8}}, {})), {12, 12}, std::vector<double>(3)));
  for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, copy.at(name))) << name;
}

Sample with_boxes() {
  Sample out = painted({40, 60});
  out[kBoxes] =
      at::tensor({10.0, 5.0, 20.0, 15.0, 50.0, 30.0, 60.0, 40.0, 0.0, 0.0, 60.0, 40.0}, at::kDouble).view({3, 4});
  out[kBoxClasses] = at::tensor({7, 8, 9}, at::kLong);
  Tensor instances = at::zeros({3, 40, 60}, at::kByte);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor box = out[kBoxes][i].to(at::kLong);
    instances[i]
        .slice(0, box[1].item<std::int64_t>(), box[3].item<std::int64_t>())
        .slice(1, box[0].item<std::int64_t>(), box[2].item<std::int64_t>())
        .fill_(1);
  }
  out[kInstances] = instances;
  return out;
}

void expect_boxes(const Sample& sample, const std::vector<double>& expected) {
  const Tensor wanted = at::tensor(expected, at::kDouble).view({-1, 4});
  EXPECT_TRUE(at::allclose(sample.at(kBoxes), wanted, 0, 1e-12)) << sample.at(kBoxes);
}

TEST(Joint, BoxesAreScaledByTheRatioOfEachAxisAndCut) {
  const Sample out = zoomed(with_boxes(), {{80, 90}, {0, 15, 50, 60}}, {});
  expect_boxes(out, {0, 10, 15, 30, 0, 0, 60, 50});
  EXPECT_TRUE(at::equal(out.at(kBoxClasses), at::tensor({7, 9}, at::kLong))) << "the second lies outside";
  ASSERT_EQ(out.at(kInstances).sizes(), (at::IntArrayRef{2, 50, 60}));
  EXPECT_EQ(out.at(kInstances)[0].sum().item<std::int64_t>(), 15 * 20);
}

TEST(Joint, MirroredTwiceIsTheSame) {
  const Sample before = with_boxes(), once = mirrored(before), twice = mirrored(once);
  expect_boxes(once, {40, 5, 50, 15, 0, 30, 10, 40, 0, 0, 60, 40});
  for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, twice.at(name))) << name;
}

TEST(Joint, PaddingIsIgnoredUnknownAndOfTheFill) {
  const Sample out = padded(with_boxes(), {50, 64}, std::vector<double>{1, 2, 3});
  EXPECT_EQ(joint_size(out), (ImageSize{50, 64}));
  EXPECT_EQ(out.at(kMask)[45][10].item<int>(), kIgnored);
  EXPECT_EQ(out.at(kDepth)[10][62].item<float>(), 0);
  EXPECT_EQ(out.at(kInstances)[2][45][10].item<int>(), 0);
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(out.at(kImage)[c][49][63].item<int>(), c + 1);
  EXPECT_TRUE(at::equal(cropped(out, {0, 0, 40, 60}).at(kImage), with_boxes().at(kImage)));
}

TEST(Joint, ARefusalNamesTheTensorThatDoesNotFit) {
  const auto refusal = [](const char* name, const Tensor& tensor) -> std::string {
    Sample sample = painted({20, 30});
    sample[name] = tensor;
    try {
      joint_size(sample);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(kMask, at::zeros({20, 31}, at::kByte)),
              HasSubstr("the mask has 20 x 31 pixels and its image 20 x 30"));
  EXPECT_THAT(refusal(kDepth, at::zeros({20, 30}, at::kDouble)), HasSubstr("'depth'"));
  EXPECT_THAT(refusal(kBoxClasses, at::zeros({2}, at::kLong)), HasSubstr("'boxes.class'"));
  EXPECT_THROW(refuse_targets(painted({4, 4}), "this", "that"), std::invalid_argument);
  EXPECT_NO_THROW(refuse_targets({{kImage, at::zeros({3, 4, 4}, at::kByte)}}, "this", "that"));
}

}  // namespace
}  // namespace locus::engine
