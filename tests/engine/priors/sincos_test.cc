// Fixed sines and cosines: what each order puts where.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

// What is added to the tokens of a grid, [T, D].
Tensor added(const Json& options, const test::Host& host, const Layout& layout) {
  const auto prior = test::built_prior("sincos-2d", options, host);
  Tensor tokens = at::zeros({1, layout.patches(), host.width()}, at::kDouble);
  tokens = prior->embed(Site::kBeforePrefix, tokens, layout, test::test_context(false));
  tokens = at::constant_pad_nd(tokens, {0, 0, layout.prefix, 0});
  return prior->embed(Site::kAfterPrefix, tokens, layout, test::test_context(false))[0];
}

test::Host host(std::int64_t width, Layout layout) {
  return {.layout = std::move(layout), .heads = 1, .head_width = width};
}

TEST(Sincos2d, MaePutsTheColumnFirstAndLeavesTheClassTokenAlone) {
  const Layout layout{{3, 5}, 1};
  const Tensor table = added({}, host(8, layout), layout);
  EXPECT_EQ(table[0].abs().max().item<double>(), 0);
  const Tensor patch = table[1 + 2 * 5 + 4];  // row 2, column 4; frequencies 1 and 1/100
  const double expected[] = {std::sin(4), std::sin(.04), std::cos(4), std::cos(.04),
                             std::sin(2), std::sin(.02), std::cos(2), std::cos(.02)};
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_NEAR(patch[i].item<double>(), expected[i], 1e-14) << i;
}

TEST(Sincos2d, TimmsOrdersArePermutationsOfMaes) {
  const Layout layout{{4, 3}, 0};
  const auto quarters = [&](const char* order) {
    return added({{"order", order}}, host(16, layout), layout).split(4, 1);
  };
  const auto mae = quarters("mae"), timm = quarters("timm"), interleaved = quarters("timm-interleaved");
  const std::size_t of_timm[] = {2, 0, 3, 1}, of_interleaved[] = {2, 3, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(at::equal(timm[i], mae[of_timm[i]])) << i;
    EXPECT_TRUE(at::equal(interleaved[i], mae[of_interleaved[i]])) << i;
  }
}

TEST(Sincos2d, PapeCountsFromOneWithTheClassTokenAtTheOrigin) {
  const Layout layout{{2, 3}, 2};
  const Tensor table = added({{"order", "pape"}}, host(8, layout), layout);
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(table[t][i].item<double>(), i % 4 < 2 ? 0 : 1) << i;
  }
  EXPECT_NEAR(table[2][0].item<double>(), std::sin(1), 1e-14);
  EXPECT_NEAR(table[2 + 5][0].item<double>(), std::sin(3), 1e-14);  // column 2
  EXPECT_NEAR(table[2 + 5][4].item<double>(), std::sin(2), 1e-14);  // row 1
}

TEST(Sincos2d, PapeTakesOddWidthsWithOneSineMore) {
  const Layout layout{{2, 3}, 0};
  const Tensor patch = added({{"order", "pape"}}, host(7, layout), layout)[5];  // column 3, row 2 from 1
  const double slow = std::pow(10000.0, -2.0 / 3);
  const double expected[] = {std::sin(3),   std::sin(3 * slow), std::cos(3),  std::sin(2),
                             std::sin(.02), std::cos(2),        std::cos(.02)};
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(patch[i].item<double>(), expected[i], 1e-14) << i;
}

TEST(Sincos2d, SqueezesPositionsOfALargerGridIntoTheTrainedRange) {
  const Layout small{{4, 4}, 0}, large{{8, 8}, 0};
  const Tensor squeezed = added({{"other_grids", "interpolate"}}, host(8, small), large);
  const Tensor plain = added({}, host(8, small), small);
  EXPECT_LT(test::largest_difference(squeezed[2 * 8 + 6], plain[1 * 4 + 3]), 1e-14);
}

TEST(Sincos2d, RefusesWidthsThatHaveNoRoomForBothAxes) {
  EXPECT_THROW(test::built_prior("sincos-2d", {}, host(6, {{2, 2}, 0})), std::invalid_argument);
  EXPECT_NO_THROW(test::built_prior("sincos-2d", {{"order", "pape"}}, host(6, {{2, 2}, 0})));
}

TEST(Sincos2d, HasNothingToLearn) {
  EXPECT_EQ(test::parameter_count(*test::built_prior("sincos-2d", {}, host(8, {{2, 2}, 0}))), 0);
}

}  // namespace
}  // namespace locus::engine
