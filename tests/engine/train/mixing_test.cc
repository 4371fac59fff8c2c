// Mixup and CutMix: the published boxes and targets, the draws by name, and a plain definition pixel by pixel.
#include "engine/train/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace locus::engine {
namespace {

using Mode = MixingSettings::Mode;

// Numbers that a test writes down; every element gets its own.
class Written final : public MixDraws {
 public:
  std::map<std::string, std::vector<double>, std::less<>> numbers;
  double unit(std::string_view name, std::int64_t element) const override { return at(name, element); }
  double beta(std::string_view name, std::int64_t element, double) const override { return at(name, element); }

 private:
  double at(std::string_view name, std::int64_t element) const {
    const auto& row = numbers.find(name)->second;
    return row.at(static_cast<std::size_t>(element) % row.size());
  }
};

Written written(double kind, double lambda, double y, double x) {
  Written out;
  out.numbers = {
      {"mix.apply", {0}}, {"mix.kind", {kind}}, {"mix.lambda", {lambda}}, {"mix.cut.y", {y}}, {"mix.cut.x", {x}}};
  return out;
}

TEST(CutMix, CutsTheBoxesOfTimm) {
  const Mix corner = draw_mixes({}, written(0, 0.3, 0, 0), 2, 224, 224)[0];
  EXPECT_TRUE(corner.cut);
  EXPECT_EQ(std::tuple(corner.top, corner.bottom, corner.left, corner.right), std::tuple(0, 93, 0, 93));
  EXPECT_NEAR(corner.share, 0.827627, 1e-6);
  const Mix middle = draw_mixes({}, written(0, 0.5, 0.5, 0.5), 2, 224, 224)[0];
  EXPECT_EQ(std::tuple(middle.top, middle.bottom, middle.left, middle.right), std::tuple(33, 191, 33, 191));
  EXPECT_NEAR(middle.share, 0.502471, 1e-6);
}

TEST(CutMix, KeepsAnOddExtentWhereTimmDoesNow) {
  // sqrt(1 - 0.3) 224 = 187
  const Mix old = draw_mixes({}, written(0, 0.3, 0.5, 0.5), 2, 224, 224)[0];
  const Mix now = draw_mixes({.odd_boxes = true}, written(0, 0.3, 0.5, 0.5), 2, 224, 224)[0];
  EXPECT_EQ(old.bottom - old.top, 186);
  EXPECT_EQ(now.bottom - now.top, 187);
}

TEST(CutMix, CutsTheBoxesOfTorchvision) {
  const Mix mix = draw_mixes({.torchvision = true}, written(0, 0.3, 0.5, 0.25), 2, 224, 160)[0];
  const double r = std::sqrt(0.7) / 2;
  const auto rows = static_cast<std::int64_t>(r * 224), columns = static_cast<std::int64_t>(r * 160);
  EXPECT_EQ(std::tuple(mix.top, mix.bottom), std::tuple(112 - rows, 112 + rows));
  EXPECT_EQ(std::tuple(mix.left, mix.right), std::tuple(std::max<std::int64_t>(40 - columns, 0), 40 + columns));
}

// The first four mixes of seed 7: mixup, mixup, cutmix, cutmix.
TEST(StreamMixDraws, AreFunctionsOfSeedStepAndName) {
  const RandomStreams random(7);
  const double lambda[] = {0.998008, 0.109061, 0.986127, 0.424608};
  for (std::int64_t step = 0; step < 4; ++step) {
    const StreamMixDraws draws(random, step);
    const bool cut = draws.unit("mix.kind", 0) < 0.5;
    EXPECT_EQ(cut, step >= 2);
    EXPECT_NEAR(draws.beta("mix.lambda", 0, cut ? 1.0 : 0.8), lambda[step], 1e-6);
    const auto mixes = draw_mixes({}, draws, 6, 224, 224);
    EXPECT_EQ(mixes[0].cut, cut);
    if (step == 3) {  // the center is (223, 212)
      EXPECT_EQ(mixes[0].bottom, 224);
      EXPECT_EQ(mixes[0].top, 223 - static_cast<std::int64_t>(224 * std::sqrt(1 - 0.42460797)) / 2);
    }
  }
}

TEST(StreamMixDraws, HaveTheMomentsOfTheBetaDistribution) {
  const RandomStreams random(11);
  for (const double a : {0.2, 0.8, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    constexpr int kCount = 4000;
    for (int step = 0; step < kCount; ++step) {
      const double x = StreamMixDraws(random, step).beta("mix.lambda", 0, a);
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1 / (4 * (2 * a + 1));
    EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(variance / kCount)) << a;
    EXPECT_NEAR(squares / kCount, variance, 0.1 * variance) << a;
  }
}

// Of one image: what each pixel and target is by the formulas.
void expect_mixed(const Tensor& images, const Tensor& mixed, const Mix& mix, std::int64_t i) {
  const auto from = images.accessor<double, 4>(), to = mixed.accessor<double, 4>();
  for (std::int64_t c = 0; c < images.size(1); ++c) {
    for (std::int64_t y = 0; y < images.size(2); ++y) {
      for (std::int64_t x = 0; x < images.size(3); ++x) {
        const bool inside = y >= mix.top && y < mix.bottom && x >= mix.left && x < mix.right;
        const double own = from[i][c][y][x], other = from[mix.partner][c][y][x];
        const double expected = mix.cut ? (inside ? other : own) : own * mix.share + other * (1 - mix.share);
        EXPECT_NEAR(to[i][c][y][x], expected, 1e-15) << i << " " << y << " " << x;
      }
    }
  }
}

Tensor some_images(std::int64_t count) {
  return RandomStreams(1).normal("test", "image", 0, {count, 2, 6, 5}).to(at::kDouble);
}

TEST(MixedImages, FollowTheFormulasPixelByPixel) {
  const Tensor images = some_images(12), before = images.clone();
  const RandomStreams random(4);
  bool cut = false, blended = false;
  for (const bool torchvision : {false, true}) {
    for (const Mode mode : {Mode::kBatch, Mode::kElement, Mode::kPair}) {
      for (std::int64_t step = 0; step < 4; ++step) {
        const auto mixes = draw_mixes({.torchvision = torchvision, .mode = mode, .probability = 0.7},
                                      StreamMixDraws(random, step), 12, 6, 5);
        const Tensor mixed = mixed_images(images, mixes);
        for (std::int64_t i = 0; i < 12; ++i) {
          const Mix& mix = mixes[static_cast<std::size_t>(i)];
          expect_mixed(images, mixed, mix, i);
          cut = cut || mix.cut;
          blended = blended || (!mix.cut && mix.share != 1);
        }
      }
    }
  }
  EXPECT_TRUE(cut && blended);
  EXPECT_TRUE(at::equal(images, before)) << "the images that were given stay as they are";
}

TEST(MixedTargets, ShareTheLabelsAndSmoothThem) {
  std::vector<Mix> mixes(4);
  for (std::int64_t i = 0; i < 4; ++i)
    mixes[static_cast<std::size_t>(i)] = {.partner = 3 - i, .share = 0.25 * double(i)};
  const Tensor labels = at::tensor({0, 2, 2, 4}, at::kLong);
  const Tensor targets = mixed_targets(labels, 5, 0.1, mixes);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t c = 0; c < 5; ++c) {
      const auto one = [&](std::int64_t of) { return 0.1 / 5 + (labels[of].item<std::int64_t>() == c ? 0.9 : 0); };
      const double share = 0.25 * static_cast<double>(i);
      EXPECT_NEAR(targets[i][c].item<double>(), share * one(i) + (1 - share) * one(3 - i), 1e-6) << i << " " << c;
    }
    EXPECT_NEAR(targets[i].sum().item<double>(), 1, 1e-6);
  }
}

