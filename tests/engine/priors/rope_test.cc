// Axial rotary embedding: every flavor by its definition, and the property that makes it relative.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

constexpr std::int64_t kWidth = 16;  // of a head

// Queries turned by one layer of the prior.
Tensor turned(const Json& options, const Tensor& q, const Layout& layout, const Layout& reference) {
  const PriorItem& item = prior_item("rope-axial");
  const LayerInfo info{.layer = 0,
                       .layers = 1,
                       .width = q.size(1) * q.size(3),
                       .heads = q.size(1),
                       .scale = 0.25,
                       .reference = reference};
  const auto layer = item.make({{info}, info.width, reference}, Options(item.item.json(), options))->layer(info);
  const Tensor x = at::zeros({q.size(0), q.size(2), info.width}, q.options());
  const auto [first, second] = layer->transform_qk(q, q * 2, {x, q, q, q, layout}, test::test_context(false));
  EXPECT_LT(largest_difference(second, first * 2), 1e-12) << "keys turn as queries do";
  return first;
}
Tensor turned(const Json& options, const Tensor& q, const Layout& layout) { return turned(options, q, layout, layout); }

struct Definition {
  std::string flavor;
  double (*angle)(std::int64_t pair, double row, double column, double rows, double columns);
  bool neighbors;
};

double frequency(double theta, std::int64_t k) { return std::pow(theta, -4.0 * static_cast<double>(k) / kWidth); }

// The table of flavors, written out once more.
const std::vector<Definition>& definitions() {
  static const std::vector<Definition> list = {
      {"rope-vit",
       [](std::int64_t c, double r, double k, double, double) {
         return (c < kWidth / 4 ? k : r) * frequency(100, c % (kWidth / 4));
       },
       true},
      {"pape",
       [](std::int64_t c, double r, double k, double, double) {
         return (c < kWidth / 4 ? k + 1 : r + 1) * frequency(10000, c % (kWidth / 4));
       },
       false},
      {"visionllama",
       [](std::int64_t c, double r, double k, double, double) {
         return (c % 2 == 0 ? k : r) * frequency(10000, c / 2);
       },
       true},
      {"dinov3",
       [](std::int64_t c, double r, double k, double rows, double columns) {
         const double position = c < kWidth / 4 ? 2 * (r + 0.5) / rows - 1 : 2 * (k + 0.5) / columns - 1;
         return 2 * std::numbers::pi * position * frequency(100, c % (kWidth / 4));
       },
       false},
      {"rmt",
       [](std::int64_t c, double r, double k, double, double columns) {
         return (r * columns + k) * std::pow(10000.0, -static_cast<double>(c) / (kWidth / 2 - 1));
       },
       true},
  };
  return list;
}

TEST(RopeAxial, EveryFlavorTurnsPatchesByItsDefinition) {
  const Layout layout{{3, 5}, 2};
  const Tensor q = at::randn({1, 2, layout.tokens(), kWidth}, at::kDouble);
  for (const Definition& definition : definitions()) {
    const Tensor found = turned({{"flavor", definition.flavor}}, q, layout);
    for (std::int64_t n = 0; n < layout.patches(); ++n) {
      for (std::int64_t c = 0; c < kWidth / 2; ++c) {
        const double angle = definition.angle(c, static_cast<double>(n / 5), static_cast<double>(n % 5), 3, 5);
        const std::int64_t one = definition.neighbors ? 2 * c : c,
                           other = definition.neighbors ? 2 * c + 1 : c + kWidth / 2;
        const double a = q[0][1][2 + n][one].item<double>(), b = q[0][1][2 + n][other].item<double>();
        EXPECT_NEAR(found[0][1][2 + n][one].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-12)
            << definition.flavor;
        EXPECT_NEAR(found[0][1][2 + n][other].item<double>(), a * std::sin(angle) + b * std::cos(angle), 1e-12)
            << definition.flavor;
      }
    }
  }
}

TEST(RopeAxial, CoversEveryFlavorOfTheCatalog) {
  for (const Json& option : prior_item("rope-axial").item.json().at("options")) {
    if (option.at("name") != "flavor") continue;
    EXPECT_EQ(option.at("choices").size(), definitions().size());
  }
}

TEST(RopeAxial, LeavesPrefixTokensUnturned) {
  const Layout layout{{3, 5}, 5};
  const Tensor q = at::randn({1, 2, layout.tokens(), kWidth}, at::kDouble);
  for (const std::string flavor : {"rope-vit", "pape", "dinov3", "rmt"}) {
    EXPECT_TRUE(at::equal(turned({{"flavor", flavor}}, q, layout).slice(2, 0, 5), q.slice(2, 0, 5))) << flavor;
  }
}

