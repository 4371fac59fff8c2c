// Inputs, held to the evaluation pipelines of the papers written out in plain arithmetic.
#include "engine/inputs/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/draws.h"
#include "engine/inputs/fitting.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

const Normalization kOwn{{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}};

std::shared_ptr<const Input> input_of(const std::string& id, const Json& options, Json facts = {{"channels", 3}}) {
  const InputItem& item = input_item(id);
  return item.make({facts, facts.at("channels") == 3 ? kOwn : Normalization{{0.5}, {0.25}}},
                   Options(item.item.json(), options));
}

Tensor drawn_image(std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  return RandomStreams(9).uniform("test", "image", 0, {channels, rows, columns}, 0, 256).to(at::kByte);
}

Tensor through(const Transforms& transforms, const Tensor& image) {
  const RandomStreams random(0);
  const StreamDraws draws(random, 0, 0);
  Sample sample{{kImage, image}};
  for (const auto& step : transforms) sample = step->apply(std::move(sample), draws);
  return sample.at(kImage);
}

// Pillow's bicubic resize of one row of bytes, as it is published: taps in double, rounded to 2^-22, sums rounded to bytes.
std::vector<int> resized_row(const std::vector<int>& from, std::int64_t to) {
  const auto keys = [](double x) {
    x = std::abs(x);
    if (x < 1) return ((-0.5 + 2) * x - (-0.5 + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0.0;
  };
  const auto count = static_cast<std::int64_t>(from.size());
  if (count == to) return from;
  const double scale = static_cast<double>(count) / static_cast<double>(to), wide = std::max(scale, 1.0);
  std::vector<int> out;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto low = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - 2 * wide + 0.5));
    const auto high = std::min<std::int64_t>(count, static_cast<std::int64_t>(center + 2 * wide + 0.5));
    double sum = 0;
    for (std::int64_t j = low; j < high; ++j) sum += keys((static_cast<double>(j) - center + 0.5) / wide);
    std::int64_t total = std::int64_t{1} << 21;
    for (std::int64_t j = low; j < high; ++j) {
      const double weight = keys((static_cast<double>(j) - center + 0.5) / wide) / sum * (1 << 22);
      total += static_cast<std::int64_t>(weight + (weight < 0 ? -0.5 : 0.5)) * from[static_cast<std::size_t>(j)];
    }
    out.push_back(static_cast<int>(std::clamp<std::int64_t>(total >> 22, 0, 255)));
  }
  return out;
}

using Plane = std::vector<std::vector<int>>;  // rows of pixels

Plane turned(const Plane& plane) {
  Plane out(plane[0].size(), std::vector<int>(plane.size()));
  for (std::size_t y = 0; y < plane.size(); ++y) {
    for (std::size_t x = 0; x < plane[0].size(); ++x) out[x][y] = plane[y][x];
  }
  return out;
}

Plane plane_of(const Tensor& image, std::int64_t channel) {
  Plane out;
  for (std::int64_t y = 0; y < image.size(1); ++y) {
    out.emplace_back();
    for (std::int64_t x = 0; x < image.size(2); ++x) out.back().push_back(image[channel][y][x].item<std::uint8_t>());
  }
  return out;
}

Plane resized_plane(Plane plane, std::int64_t height, std::int64_t width) {
  for (std::vector<int>& row : plane) row = resized_row(row, width);
  plane = turned(plane);
  for (std::vector<int>& column : plane) column = resized_row(column, height);
  return turned(plane);
}

std::int64_t half_even(std::int64_t difference) { return std::lrint(static_cast<double>(difference) / 2); }

// Resized to height x width, `side` pixels cut from the center, zeros where there are none.
void expect_pipeline(const Tensor& out, const Tensor& image, std::int64_t height, std::int64_t width,
                     std::int64_t side) {
  ASSERT_EQ(out.sizes(), (std::vector<std::int64_t>{image.size(0), side, side}));
  const std::int64_t above = std::max<std::int64_t>(0, side - height) / 2;
  const std::int64_t before = std::max<std::int64_t>(0, side - width) / 2;
  const std::int64_t top = half_even(std::max(height, side) - side), left = half_even(std::max(width, side) - side);
  for (std::int64_t c = 0; c < image.size(0); ++c) {
    const Plane plane = resized_plane(plane_of(image, c), height, width);
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) {
        const std::int64_t row = y + top - above, column = x + left - before;
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        const int expected = inside ? plane[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] : 0;
        ASSERT_EQ(out[c][y][x].item<std::uint8_t>(), expected) << c << " " << y << " " << x;
      }
    }
  }
}

