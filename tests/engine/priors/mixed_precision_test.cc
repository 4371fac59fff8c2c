// Every prior trains by the rules of mixed precision: weights in float32, products in half of that, and about the same
// tokens and gradients.
#include <gtest/gtest.h>

#include "engine/base/precision.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

struct Pass {
  Tensor tokens;
  std::map<std::string, Tensor> gradients;
};

Pass pass_in(Precision precision, const PriorSetting& setting) {
  const test::ModelShape shape = test::fitting(setting, {.pool = "cls", .registers = 1});
  const auto model = test::small_model({setting}, shape);
  const Tensor images = test::test_images(3, shape.extent);
  const ForwardContext context = test::test_context(true);
  Tensor loss;
  Pass out;
  {
    const Autocast cast(precision, at::kCPU);
    const Features features = model->forward(images, context);
    const Tensor weight = RandomStreams(6).normal("test", "weight", 0, features.tokens.sizes());
    loss = (features.tokens * weight).sum();
    for (const AuxLoss& auxiliary : model->auxiliary_losses(features, context)) loss = loss + auxiliary.value;
    out.tokens = features.tokens.detach().to(at::kFloat);
  }
  loss.backward();
  for (const auto& item : model->named_parameters()) {
    EXPECT_EQ(item.value().scalar_type(), at::kFloat) << item.key();
    if (item.value().grad().defined()) out.gradients[item.key()] = item.value().grad();
  }
  return out;
}

// |found - expected| as a share of |expected|
double apart(const Tensor& found, const Tensor& expected) {
  return ((found - expected).norm() / (expected.norm() + 1e-6)).item<double>();
}

class EveryPrior : public testing::TestWithParam<PriorSetting> {};

TEST_P(EveryPrior, TrainsInMixedPrecision) {
  const Pass exact = pass_in(Precision::kFloat32, GetParam());
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    const Pass found = pass_in(precision, GetParam());
    EXPECT_LT(apart(found.tokens, exact.tokens), 0.05) << name_of(precision);
    EXPECT_GT(apart(found.tokens, exact.tokens), 0) << name_of(precision);
    ASSERT_EQ(found.gradients.size(), exact.gradients.size());
    double difference = 0, length = 0;  // of all gradients together: some by themselves are nearly nothing
    for (const auto& [name, gradient] : found.gradients) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name << " in " << name_of(precision);
      difference += (gradient - exact.gradients.at(name)).square().sum().item<double>();
      length += exact.gradients.at(name).square().sum().item<double>();
    }
    EXPECT_LT(difference, 0.01 * length) << name_of(precision);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPrior, testing::ValuesIn(test::all_settings()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace locus::engine