TEST(RopeAxial, VisionLlamaPutsTheClassTokenBeforeTheFirstPatchOfTheRaster) {
  const Tensor q = at::randn({1, 1, 16, kWidth}, at::kDouble);
  const Tensor found = turned({{"flavor", "visionllama"}}, q, {{3, 5}, 1});
  const double x = 4 * frequency(10000, 1), y = -1 * frequency(10000, 1);  // (Wp - 1, -1); pairs 2 and 3
  EXPECT_NEAR(found[0][0][0][4].item<double>(),
              q[0][0][0][4].item<double>() * std::cos(x) - q[0][0][0][5].item<double>() * std::sin(x), 1e-12);
  EXPECT_NEAR(found[0][0][0][6].item<double>(),
              q[0][0][0][6].item<double>() * std::cos(y) - q[0][0][0][7].item<double>() * std::sin(y), 1e-12);
}

// The same vector everywhere: logits may depend on the offset of the patches only.
TEST(RopeAxial, LogitsDependOnOffsetsOnly) {
  const Layout layout{{4, 6}, 0};
  const Tensor one = at::randn({1, 1, 1, kWidth}, at::kDouble);
  for (const Definition& definition : definitions()) {
    const Tensor q = turned({{"flavor", definition.flavor}}, one.expand({1, 1, 24, kWidth}).contiguous(), layout)[0][0];
    const Tensor logits = at::matmul(q, q.mT());
    EXPECT_NEAR(logits[0][8].item<double>(), logits[7][15].item<double>(), 1e-12) << definition.flavor;  // (+1, +2)
    EXPECT_NEAR(logits[20][3].item<double>(), logits[19][2].item<double>(), 1e-12) << definition.flavor;
    EXPECT_GT(std::abs(logits[0][8].item<double>() - logits[0][0].item<double>()), 1e-3) << definition.flavor;
  }
}

TEST(RopeAxial, GoesOnCountingOnLargerGridsUnlessToldToSqueeze) {
  const Tensor q = at::randn({1, 1, 64, kWidth}, at::kDouble);
  const Layout small{{4, 4}, 0}, large{{8, 8}, 0};
  const Tensor on = turned({}, q, large, small), squeezed = turned({{"other_grids", "interpolate"}}, q, large, small);
  const Tensor plain = turned({}, q.slice(2, 0, 16), small, small);
  EXPECT_LT(largest_difference(on.slice(2, 0, 4), turned({}, q, large, large).slice(2, 0, 4)), 1e-15);
  // Column 2 of the large grid lies where column 1 of the small one does.
  const Tensor moved =
      turned({{"other_grids", "interpolate"}}, q.slice(2, 1, 2).expand({1, 1, 64, kWidth}).contiguous(), large, small);
  EXPECT_LT(largest_difference(moved.slice(2, 2, 3), plain.slice(2, 1, 2)), 1e-12);
  EXPECT_GT(largest_difference(squeezed, on), 1e-3);
}

TEST(RopeAxial, FrequenciesAreThoseOfTheReference) {
  const double published[] = {1,       1.3335,  1.7783,  2.3714,  3.1623,  4.2170,  5.6234, 7.4989, 10,
                              13.3352, 17.7828, 23.7137, 31.6228, 42.1697, 56.2341, 74.9894};  // periods of 100^(4k/64)
  Tensor q = at::zeros({1, 1, 2, 64}, at::kDouble);
  q.slice(3, 0, 64, 2).fill_(1);  // the first channel of each pair
  const Tensor found = turned({}, q, {{1, 2}, 0});
  for (std::int64_t k = 0; k < 16; ++k) {
    EXPECT_NEAR(1 / std::atan2(found[0][0][1][2 * k + 1].item<double>(), found[0][0][1][2 * k].item<double>()),
                published[k], 1e-3 * published[k]);
  }
}

// Base 10000 on two axes of a head of 64: 10000^(4k / 64), the last 5623.41.
TEST(RopeAxial, PapePeriodsAreThoseOfTheReference) {
  Tensor q = at::zeros({1, 1, 2, 64}, at::kDouble);
  q.slice(3, 0, 32).fill_(1);                                                  // the first channel of each pair
  const Tensor found = turned({{"flavor", "pape"}}, q, {{1, 2}, 0})[0][0][1];  // the patch at x = 2
  const auto period = [&](std::int64_t k) {
    return 2 / std::atan2(found[k + 32].item<double>(), found[k].item<double>());
  };
  EXPECT_NEAR(period(1), 1.7783, 1e-4);
  EXPECT_NEAR(period(2), 3.1623, 1e-4);
  EXPECT_NEAR(period(15), 5623.41, 1e-2);
  EXPECT_NEAR(std::tan(2.0), found[32].item<double>() / found[0].item<double>(), 1e-9) << "period 1";
}