struct Pipeline {
  const char* name;
  Json options;
  std::int64_t rows, columns;  // of the image
  std::int64_t height, width;  // before the crop, by the formula of the paper's code
};
void PrintTo(const Pipeline& pipeline, std::ostream* out) { *out << pipeline.name; }

class Pipelines : public ::testing::TestWithParam<Pipeline> {};

TEST_P(Pipelines, AreThoseOfThePapersToTheByte) {
  const Pipeline& pipeline = GetParam();
  Json options = {{"size", 28}};
  options.update(pipeline.options);
  const auto input = input_of("resized", options);
  const Tensor image = drawn_image(3, pipeline.rows, pipeline.columns);
  expect_pipeline(through(input->preparation(input->extent()), image), image, pipeline.height, pipeline.width, 28);
  const auto gray = input_of("resized", options, {{"channels", 1}});
  expect_pipeline(through(gray->view({}).transforms, image.slice(0, 0, 1)), image.slice(0, 0, 1), pipeline.height,
                  pipeline.width, 28);
}

INSTANTIATE_TEST_SUITE_P(
    Papers, Pipelines,
    ::testing::Values(Pipeline{"DeiT", Json::object(), 37, 50, 32, 43},             // 32 * 50 / 37 = 43.2
                      Pipeline{"DeiTEnlarging", Json::object(), 20, 13, 49, 32},    // 32 * 20 / 13 = 49.2
                      Pipeline{"DeiTThree", {{"margin", "none"}}, 37, 50, 28, 37},  // 28 * 50 / 37 = 37.8
                      Pipeline{"ASG", {{"margin", "1.143x"}}, 50, 37, 43, 32},      // trunc(32.004)
                      Pipeline{"PaPE", {{"resize", "both"}}, 29, 41, 32, 45},       // 41 * (32 / 29) = 45.2
                      Pipeline{"VTAB", {{"resize", "stretch"}, {"margin", "none"}}, 37, 50, 28, 28},
                      Pipeline{"RMT", {{"margin", "256/224-up-to-224"}}, 37, 50, 32, 43}),
    [](const auto& pipeline) { return std::string(pipeline.param.name); });

// Both sides by one ratio may lose a pixel even of the shorter one.
TEST(ResizedExtent, CutsToWholePixelsAsThePublishedCodeDoes) {
  EXPECT_EQ(resized_extent({375, 500}, {.resize = "shorter", .size = {256, 256}}), (Extent{256, 341}));
  EXPECT_EQ(resized_extent({500, 203}, {.resize = "shorter", .size = {438, 438}}), (Extent{1078, 438}));
  EXPECT_EQ(resized_extent({203, 500}, {.resize = "both", .size = {438, 438}}), (Extent{437, 1078}));
  EXPECT_EQ(resized_extent({203, 500}, {.resize = "stretch", .size = {224, 192}}), (Extent{224, 192}));
}

TEST(Resized, TakesItsMarginFromTheResolutionOfAnEvaluation) {
  const Tensor image = drawn_image(3, 40, 40);
  const auto rmt = input_of("resized", {{"size", 224}, {"margin", "256/224-up-to-224"}});
  EXPECT_TRUE(at::equal(through(rmt->view({.resolution = 256}).transforms, image),
                        through({fitting({.size = {256, 256}, .crop = {256, 256}})}, image)))
      << "no margin above 224";
  EXPECT_TRUE(at::equal(through(rmt->view({.resolution = 112}).transforms, image),
                        through({fitting({.size = {128, 128}, .crop = {112, 112}})}, image)));
  EXPECT_EQ(rmt->view({.resolution = 112}).view.extent, (Extent{112, 112}));
  EXPECT_EQ(rmt->view({}).view.extent, (Extent{224, 224})) << "that of training where none is asked for";
}

TEST(Resized, NormalizesAsItIsTold) {
  const Tensor image = drawn_image(3, 8, 8);
  const auto pixel = [&](const char* normalization) {
    const auto input = input_of("resized", {{"size", 8}, {"margin", "none"}, {"normalization", normalization}});
    return normalized(through(input->preparation({8, 8}), image), input->normalization(), at::kCPU)[1][3][5]
        .item<float>();
  };
  const auto byte = static_cast<float>(image[1][3][5].item<std::uint8_t>());
  EXPECT_EQ(pixel("dataset"), (byte / 255 - 0.2f) / 0.5f);
  EXPECT_EQ(pixel("imagenet"), (byte / 255 - 0.456f) / 0.224f);
  EXPECT_EQ(pixel("half"), (byte / 255 - 0.5f) / 0.5f);
  EXPECT_EQ(pixel("none"), byte / 255);
  EXPECT_THROW(input_of("resized", {{"normalization", "imagenet"}}, {{"channels", 1}}), std::invalid_argument);
}

