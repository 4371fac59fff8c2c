// Learned absolute positions: rows, other grids, counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus {
namespace {

std::shared_ptr<Prior> make(const Json& options, const Layout& reference, std::int64_t width = 3) {
  const PriorItem& item = prior_item("learned-absolute");
  const auto prior = item.make({{}, width, reference}, Options(item.item.json(), options));
  prior->initialize(Initializer(RandomStreams(0), ""));
  return prior;
}

Tensor added(Prior& prior, Site site, const Layout& layout, std::int64_t tokens, std::int64_t width = 3) {
  const at::NoGradGuard no_grad;
  return prior.embed(site, at::zeros({1, tokens, width}), layout, test::test_moment(false))[0];
}

TEST(LearnedAbsolute, AddsToPatchesOnlyByDefault) {
  const Layout layout{{2, 3}, 2};
  const auto prior = make({}, layout);
  const Tensor table = prior->parameters()[0];
  ASSERT_EQ(table.sizes(), (at::IntArrayRef{6, 3}));
  EXPECT_TRUE(at::equal(added(*prior, Site::kBeforePrefix, layout, 6), table));
  EXPECT_EQ(added(*prior, Site::kAfterPrefix, layout, 8).abs().max().item<double>(), 0);
}

TEST(LearnedAbsolute, CanGivePrefixTokensRowsOfTheirOwn) {
  const Layout layout{{2, 3}, 2};
  const auto prior = make({{"rows", "with-prefix"}}, layout);
  const Tensor table = prior->parameters()[0];
  ASSERT_EQ(table.sizes(), (at::IntArrayRef{8, 3}));
  EXPECT_TRUE(at::equal(added(*prior, Site::kAfterPrefix, layout, 8), table));
  EXPECT_EQ(added(*prior, Site::kBeforePrefix, layout, 6).abs().max().item<double>(), 0);
}

TEST(LearnedAbsolute, StartsThePatchesEquallyWhateverThePrefix) {
  const Layout layout{{2, 3}, 2};
  EXPECT_TRUE(at::equal(make({}, layout)->parameters()[0],
                        make({{"rows", "with-prefix"}}, layout)->parameters()[0].slice(0, 2)));
}

// Cubic convolution with a = -0.75 and a clamped border, at half-pixel centers, along one axis.
double cubic(const std::vector<double>& values, double position) {
  constexpr double a = -0.75;
  const auto base = static_cast<std::int64_t>(std::floor(position));
  double sum = 0;
  for (std::int64_t i = base - 1; i <= base + 2; ++i) {
    const double t = std::abs(position - static_cast<double>(i));
    const double weight =
        t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    sum += weight * values[static_cast<std::size_t>(
                        std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  return sum;
}

TEST(LearnedAbsolute, ResizesPatchRowsToAnotherGridAndKeepsPrefixRows) {
  const Layout small{{8, 6}, 1}, large{{16, 6}, 1};
  const auto prior = make({{"rows", "with-prefix"}}, small, 1);
  const std::vector<double> heights = {3, 1, 4, 1, 5, 9, 2, 6};
  Tensor table = prior->parameters()[0];
  {
    const at::NoGradGuard no_grad;
    table.copy_(
        at::cat({at::full({1}, 99.0), at::tensor(heights).repeat_interleave(6).to(at::kFloat)}).unsqueeze(1));
  }
  const Tensor found = added(*prior, Site::kAfterPrefix, large, 97, 1);
  EXPECT_EQ(found[0][0].item<double>(), 99);
  for (std::int64_t r = 0; r < 16; ++r) {
    const double expected = cubic(heights, (static_cast<double>(r) + 0.5) / 2 - 0.5);
    for (std::int64_t c = 0; c < 6; ++c)
      EXPECT_NEAR(found[1 + r * 6 + c][0].item<double>(), expected, 1e-5) << "row " << r;
  }
}

TEST(LearnedAbsolute, SendsGradientsThroughTheResize) {
  const auto prior = make({}, {{4, 4}, 0});
  prior->embed(Site::kBeforePrefix, at::zeros({1, 35, 3}), {{5, 7}, 0}, test::test_moment(true))
      .sum()
      .backward();
  EXPECT_NEAR(prior->parameters()[0].grad().sum().item<double>(), 105, 1e-3)
      << "weights of an interpolation sum to one";
}

TEST(LearnedAbsolute, IsExemptFromWeightDecay) {
  const auto model = test::small_model({{"learned-absolute"}});
  EXPECT_EQ(model->decay("priors.learned-absolute.table",
                         model->named_parameters()["priors.learned-absolute.table"]),
            Decay::kExempt);
}

}  // namespace
}  // namespace locus