TEST(RopeAxial, Dinov3PeriodsAreThoseOfTheReference) {
  const double published[] = {1,  1.3335,  1.7783,  2.3714,  3.1623,  4.2170,  5.6234,  7.4989,
                              10, 13.3352, 17.7828, 23.7137, 31.6228, 42.1697, 56.2341, 74.9894};
  Tensor q = at::zeros({1, 1, 2, 64}, at::kDouble);
  q.slice(3, 0, 32).fill_(1);  // the first channel of each pair
  const auto period = [&](const Json& more, std::int64_t k) {
    Json options = {{"flavor", "dinov3"}};
    if (!more.is_null()) options.update(more);
    // Two patches in a column lie at y = -1/2 and 1/2.
    const Tensor found = turned(options, q, {{2, 1}, 0})[0][0];
    const double half = std::atan2(found[1][k + 32].item<double>(), found[1][k].item<double>());
    return std::numbers::pi / (half > 0 ? half : half + 2 * std::numbers::pi);
  };
  for (std::int64_t k = 0; k < 16; ++k) EXPECT_NEAR(period({}, k), published[k], 1e-4 * published[k]) << k;
  const Json range = {{"min_period", 2.0}, {"max_period", 50.0}};
  for (std::int64_t k = 0; k < 16; ++k)
    EXPECT_NEAR(period(range, k), 2 * std::pow(25.0, static_cast<double>(k) / 15), 1e-9) << k;
}

TEST(RopeAxial, PapePadsHeadsThatFourDoesNotDivide) {
  const Layout layout{{3, 5}, 0};
  const Tensor q = at::randn({1, 1, 15, 6}, at::kDouble);
  const Tensor found = turned({{"flavor", "pape"}}, q, layout);
  // Padded to 8: pairs (c, c + 4), channels 6 and 7 are zero; frequencies 1 and 1/100.
  const double x = 3, y = 2;  // patch 7, counted from 1
  const double one[] = {x, x / 100, y, y / 100};
  for (std::int64_t c = 0; c < 4; ++c) {
    const double a = q[0][0][7][c].item<double>(), b = c + 4 < 6 ? q[0][0][7][c + 4].item<double>() : 0;
    EXPECT_NEAR(found[0][0][7][c].item<double>(), a * std::cos(one[c]) - b * std::sin(one[c]), 1e-12) << c;
    if (c + 4 >= 6) continue;
    EXPECT_NEAR(found[0][0][7][c + 4].item<double>(), a * std::sin(one[c]) + b * std::cos(one[c]), 1e-12) << c;
  }
}

TEST(RopeAxial, CanPutPrefixTokensAtACoordinate) {
  const Layout layout{{3, 5}, 2};
  const Tensor q = at::randn({1, 1, 17, kWidth}, at::kDouble);
  const Json options = {{"flavor", "visionllama"}, {"prefix", "coordinate"}, {"prefix_coordinate", 2.0}};
  const Tensor found = turned(options, q, layout), plain = turned({{"flavor", "visionllama"}}, q, layout);
  EXPECT_TRUE(at::equal(found.slice(2, 2), plain.slice(2, 2)));
  Tensor at_patch = q.clone();
  at_patch.select(2, 2 + 2 * 5 + 2).copy_(q.select(2, 0));  // the patch at (2, 2)
  EXPECT_LT(largest_difference(found.select(2, 0), turned({{"flavor", "visionllama"}}, at_patch, layout).select(2, 14)),
            1e-12);
}

// Turns of one training forward, as the angles of a vector (1, 0) in every pair.
Tensor angles_in_training(const Json& more, std::int64_t step, std::int64_t layer) {
  const Layout layout{{2, 3}, 1};
  const test::Host host{.layout = layout, .heads = 1, .head_width = 8, .depth = 2};
  Json options = {{"flavor", "dinov3"}, {"theta", 1e8}};
  if (!more.is_null()) options.update(more);
  const auto prior = test::built_prior("rope-axial", options, host);
  test::Content content(host, layout);
  content.q.zero_().slice(3, 0, 4).fill_(1);
  const ForwardContext context = test::test_context(true, step);
  prior->begin_forward(layout, context);
  const Tensor q = prior->layers()[static_cast<std::size_t>(layer)]
                       ->transform_qk(content.q, content.q, content.inputs(), context)
                       .first[0][0];
  return at::atan2(q.slice(1, 4), q.slice(1, 0, 4)).slice(0, 1);  // [N, 4]
}