TEST(DrawMixes, PairsFirstAndLastOfAChunkOrNeighborsInARing) {
  Written draws = written(0.9, 0.5, 0, 0);
  draws.numbers["mix.lambda"] = {0.1, 0.2, 0.3};
  const auto consecutive = draw_mixes({.chunk = 4}, draws, 12, 8, 8);
  EXPECT_EQ(consecutive[0].partner, 3);
  EXPECT_EQ(consecutive[5].partner, 6);
  EXPECT_EQ(consecutive[3].share, 0.1);
  EXPECT_EQ(consecutive[4].share, 0.2);
  const auto strided = draw_mixes({.chunk = 4, .strided = true}, draws, 12, 8, 8);
  EXPECT_EQ(strided[0].partner, 9);
  EXPECT_EQ(strided[4].partner, 7) << "4 and 7 are the second and third of chunk 1";
  EXPECT_EQ(strided[4].share, 0.2);
  const auto ring = draw_mixes({.torchvision = true}, draws, 12, 8, 8);
  EXPECT_EQ(ring[0].partner, 11);
  EXPECT_EQ(ring[5].partner, 4);
}

TEST(DrawMixes, SharesADrawByMode) {
  Written draws = written(0.9, 0, 0, 0);
  draws.numbers["mix.lambda"] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  const auto elements = draw_mixes({.mode = Mode::kElement}, draws, 6, 8, 8);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(elements[i].share, draws.numbers["mix.lambda"][i]);
  const auto pairs = draw_mixes({.mode = Mode::kPair}, draws, 6, 8, 8);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pairs[i].share, draws.numbers["mix.lambda"][i]);
    EXPECT_EQ(pairs[5 - i].share, pairs[i].share);
  }
}

TEST(DrawMixes, TakesChunksOf256WhereTimmHadThem) {
  const RandomStreams random(5);
  const StreamMixDraws draws(random, 0);
  const auto mixes = draw_mixes({}, draws, 512, 4, 4);
  EXPECT_EQ(mixes[0].partner, 255);
  EXPECT_EQ(mixes[256].partner, 511);
  EXPECT_NE(mixes[0].share, mixes[256].share);
  EXPECT_EQ(draw_mixes({}, draws, 510, 4, 4)[0].partner, 509);
}

TEST(DrawMixes, RefusesWhatDoesNotPair) {
  const Written draws = written(0.9, 0.5, 0, 0);
  EXPECT_THROW(draw_mixes({}, draws, 5, 8, 8), std::invalid_argument);
  EXPECT_THROW(draw_mixes({.chunk = 4}, draws, 10, 8, 8), std::invalid_argument);
  EXPECT_NO_THROW(draw_mixes({.torchvision = true}, draws, 5, 8, 8));
}

TEST(DrawMixes, LeavesImagesAloneWhereTheDrawSaysSo) {
  Written draws = written(0.9, 0.5, 0, 0);
  draws.numbers["mix.apply"] = {0.4};
  EXPECT_EQ(draw_mixes({.probability = 0.4}, draws, 2, 8, 8)[0].share, 1);
  EXPECT_EQ(draw_mixes({.probability = 0.5}, draws, 2, 8, 8)[0].share, 0.5);
  const Tensor images = some_images(2);
  EXPECT_TRUE(mixed_images(images, draw_mixes({.probability = 0.4}, draws, 2, 6, 5)).is_same(images));
}

}  // namespace
}  // namespace locus::engine
