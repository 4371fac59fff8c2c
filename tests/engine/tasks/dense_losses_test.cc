// Losses and scores of maps against their definitions in scalar loops, values and gradients.
#include "engine/tasks/dense_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/random.h"
#include "engine/data/sample.h"
#include "engine/tasks/dense_scores.h"
#include "tests/engine/priors/reference/real.h"

namespace locus::engine {
namespace {

using test::Array;
using test::Real;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

Tensor drawn(const char* name, at::IntArrayRef shape, double deviation = 1) {
  return RandomStreams(1).normal("test", name, 0, shape, 0, deviation).to(at::kDouble);
}

Array as_variables(const Tensor& tensor) {
  Array out(tensor.sizes().vec());
  const Tensor flat = tensor.detach().contiguous().flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    out.data()[static_cast<std::size_t>(i)] = Real::variable(flat[i].item<double>());
  return out;
}

void expect_gradient(const Array& expected, const Tensor& found) {
  const Tensor flat = found.contiguous().flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    ASSERT_NEAR(expected.data()[static_cast<std::size_t>(i)].gradient(), flat[i].item<double>(), 1e-10) << i;
}

// --- cross-entropy of pixels -----------------------------------------------------------------------------------------

// Half-pixel bilinear, each source place weighing by its distance.
double weight_between(std::int64_t i, std::int64_t from, std::int64_t to, std::int64_t of) {
  double at = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
  at = std::min(std::max(at, 0.0), static_cast<double>(from - 1));
  return std::max(0.0, 1 - std::abs(at - static_cast<double>(of)));
}

Real plain_pixel_loss(const Array& logits, const Tensor& mask, bool all) {
  Real sum = 0.0;
  double labeled = 0;
  const std::int64_t rows = mask.size(1), columns = mask.size(2), classes = logits.size(1);
  for (std::int64_t b = 0; b < mask.size(0); ++b) {
    for (std::int64_t y = 0; y < rows; ++y) {
      for (std::int64_t x = 0; x < columns; ++x) {
        const auto label = mask[b][y][x].item<std::int64_t>();
        if (label == 255) continue;
        Real total = 0.0, own = 0.0;
        for (std::int64_t c = 0; c < classes; ++c) {
          Real value = 0.0;
          for (std::int64_t i = 0; i < logits.size(2); ++i) {
            for (std::int64_t j = 0; j < logits.size(3); ++j)
              value += weight_between(y, logits.size(2), rows, i) * weight_between(x, logits.size(3), columns, j) *
                       logits(b, c, i, j);
          }
          total += exp(value);
          if (c == label) own = value;
        }
        sum += log(total) - own;
        ++labeled;
      }
    }
  }
  return sum / (all ? static_cast<double>(mask.numel()) + std::pow(2, -23) : std::max(labeled, 1.0));
}

TEST(PixelCrossEntropy, IsItsDefinitionInValueAndGradient) {
  const Tensor mask = at::arange(2 * 7 * 9).remainder(4).to(at::kByte).view({2, 7, 9}).clone();
  mask.masked_fill_(mask.eq(3), kIgnored);
  for (const PixelAverage average : {PixelAverage::kLabeled, PixelAverage::kAll}) {
    const Tensor logits = drawn("logits", {2, 3, 3, 4}, 2).set_requires_grad(true);
    const Tensor loss = pixel_cross_entropy(logits, mask, average);
    loss.backward();
    Real::clear_tape();
    const Array plain = as_variables(logits);
    const Real expected = plain_pixel_loss(plain, mask, average == PixelAverage::kAll);
    expected.backward();
    EXPECT_NEAR(loss.item<double>(), expected.value(), 1e-10);
    expect_gradient(plain, logits.grad());
    const at::NoGradGuard no_gradient;
    EXPECT_EQ(pixel_cross_entropy(logits, mask, average).item<double>(), loss.item<double>());
  }
}

TEST(PixelCrossEntropy, OfNothingLabeledIsZeroAndMovesNothing) {
  for (const PixelAverage average : {PixelAverage::kLabeled, PixelAverage::kAll}) {
    const Tensor logits = drawn("logits", {2, 3, 3, 4}).set_requires_grad(true);
    const Tensor loss = pixel_cross_entropy(logits, at::full({2, 6, 8}, int{kIgnored}, at::kByte), average);
    loss.backward();
    EXPECT_EQ(loss.item<double>(), 0);
    EXPECT_EQ(logits.grad().abs().max().item<double>(), 0);
  }
}

TEST(PixelCrossEntropy, TellsDivergenceAndRefusesWhatIsNoMask) {
  Tensor logits = drawn("logits", {1, 3, 2, 2});
  logits[0][1][0][0] = kNan;
  EXPECT_TRUE(
      std::isnan(pixel_cross_entropy(logits, at::zeros({1, 4, 4}, at::kByte), PixelAverage::kLabeled).item<double>()));
  EXPECT_THROW(pixel_cross_entropy(logits, at::zeros({1, 4, 4}, at::kLong), PixelAverage::kLabeled),
               std::invalid_argument);
  EXPECT_THROW(pixel_cross_entropy(logits, at::zeros({2, 4, 4}, at::kByte), PixelAverage::kLabeled),
               std::invalid_argument);
}

// --- depth -----------------------------------------------------------------------------------------------------------

struct PlainDepth {
  Array p;
  Tensor t;  // [B, H, W]
  bool known(std::int64_t b, std::int64_t y, std::int64_t x) const {
    const double depth = t[b][y][x].item<double>();
    return depth > 0 && std::isfinite(depth);
  }
  double depth(std::int64_t b, std::int64_t y, std::int64_t x) const { return t[b][y][x].item<double>(); }
};

// Over the known pixels of an image.
template <typename Value>
Real mean_of(const PlainDepth& in, std::int64_t b, Value value) {
  Real sum = 0.0;
  double n = 0;
  for (std::int64_t y = 0; y < in.t.size(1); ++y) {
    for (std::int64_t x = 0; x < in.t.size(2); ++x) {
      if (in.known(b, y, x)) sum += value(y, x), ++n;
    }
  }
  return sum / std::max(n, 1.0);
}

// The difference of the aligned maps of an image, 0 where nothing is known.
Array difference(const PlainDepth& in, DepthAlignment how) {
  Array e(in.p.shape());
  for (std::int64_t b = 0; b < in.t.size(0); ++b) {
    const auto p = [&](auto y, auto x) { return in.p(b, y, x); };
    const auto t = [&](auto y, auto x) { return Real(in.depth(b, y, x)); };
    const Real mean_p = mean_of(in, b, p), mean_t = mean_of(in, b, t);
    const Real spread_p = mean_of(in, b, [&](auto y, auto x) { return (p(y, x) - mean_p) * (p(y, x) - mean_p); });
    const Real spread_t = mean_of(in, b, [&](auto y, auto x) { return (t(y, x) - mean_t) * (t(y, x) - mean_t); });
    const Real joint = mean_of(in, b, [&](auto y, auto x) { return (p(y, x) - mean_p) * (t(y, x) - mean_t); });
    for (std::int64_t y = 0; y < in.t.size(1); ++y) {
      for (std::int64_t x = 0; x < in.t.size(2); ++x) {
        if (!in.known(b, y, x)) continue;
        if (how == DepthAlignment::kMeanDeviation) {
          e(b, y, x) =
              (p(y, x) - mean_p) / sqrt(maximum(spread_p, 0.5)) - (t(y, x) - mean_t) / sqrt(maximum(spread_t, 0.5));
        } else if (how == DepthAlignment::kScaleShift && spread_p.value() > 1e-9) {
          e(b, y, x) = joint / spread_p * (p(y, x) - mean_p) + mean_t - t(y, x);
        } else {
          e(b, y, x) = p(y, x) - t(y, x);
        }
      }
    }
  }
  return e;
}

Real plain_depth_loss(const PlainDepth& in, DepthAlignment how, double weight) {
  const Array e = difference(in, how);
  Real l1 = 0.0, out = 0.0;
  double n = 0;
  for (std::int64_t step = 1; step <= 8; step *= 2) {
    Real sum = 0.0;
    double here = 0;
    for (std::int64_t b = 0; b < in.t.size(0); ++b) {
      for (std::int64_t y = 0; y < in.t.size(1); y += step) {
        for (std::int64_t x = 0; x < in.t.size(2); x += step) {
          if (!in.known(b, y, x)) continue;
          ++here;
          if (step == 1) l1 += abs(e(b, y, x)), ++n;
          if (x + step < in.t.size(2) && in.known(b, y, x + step)) sum += abs(e(b, y, x + step) - e(b, y, x));
          if (y + step < in.t.size(1) && in.known(b, y + step, x)) sum += abs(e(b, y + step, x) - e(b, y, x));
        }
      }
    }
    out += weight * sum / std::max(here, 1.0);
  }
  return l1 / std::max(n, 1.0) + out;
}

// Of three images: ordinary, with holes of every kind, without a known pixel.
Tensor some_depths() {
  Tensor out = drawn("depth", {3, 9, 11}, 2).abs() + 0.5;
  out[1][0].fill_(0);
  out[1][3][4] = kNan;
  out[1][4][4] = kInfinity;
  out[1][5][4] = -1;
  out[2].zero_();
  return out;
}

TEST(DepthLoss, IsItsDefinitionInValueAndGradient) {
  for (const DepthAlignment how :
       {DepthAlignment::kMeanDeviation, DepthAlignment::kScaleShift, DepthAlignment::kNone}) {
    for (const double deviation : {0.3, 2.0}) {  // below and above the least variance
      const Tensor p = drawn("prediction", {3, 9, 11}, deviation).set_requires_grad(true);
      const Tensor loss = depth_loss(p, some_depths(), how, 0.5);
      loss.backward();
      Real::clear_tape();
      const PlainDepth plain{as_variables(p), some_depths()};
      const Real expected = plain_depth_loss(plain, how, 0.5);
      expected.backward();
      EXPECT_NEAR(loss.item<double>(), expected.value(), 1e-10);
      expect_gradient(plain.p, p.grad());
    }
  }
}

TEST(DepthLoss, OfNothingKnownIsZeroAndMovesNothing) {
  for (const DepthAlignment how :
       {DepthAlignment::kMeanDeviation, DepthAlignment::kScaleShift, DepthAlignment::kNone}) {
    const Tensor p = drawn("prediction", {2, 5, 5}).set_requires_grad(true);
    const Tensor loss = depth_loss(p, at::zeros({2, 5, 5}, at::kDouble), how, 0.5);
    loss.backward();
    EXPECT_EQ(loss.item<double>(), 0);
    EXPECT_EQ(p.grad().abs().max().item<double>(), 0);
  }
}

TEST(DepthLoss, TakesPredictionsThatAreNoNumbersForZeroWithoutAGradient) {
  Tensor values = drawn("prediction", {1, 5, 5});
  values[0][1][1] = kNan;
  values[0][2][3] = kInfinity;
  const Tensor p = values.clone().set_requires_grad(true);
  const Tensor depth = drawn("depth", {1, 5, 5}).abs() + 1;
  const Tensor loss = depth_loss(p, depth, DepthAlignment::kMeanDeviation, 0.5);
  loss.backward();
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
  EXPECT_EQ(p.grad()[0][1][1].item<double>(), 0);
  EXPECT_EQ(p.grad()[0][2][3].item<double>(), 0);
}

TEST(DepthLoss, OfAConstantPredictionAndOfOnePixelIsFinite) {
  for (const DepthAlignment how : {DepthAlignment::kMeanDeviation, DepthAlignment::kScaleShift}) {
    for (const std::int64_t side : {1, 5}) {
      const Tensor p = at::full({1, side, side}, 2.0, at::kDouble).set_requires_grad(true);
      const Tensor loss = depth_loss(p, at::full({1, side, side}, 3.0, at::kDouble), how, 0.5);
      loss.backward();
      EXPECT_TRUE(std::isfinite(loss.item<double>()));
      EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
    }
  }
}

// --- scores ----------------------------------------------------------------------------------------------------------

std::map<std::string, double> by_name(const std::vector<Score>& scores) {
  std::map<std::string, double> out;
  for (const Score& score : scores) {
    std::string name = score.metric;
    for (const auto& label : score.labels.items()) name += "/" + label.value().get<std::string>();
    out[name] = score.value;
  }
  return out;
}

Tensor bytes(std::vector<std::int64_t> values) { return at::tensor(values, at::kLong).to(at::kByte); }

std::map<std::string, double> scored(const Tensor& truth, const Tensor& said, std::int64_t classes,
                                     const std::vector<std::string>& names = {}) {
  ConfusionMatrix matrix(classes);
  matrix.add(truth, said.to(at::kLong));
  return by_name(segmentation_scores(matrix.counts(), names));
}

TEST(SegmentationScores, LeaveOutClassesThatNeitherOccurNorAreSaid) {
  const auto one = scored(bytes({1, 1, 1}), bytes({1, 1, 1}), 4, {"sky", "tree"});
  EXPECT_DOUBLE_EQ(one.at("miou"), 100);
  EXPECT_DOUBLE_EQ(one.at("iou/tree"), 100);
  EXPECT_EQ(one.size(), 4u);
  EXPECT_TRUE(scored(bytes({255, 255}), bytes({0, 1}), 2).empty());
  const auto said = scored(bytes({0, 0}), bytes({0, 1}), 3);
  EXPECT_DOUBLE_EQ(said.at("iou/1"), 0);
  EXPECT_DOUBLE_EQ(said.at("miou"), 25);
  EXPECT_DOUBLE_EQ(said.at("mean-accuracy"), 50) << "a class that never occurs has no accuracy";
}

TEST(SegmentationScores, AreExactCountsWhateverThePartsAndTheirOrder) {
  const Tensor truth = at::arange(1000).remainder(7).to(at::kByte), said = at::arange(1000).square().remainder(7);
  ConfusionMatrix whole(7), parts(7), last(7);
  whole.add(truth, said);
  last.add(truth.slice(0, 0, 100), said.slice(0, 0, 100));
  parts.add(truth.slice(0, 100, 500), said.slice(0, 100, 500));
  ConfusionMatrix resumed(7);
  resumed.load(parts.counts());
  resumed.add(truth.slice(0, 500), said.slice(0, 500));
  resumed.merge(last);
  EXPECT_TRUE(at::equal(whole.counts(), resumed.counts()));
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < 1000; ++i) counted += i % 7 == 3 && i * i % 7 == 2;
  EXPECT_EQ(whole.counts()[3][2].item<std::int64_t>(), counted);
  EXPECT_THROW(resumed.load(at::zeros({7, 7}, at::kLong)), std::invalid_argument);
  ConfusionMatrix other(3);
  other.add(bytes({0}), at::zeros({1}, at::kLong));
  EXPECT_THROW(whole.merge(other), std::invalid_argument);
}

TEST(SegmentationScores, CountPixelsWithoutAPredictionAsWrong) {
  const auto found = scored(bytes({0, 0, 1}), at::tensor({0, 2, 1}, at::kLong), 2);
  EXPECT_DOUBLE_EQ(found.at("iou/0"), 50);
  EXPECT_DOUBLE_EQ(found.at("pixel-accuracy"), 200.0 / 3);
}

std::map<std::string, double> depth_scored(const Tensor& p, const Tensor& t, double most = 0) {
  DepthScores scores(most);
  scores.add(p, t);
  return by_name(scores.scores());
}

TEST(DepthScores, SeeThroughScaleAndShift) {
  const Tensor t = drawn("depth", {6, 7}).abs() + 0.5;
  const auto found = depth_scored(3 * t - 1, t);
  EXPECT_NEAR(found.at("abs-rel"), 0, 1e-10);
  EXPECT_DOUBLE_EQ(found.at("a1"), 100);
  EXPECT_GT(found.at("abs-rel/none"), 10);
  EXPECT_NEAR(depth_scored(2 * t, t).at("abs-rel/median"), 0, 1e-10);
  EXPECT_NEAR(depth_scored(-2 * t, t).at("abs-rel"), 0, 1e-10) << "a negative scale is kept";
}

TEST(DepthScores, AreTheirFormulasAfterAnAlignmentThatSaysNothing) {
  const Tensor t = at::tensor({1.0, 2.0, 4.0, 0.0, kNan, 3.0}, at::kDouble).view({2, 3});
  Tensor p = at::full({2, 3}, 2.0, at::kDouble);
  p[1][2] = kInfinity;
  const auto found = depth_scored(p, t);  // constant: s = 1, b = 0; three pixels count
  EXPECT_DOUBLE_EQ(found.at("abs-rel"), 100 * (1.0 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(found.at("a1"), 100.0 / 3);
  EXPECT_DOUBLE_EQ(found.at("a3"), 100.0 / 3) << "2 is not below 1.953125";
  EXPECT_DOUBLE_EQ(found.at("l1"), 1);
  EXPECT_DOUBLE_EQ(found.at("rmse"), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(depth_scored(at::full({1, 1}, 2.0, at::kDouble), at::full({1, 1}, 4.0, at::kDouble)).at("l1"), 2);
  EXPECT_DOUBLE_EQ(depth_scored(p, t, 2.5).at("l1"), 0.5) << "4 lies beyond";
}

TEST(DepthScores, AreMeansOverImagesInTheirOrderWhateverTheParts) {
  DepthScores whole, first, rest;
  for (std::int64_t i = 0; i < 6; ++i) {
    const Tensor p = RandomStreams(2).normal("test", "p", static_cast<std::uint64_t>(i), {4, 5}).to(at::kDouble);
    const Tensor t = i == 2 ? at::zeros({4, 5}, at::kDouble) : (p + 0.3 * drawn("t", {4, 5})).abs() + 0.1;
    whole.add(p, t);
    (i < 3 ? first : rest).add(p, t);
  }
  DepthScores resumed;
  resumed.load(first.rows());
  resumed.merge(rest);
  EXPECT_EQ(by_name(whole.scores()), by_name(resumed.scores()));
  EXPECT_TRUE(std::isnan(whole.rows()[2][0].item<double>()));
  double sum = 0;
  for (const std::int64_t i : {0, 1, 3, 4, 5}) sum += whole.rows()[i][0].item<double>();
  EXPECT_DOUBLE_EQ(by_name(whole.scores()).at("abs-rel"), sum / 5);
  EXPECT_TRUE(DepthScores().scores().empty());
}

}  // namespace
}  // namespace locus::engine