TEST(RopeAxial, Dinov3CanVaryPositionsWhileTraining) {
  const Tensor plain = angles_in_training({}, 1, 0);
  const Tensor shifted = angles_in_training({{"shift", 0.01}}, 1, 0);
  // The slow pairs (1 and 3, at theta 1e8) never wrap: a shift moves all patches alike, a stretch scales
  // them.
  const auto slow = [](const Tensor& angles, std::int64_t axis) { return angles.select(1, axis == 0 ? 1 : 3); };
  for (const std::int64_t axis : {0, 1}) {
    const Tensor moved = slow(shifted, axis) - slow(plain, axis);
    EXPECT_LT((moved - moved[0]).abs().max().item<double>(), 1e-15) << axis;
    EXPECT_GT(moved[0].abs().item<double>(), 0) << axis;
    EXPECT_LE(moved[0].abs().item<double>(), 0.01 * 2 * std::numbers::pi * 1e-4 * (1 + 1e-6)) << axis;
  }
  const auto factor = [&](const Json& options, std::int64_t axis, std::int64_t step) {
    return (slow(angles_in_training(options, step, 0), axis)[5] / slow(plain, axis)[5]).item<double>();
  };
  for (const std::int64_t step : {1, 2, 3}) {
    EXPECT_NEAR(factor({{"rescale", 2.0}}, 0, step), factor({{"rescale", 2.0}}, 1, step), 1e-12);
    EXPECT_NE(factor({{"jitter", 2.0}}, 0, step), factor({{"jitter", 2.0}}, 1, step));
    EXPECT_GE(factor({{"jitter", 2.0}}, 0, step), 0.5);
    EXPECT_LE(factor({{"jitter", 2.0}}, 0, step), 2.0);
  }
  EXPECT_NE(factor({{"rescale", 2.0}}, 0, 1), factor({{"rescale", 2.0}}, 0, 2));
}

TEST(RopeAxial, DrawsOncePerForwardOrOncePerBlock) {
  const Json forward = {{"rescale", 2.0}}, block = {{"rescale", 2.0}, {"draws", "block"}};
  EXPECT_TRUE(at::equal(angles_in_training(forward, 4, 0), angles_in_training(forward, 4, 1)));
  EXPECT_FALSE(at::equal(angles_in_training(block, 4, 0), angles_in_training(block, 4, 1)));
}

TEST(RopeAxial, DoesNotVaryPositionsInEvaluation) {
  const auto varied = test::small_model({{"rope-axial", {{"flavor", "dinov3"}, {"rescale", 2.0}}}});
  const auto plain = test::small_model({{"rope-axial", {{"flavor", "dinov3"}}}});
  const Tensor images = test::test_images(2, {8, 10});
  EXPECT_TRUE(at::equal(varied->forward(images, test::test_context(false)).tokens,
                        plain->forward(images, test::test_context(false)).tokens));
  EXPECT_FALSE(at::equal(varied->forward(images, test::test_context(true)).tokens,
                         plain->forward(images, test::test_context(true)).tokens));
}

TEST(RopeAxial, RefusesOptionsThatMeanNothingForItsFlavor) {
  try {
    test::small_model({{"rope-axial", {{"flavor", "rope-vit"}, {"shift", 0.1}}}});
    FAIL() << "accepted a shift that would do nothing";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("option 'shift' means nothing while flavor is \"rope-vit\""),
              std::string::npos)
        << error.what();
  }
}

TEST(RopeAxial, GradientTurnsBack) {
  const Layout layout{{3, 5}, 1};
  for (const Definition& definition : definitions()) {
    const Tensor q = at::randn({2, 2, 16, kWidth}, at::kDouble).requires_grad_();
    const Tensor weight = at::randn({2, 2, 16, kWidth}, at::kDouble);
    const Tensor out = turned({{"flavor", definition.flavor}}, q, layout);
    (out * weight).sum().backward();
    // A rotation is linear and orthogonal: <R q, w> = <q, R^T w>, and R R^T w = w.
    EXPECT_NEAR((q.detach() * q.grad()).sum().item<double>(), (out.detach() * weight).sum().item<double>(), 1e-10);
    EXPECT_LT(largest_difference(turned({{"flavor", definition.flavor}}, q.grad(), layout), weight), 1e-12);
  }
}

TEST(RopeAxial, RefusesHeadsThatCannotHoldTwoAxes) {
  test::ModelShape shape;
  shape.dim = 24;  // heads of 6
  try {
    test::small_model({{"rope-axial"}}, shape);
    FAIL() << "accepted a head of 6 channels";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("head_width 6 must be a multiple of 4"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace locus::engine
