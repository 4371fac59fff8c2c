// Learned absolute positions: rows, other grids, counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

std::shared_ptr<Prior> make(const Json& options, const Layout& reference, std::int64_t width = 3) {
  const PriorItem& item = prior_item("learned-absolute");
  const auto prior = item.make({{}, width, reference}, Options(item.item.json(), options));
  prior->initialize(Initializer(RandomStreams(0), ""));
  return prior;
}

Tensor added(Prior& prior, Site site, const Layout& layout, std::int64_t tokens, std::int64_t width = 3) {
  const at::NoGradGuard no_grad;
  return prior.embed(site, at::zeros({1, tokens, width}), layout, test::test_context(false))[0];
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

TEST(LearnedAbsolute, CanGiveTheClassTokenARowAndRegistersNone) {
  const Layout layout{{2, 3}, 3};
  const auto prior = make({{"rows", "with-class"}}, layout);
  const Tensor table = prior->parameters()[0];
  ASSERT_EQ(table.sizes(), (at::IntArrayRef{7, 3}));
  const Tensor found = added(*prior, Site::kAfterPrefix, layout, 9);
  EXPECT_TRUE(at::equal(found[0], table[0]));
  EXPECT_EQ(found.slice(0, 1, 3).abs().max().item<double>(), 0);
  EXPECT_TRUE(at::equal(found.slice(0, 3), table.slice(0, 1)));
}

// The guidance paper's AbsPE for ViT-B: class token, four registers and 14 x 14 patches.
TEST(LearnedAbsolute, AddsThePublishedNumberOfParameters) {
  EXPECT_EQ(make({{"rows", "with-prefix"}}, {{14, 14}, 5}, 768)->parameters()[0].numel(), 154368);
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
    const double weight = t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    sum +=
        weight *
        values[static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(values.size()) - 1))];
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
    table.copy_(at::cat({at::full({1}, 99.0), at::tensor(heights).repeat_interleave(6).to(at::kFloat)}).unsqueeze(1));
  }
  const Tensor found = added(*prior, Site::kAfterPrefix, large, 97, 1);
  EXPECT_EQ(found[0][0].item<double>(), 99);
  for (std::int64_t r = 0; r < 16; ++r) {
    const double expected = cubic(heights, (static_cast<double>(r) + 0.5) / 2 - 0.5);
    for (std::int64_t c = 0; c < 6; ++c)
      EXPECT_NEAR(found[1 + r * 6 + c][0].item<double>(), expected, 1e-5) << "row " << r;
  }
}

// Patch rows 0, 1, 2, ... along an axis of 8, read off another grid.
std::vector<double> resized(const std::string& manner, std::int64_t length) {
  const auto prior = make({{"resize", manner}}, {{8, 2}, 0}, 1);
  prior->parameters()[0].detach().copy_(at::arange(8, at::kFloat).repeat_interleave(2).unsqueeze(1));
  const Tensor found = added(*prior, Site::kBeforePrefix, {{length, 2}, 0}, 2 * length, 1);
  std::vector<double> out;
  for (std::int64_t r = 0; r < length; ++r) out.push_back(found[2 * r][0].item<double>());
  return out;
}

TEST(LearnedAbsolute, DinosResizeShiftsItsSamplesALittle) {
  const std::vector<double> ramp = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto dino = resized("dino", 12), deit = resized("deit", 12);
  for (std::size_t r = 0; r < 12; ++r) {
    const double at = static_cast<double>(r) + 0.5;
    EXPECT_NEAR(dino[r], cubic(ramp, at * 8 / 12.1 - 0.5), 1e-5) << r;
    EXPECT_NEAR(deit[r], cubic(ramp, at * 8 / 12 - 0.5), 1e-5) << r;
  }
}

// Antialiased, a sample of a halved grid averages about four old ones; without, it reads between two.
TEST(LearnedAbsolute, TimmsResizeDoesNotAlias) {
  const auto prior = [](const char* manner) {
    auto made = make({{"resize", manner}}, {{8, 2}, 0}, 1);
    const Tensor flicker = at::tensor({1.0, -1.0}).repeat(4).repeat_interleave(2).unsqueeze(1);
    made->parameters()[0].detach().copy_(flicker);
    return made;
  };
  const auto middle = [&](const char* manner) {
    return added(*prior(manner), Site::kBeforePrefix, {{3, 2}, 0}, 6, 1)[0][0].item<double>();
  };
  EXPECT_LT(std::abs(middle("timm")), 0.35);
  EXPECT_GT(std::abs(middle("deit")), 0.5);
}

TEST(LearnedAbsolute, CanBeDecayedAsInDino) {
  const auto model = test::small_model({{"learned-absolute", {{"decay", true}}}});
  EXPECT_EQ(model->decay("priors.learned-absolute.table", model->named_parameters()["priors.learned-absolute.table"]),
            Decay::kDecayed);
}

TEST(LearnedAbsolute, SendsGradientsThroughTheResize) {
  const auto prior = make({}, {{4, 4}, 0});
  prior->embed(Site::kBeforePrefix, at::zeros({1, 35, 3}), {{5, 7}, 0}, test::test_context(true)).sum().backward();
  EXPECT_NEAR(prior->parameters()[0].grad().sum().item<double>(), 105, 1e-3)
      << "weights of an interpolation sum to one";
}

TEST(LearnedAbsolute, IsExemptFromWeightDecay) {
  const auto model = test::small_model({{"learned-absolute"}});
  EXPECT_EQ(model->decay("priors.learned-absolute.table", model->named_parameters()["priors.learned-absolute.table"]),
            Decay::kExempt);
}

}  // namespace
}  // namespace locus::engine
