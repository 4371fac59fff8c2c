// Active spatial guidance: the loss by its definition, the ramp, what it leaves alone.
#include <gtest/gtest.h>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

std::shared_ptr<Prior> make(const Json& options, std::int64_t width, std::vector<std::int64_t> extent = {3, 4}) {
  const PriorItem& item = prior_item("guidance");
  const Layout layout{std::move(extent), 0};
  const auto prior = item.make({{}, width, layout}, Options(item.item.json(), options));
  prior->initialize(Initializer(RandomStreams(0), ""));
  return prior;
}

double weight_at(std::int64_t step) {
  const auto prior = make({{"lambda", 300}}, 4);
  const Taps taps = {{"post-norm", at::randn({2, 12, 4})}};
  const AuxLoss loss = prior->loss(taps, {{3, 4}, 0}, test::test_context(true, step));
  return loss.value.item<double>() / loss.fields[0].second.item<double>();
}

TEST(Guidance, WarmsUpOverSixtySteps) {
  EXPECT_NEAR(weight_at(0), 14.8333, 1e-3);
  EXPECT_NEAR(weight_at(1), 19.6667, 1e-3);
  EXPECT_NEAR(weight_at(58), 295.1667, 1e-3);
  EXPECT_NEAR(weight_at(59), 300, 1e-3);
  EXPECT_NEAR(weight_at(100000), 300, 1e-3);
}

TEST(Guidance, HasTheParametersOfThePaper) {
  const auto count = [](std::int64_t width) {
    std::int64_t sum = 0;
    for (const Tensor& p : make({}, width)->parameters()) sum += p.numel();
    return sum;
  };
  EXPECT_EQ(count(768), 394242);
  EXPECT_EQ(count(384), 197634);
}

// The definition: per axis Linear - ReLU - Linear, smooth L1 with beta, mean over patches and axes.
TEST(Guidance, LossIsItsDefinition) {
  const double beta = 0.2;
  const auto prior = make({{"beta", beta}, {"hidden", 5}, {"lambda", 10}}, 4);
  prior->to(at::kDouble);
  const auto p = prior->named_parameters();
  const Tensor features = at::randn({2, 2 + 12, 4}, at::kDouble);
  const AuxLoss loss = prior->loss({{"post-norm", features}}, {{3, 4}, 2}, test::test_context(true));
  double sum = 0;
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t n = 0; n < 12; ++n) {
      for (std::int64_t axis = 0; axis < 2; ++axis) {
        const auto part = [&](const char* name) { return p[name].slice(0, axis * 5, axis * 5 + 5); };
        const Tensor hidden = at::relu(at::mv(part("in_weight"), features[b][2 + n]) + part("in_bias"));
        const double found = (hidden * p["out_weight"][axis]).sum().item<double>() + p["out_bias"][axis].item<double>();
        const double target = axis == 0 ? static_cast<double>(n / 4) / 2 : static_cast<double>(n % 4) / 3;
        const double e = std::abs(found - target);
        sum += e < beta ? 0.5 * e * e / beta : e - 0.5 * beta;
      }
    }
  }
  EXPECT_NEAR(loss.value.item<double>(), 10 * sum / (2 * 12 * 2), 1e-12);
  EXPECT_EQ(loss.fields[0].first, "guidance");
  EXPECT_FALSE(loss.fields[0].second.requires_grad());
}