TEST(Resized, ByTheTensorMethodStaysWithinTwoGrayLevelsOfPillows) {
  const Tensor image = drawn_image(3, 60, 45);
  for (const char* interpolation : {"bilinear", "bicubic"}) {
    const auto out = [&](const char* method) {
      const auto input = input_of("resized", {{"size", 28}, {"method", method}, {"interpolation", interpolation}});
      return through(input->preparation({28, 28}), image).to(at::kInt);
    };
    EXPECT_LE((out("pillow") - out("tensor")).abs().max().item<int>(), 2) << interpolation;
  }
}

TEST(Resized, RefusesWhatNoResizerDoes) {
  const auto refusal = [](const Json& options) -> std::string {
    try {
      input_of("resized", options)->preparation({8, 8});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({{"method", "tensor"}, {"interpolation", "lanczos"}}), HasSubstr("bilinear or bicubic"));
  EXPECT_THAT(refusal({{"margin", "1.2"}}), HasSubstr("no margin '1.2'"));
  EXPECT_THAT(refusal({{"resize", "longer"}}), HasSubstr("no resizing 'longer'"));
  EXPECT_THROW(input_of("resized", {})->view({.resolution = 8, .resize = "pillow"}), std::invalid_argument);
}

const Json kImages = {{"channels", 3}, {"extent", {20, 30}}};

TEST(Native, LeavesTrainingImagesAloneAndKeepsTheirShapeElsewhere) {
  const auto input = input_of("native", Json::object(), kImages);
  EXPECT_EQ(input->extent(), (Extent{20, 30}));
  EXPECT_EQ(input->normalization().mean, kOwn.mean);
  EXPECT_TRUE(input->preparation(input->extent()).empty());
  EXPECT_TRUE(input->sizes().empty());
  EXPECT_EQ(input->view({}).view.extent, (Extent{0, 0}));
  const InputView plain = input->view({40, "plain", "bicubic"});
  EXPECT_EQ(plain.view.extent, (Extent{40, 60}));
  EXPECT_EQ(plain.view.interpolation, "bicubic");
  EXPECT_TRUE(plain.transforms.empty());
}

TEST(Native, ResizesBytesWithAntialiasingWhereAsked) {
  const auto input = input_of("native", Json::object(), kImages);
  const Tensor image = drawn_image(3, 20, 30);
  const InputView pillow = input->view({10, "pillow", "bicubic"});
  EXPECT_EQ(pillow.view.extent, (Extent{10, 15}));
  const Tensor out = through(pillow.transforms, image);
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(plane_of(out, c), resized_plane(plane_of(image, c), 10, 15));
  EXPECT_EQ(through(input->view({10, "tensor", "bilinear"}).transforms, image).size(2), 15);
  EXPECT_TRUE(input->view({20, "pillow", "bicubic"}).transforms.empty()) << "they have that size";
}

TEST(Native, IsNotForImagesOfDifferentSizes) {
  try {
    input_of("native", Json::object());
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("write input: resized"));
  }
}

// Whatever an input makes of an image it promises the bytes of.
TEST(Fitting, TakesWhatItPromises) {
  for (const Extent own : {Extent{7, 9}, Extent{60, 40}, Extent{31, 31}}) {
    const auto step = fitting({.size = {32, 32}, .crop = {28, 28}});
    const Tensor image = drawn_image(3, own[0], own[1]);
    EXPECT_LE(through({step}, image).nbytes(), static_cast<std::size_t>(step->bytes(image.numel())));
  }
}

TEST(InputFacts, HaveTheExtentThatTheModelIsGiven) {
  const Json native = {{"dataset", {{"id", "fashion-mnist"}}}};
  EXPECT_EQ(input_facts(native).at("extent"), (Json{28, 28}));
  Json resized = native;
  resized["input"] = {{"id", "resized"}, {"options", {{"size", 64}}}};
  EXPECT_EQ(input_facts(resized).at("extent"), (Json{64, 64}));
  EXPECT_EQ(input_facts(resized).at("classes"), 10);
  EXPECT_EQ(make_input(resized, {{0.5}, {0.5}})->extent(), (Extent{64, 64}));
}

// A specification's `size` is what plans take for the extent (facts.extent).
TEST(InputItems, SayWhichOptionIsTheExtent) {
  for (const InputItem& item : input_items()) {
    const Json facts = item.item.json().value("facts", Json::object());
    if (!facts.contains("extent")) continue;
    const auto option = facts.at("extent").at("option").get<std::string>();
    const auto input = input_of(item.id(), {{option, 48}});
    EXPECT_EQ(input->extent(), (Extent{48, 48})) << item.id();
  }
}

}  // namespace
}  // namespace locus::engine
