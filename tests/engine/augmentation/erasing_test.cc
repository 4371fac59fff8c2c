// What is erased, and what takes its place.
#include "engine/augmentation/erasing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/augmentation/given_draws.h"

namespace locus::engine {
namespace {

using test::WrittenDraws;

struct Erased {
  std::int64_t top, left, height, width;
};

// Of one box of several, by the definition: the first try whose sides are less than the image's.
std::vector<Erased> second_definition(std::int64_t height, std::int64_t width, std::int64_t most,
                                      const SampleDraws& draws) {
  std::vector<Erased> out;
  const auto whole = [](double u, std::int64_t last) {
    return static_cast<std::int64_t>(std::floor(u * static_cast<double>(last + 1)));
  };
  const std::int64_t count = most == 1 ? 1 : 1 + whole(draws.unit("erase.count"), most - 1);
  for (std::int64_t j = 0; j < count; ++j) {
    const std::string box = "erase." + std::to_string(j);
    for (std::uint32_t attempt = 0; attempt < 10; ++attempt) {
      const double share = 0.02 + (1.0 / 3 - 0.02) * draws.unit(box + ".area", attempt);
      const double area = share * static_cast<double>(height) * static_cast<double>(width) / static_cast<double>(count);
      const double ratio =
          std::exp(std::log(0.3) + (std::log(1 / 0.3) - std::log(0.3)) * draws.unit(box + ".ratio", attempt));
      const std::int64_t rows = std::lrint(std::sqrt(area * ratio)), columns = std::lrint(std::sqrt(area / ratio));
      if (rows >= height || columns >= width) continue;
      out.push_back({whole(draws.unit(box + ".top", attempt), height - rows),
                     whole(draws.unit(box + ".left", attempt), width - columns), rows, columns});
      break;
    }
  }
  return out;
}

TEST(Erasing, PutsNoiseWhereItsDefinitionSays) {
  const RandomStreams random(3);
  const Tensor image = at::arange(3 * 20 * 30, at::kFloat).view({3, 20, 30});
  std::int64_t changed = 0;
  for (const std::int64_t most : {1, 4}) {
    for (std::int64_t row = 0; row < 100; ++row) {
      const StreamDraws draws(random, 2, row);
      const Tensor out = erased(image, {.probability = 0.25, .most = most}, draws);
      Tensor expected = image.clone();
      if (draws.unit("erase.apply") <= 0.25) {
        ++changed;
        const Tensor noise = draws.normals("erase.noise", {3, 20, 30});
        for (const Erased& box : second_definition(20, 30, most, draws)) {
          const auto part = [&](const Tensor& of) {
            return of.slice(1, box.top, box.top + box.height).slice(2, box.left, box.left + box.width);
          };
          part(expected).copy_(part(noise));
        }
      }
      EXPECT_TRUE(at::equal(out, expected)) << most << ", row " << row;
    }
  }
  EXPECT_GT(changed, 30);
  EXPECT_LT(changed, 80);
  EXPECT_EQ(image[2][19][29].item<float>(), 3 * 20 * 30 - 1) << "the given image is left alone";
}

// A share of (0.02 + 1/3) / 2 and a square: sides of 4.2 of 10 pixels.
WrittenDraws one_box(std::vector<double> normals) {
  return WrittenDraws({{"erase.apply", {0.25}},
                       {"erase.0.area", {0.5}},
                       {"erase.0.ratio", {0.5}},
                       {"erase.0.top", {0.999}},
                       {"erase.0.left", {0}},
                       {"erase.0.color", normals}});
}

TEST(Erasing, PutsOneColorOrTheMean) {
  const Tensor image = at::full({3, 10, 10}, 5, at::kFloat);
  const Tensor color = erased(image, {.by = ErasedBy::kRandom}, one_box({-1, 0.5, 2}));
  const Tensor box = color.slice(1, 6, 10).slice(2, 0, 4);
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(box[c].min().item<double>(), std::vector<double>({-1, 0.5, 2})[static_cast<std::size_t>(c)]);
    EXPECT_EQ(box[c].max().item<double>(), box[c].min().item<double>());
  }
  EXPECT_EQ((color == 5).sum().item<std::int64_t>(), 3 * (100 - 16));
  const Tensor constant = erased(image, {.by = ErasedBy::kConstant}, one_box({}));
  EXPECT_EQ((constant == 0).sum().item<std::int64_t>(), 3 * 16);
}

TEST(Erasing, LeavesTheImageWhereItIsNotDrawnOrNoBoxFits) {
  const Tensor image = at::ones({1, 10, 10});
  EXPECT_TRUE(erased(image, {.probability = 0.25}, WrittenDraws({{"erase.apply", {0.2500001}}})).is_same(image));
  EXPECT_TRUE(erased(image, {.probability = 0}, WrittenDraws({})).is_same(image)) << "nothing is drawn";
  const WrittenDraws long_boxes({{"erase.apply", {0}},
                                 {"erase.0.area", std::vector<double>(10, 0.999)},
                                 {"erase.0.ratio", std::vector<double>(10, 0.999)}});
  EXPECT_TRUE(at::equal(erased(image, {}, long_boxes), image));
}

}  // namespace
}  // namespace locus::engine