TEST(Guidance, CanMeasureErrorsAbsolutelyOrSquaredAndCountInPatches) {
  const auto value = [](const Json& more) {
    Json options = {{"lambda", 10}, {"hidden", 5}};
    if (!more.is_null()) options.update(more);
    const auto prior = make(options, 4);
    for (const Tensor& p : prior->parameters()) p.detach().zero_();  // every coordinate is read as 0
    return prior->loss({{"post-norm", at::randn({2, 12, 4})}}, {{3, 4}, 0}, test::test_context(true))
        .value.item<double>();
  };
  // Targets: rows 0, 1/2, 1 and columns 0, 1/3, 2/3, 1; or 0..2 and 0..3.
  const double rows_square = (0.25 + 1) / 3, columns_square = (1 / 9.0 + 4 / 9.0 + 1) / 4;
  EXPECT_NEAR(value({{"error", "l1"}}), 10 * 0.5, 1e-5);
  EXPECT_NEAR(value({{"error", "mse"}}), 10 * (rows_square + columns_square) / 2, 1e-5);
  EXPECT_NEAR(value({}), 10 * 0.5 * (rows_square + columns_square) / 2, 1e-5);  // smooth L1, beta 1
  EXPECT_NEAR(value({{"error", "l1"}, {"targets", "patches"}}), 10 * (1 + 1.5) / 2, 1e-5);
  EXPECT_NEAR(value({{"targets", "patches"}}), 10 * ((0.5 + 1.5) / 3 + (0.5 + 1.5 + 2.5) / 4) / 2, 1e-5);
}

TEST(Guidance, IsFiniteOnAGridOfOneRow) {
  const auto prior = make({}, 4, {1, 5});
  EXPECT_TRUE(std::isfinite(
      prior->loss({{"post-norm", at::randn({2, 5, 4})}}, {{1, 5}, 0}, test::test_context(true)).value.item<double>()));
}

TEST(Guidance, ReadsTheTapItIsTold) {
  const auto prior = make({{"tap", "pre-norm"}}, 4);
  const Tensor read = at::randn({2, 12, 4}), other = at::randn({2, 12, 4});
  const auto value = [&](const Taps& taps) {
    return prior->loss(taps, {{3, 4}, 0}, test::test_context(true)).value.item<double>();
  };
  EXPECT_EQ(value({{"pre-norm", read}, {"post-norm", other}}), value({{"pre-norm", read}, {"post-norm", read}}));
}

// An encoder without position encoding is permutation equivariant, so what guidance reads moves with the
// patches.
TEST(Guidance, CoordinatesFollowPermutedPatchesExactly) {
  const auto model = test::small_model({{"guidance"}});
  model->to(at::kDouble);
  const Tensor images = test::test_images(2, {8, 10}).to(at::kDouble);
  const Tensor order = RandomStreams(1).permutation("test", "order", 0, 20);
  const Tensor patches =
      images.reshape({2, 2, 4, 2, 5, 2}).permute({0, 2, 4, 1, 3, 5}).reshape({2, 20, 2, 2, 2}).index_select(1, order);
  const Tensor permuted = patches.reshape({2, 4, 5, 2, 2, 2}).permute({0, 3, 1, 4, 2, 5}).reshape({2, 2, 8, 10});
  const Tensor expected = model->forward(images, test::test_context(false)).tokens.index_select(1, order);
  EXPECT_LT(test::largest_difference(model->forward(permuted, test::test_context(false)).tokens, expected), 1e-12);
}

TEST(Guidance, ReadsAConstantImageTheSameEverywhere) {
  const auto model = test::small_model({{"guidance"}});
  model->to(at::kDouble);
  const Tensor tokens = model->forward(at::full({1, 2, 8, 10}, 0.7, at::kDouble), test::test_context(false)).tokens;
  EXPECT_LT(test::largest_difference(tokens, tokens.slice(1, 0, 1).expand_as(tokens)), 1e-12);
}

TEST(Guidance, PartsAreTrainingOnlyAndExemptFromDecay) {
  const auto model = test::small_model({{"guidance"}});
  int seen = 0;
  for (const auto& entry : model->named_parameters()) {
    const bool own = entry.key().starts_with("priors.guidance.");
    EXPECT_EQ(model->training_only(entry.key()), own) << entry.key();
    EXPECT_TRUE(!own || model->decay(entry.key(), entry.value()) == Decay::kExempt) << entry.key();
    seen += own;
  }
  EXPECT_EQ(seen, 4);
}

}  // namespace
}  // namespace locus::engine
