// Axial rotary embedding: every flavor by its definition, and the property that makes it relative.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus {
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
  const auto layer =
      item.make({{info}, info.width, reference}, Options(item.item.json(), options))->layer(info);
  const Tensor x = at::zeros({q.size(0), q.size(2), info.width}, q.options());
  const auto [first, second] = layer->transform_qk(q, q * 2, {x, q, q, q, layout}, test::test_moment(false));
  EXPECT_LT(largest_difference(second, first * 2), 1e-12) << "keys turn as queries do";
  return first;
}
Tensor turned(const Json& options, const Tensor& q, const Layout& layout) {
  return turned(options, q, layout, layout);
}

struct Definition {
  std::string flavor;
  double (*angle)(std::int64_t pair, double row, double column, double rows, double columns);
  bool neighbors;
};

double frequency(double theta, std::int64_t k) {
  return std::pow(theta, -4.0 * static_cast<double>(k) / kWidth);
}

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
        const double angle =
            definition.angle(c, static_cast<double>(n / 5), static_cast<double>(n % 5), 3, 5);
        const std::int64_t one = definition.neighbors ? 2 * c : c,
                           other = definition.neighbors ? 2 * c + 1 : c + kWidth / 2;
        const double a = q[0][1][2 + n][one].item<double>(), b = q[0][1][2 + n][other].item<double>();
        EXPECT_NEAR(found[0][1][2 + n][one].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-12)
            << definition.flavor;
        EXPECT_NEAR(found[0][1][2 + n][other].item<double>(), a * std::sin(angle) + b * std::cos(angle),
                    1e-12)
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
  for (const std::string flavor : {"rope-vit", "pape", "dinov3"}) {
    EXPECT_TRUE(at::equal(turned({{"flavor", flavor}}, q, layout).slice(2, 0, 5), q.slice(2, 0, 5)))
        << flavor;
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
    const Tensor q =
        turned({{"flavor", definition.flavor}}, one.expand({1, 1, 24, kWidth}).contiguous(), layout)[0][0];
    const Tensor logits = at::matmul(q, q.mT());
    EXPECT_NEAR(logits[0][8].item<double>(), logits[7][15].item<double>(), 1e-12)
        << definition.flavor;  // (+1, +2)
    EXPECT_NEAR(logits[20][3].item<double>(), logits[19][2].item<double>(), 1e-12) << definition.flavor;
    EXPECT_GT(std::abs(logits[0][8].item<double>() - logits[0][0].item<double>()), 1e-3) << definition.flavor;
  }
}

TEST(RopeAxial, GoesOnCountingOnLargerGridsUnlessToldToSqueeze) {
  const Tensor q = at::randn({1, 1, 64, kWidth}, at::kDouble);
  const Layout small{{4, 4}, 0}, large{{8, 8}, 0};
  const Tensor on = turned({}, q, large, small),
               squeezed = turned({{"other_grids", "interpolate"}}, q, large, small);
  const Tensor plain = turned({}, q.slice(2, 0, 16), small, small);
  EXPECT_LT(largest_difference(on.slice(2, 0, 4), turned({}, q, large, large).slice(2, 0, 4)), 1e-15);
  // Column 2 of the large grid lies where column 1 of the small one does.
  const Tensor moved = turned({{"other_grids", "interpolate"}},
                              q.slice(2, 1, 2).expand({1, 1, 64, kWidth}).contiguous(), large, small);
  EXPECT_LT(largest_difference(moved.slice(2, 2, 3), plain.slice(2, 1, 2)), 1e-12);
  EXPECT_GT(largest_difference(squeezed, on), 1e-3);
}

TEST(RopeAxial, FrequenciesAreThoseOfTheReference) {
  const double published[] = {
      1,  1.3335,  1.7783,  2.3714,  3.1623,  4.2170,  5.6234,  7.4989,
      10, 13.3352, 17.7828, 23.7137, 31.6228, 42.1697, 56.2341, 74.9894};  // periods of 100^(4k/64)
  Tensor q = at::zeros({1, 1, 2, 64}, at::kDouble);
  q.slice(3, 0, 64, 2).fill_(1);  // the first channel of each pair
  const Tensor found = turned({}, q, {{1, 2}, 0});
  for (std::int64_t k = 0; k < 16; ++k) {
    EXPECT_NEAR(
        1 / std::atan2(found[0][0][1][2 * k + 1].item<double>(), found[0][0][1][2 * k].item<double>()),
        published[k], 1e-3 * published[k]);
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
    EXPECT_NEAR((q.detach() * q.grad()).sum().item<double>(), (out.detach() * weight).sum().item<double>(),
                1e-10);
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
}  // namespace locus
