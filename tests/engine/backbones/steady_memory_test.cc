// A steady training step fetches no memory from the system, with any prior.
#include <gtest/gtest.h>

#include "engine/base/memory.h"
#include "engine/train/optimizer.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kImages = 4, kSettling = 4, kSteady = 3;

// Forward, backward and AdamW on the same images.
class Steps {
 public:
  explicit Steps(const test::PriorSetting& setting)
      : shape_(test::fitting(setting, {.pool = "cls", .registers = 1})),
        model_(test::small_model({setting}, shape_)),
        images_(test::test_images(kImages, shape_.extent)) {
    ParameterGroup all;
    for (const auto& entry : model_->named_parameters()) all.parameters.push_back({entry.key(), entry.value()});
    optimizer_ = std::make_unique<AdamW>(std::vector{std::move(all)}, AdamW::Settings{});
  }

  void step() {
    const ForwardContext context = test::test_context(true, step_++);
    const Features features = model_->forward(images_, context);
    Tensor loss = features.tokens.square().mean();
    for (const AuxLoss& more : model_->auxiliary_losses(features, context)) loss = loss + more.value;
    loss.backward();
    optimizer_->step(1e-4);
  }

 private:
  test::ModelShape shape_;
  std::shared_ptr<Backbone> model_;
  Tensor images_;
  std::unique_ptr<AdamW> optimizer_;
  std::int64_t step_ = 0;
};

class SteadyMemory : public testing::TestWithParam<test::PriorSetting> {};

TEST_P(SteadyMemory, IsFetchedByTheFirstStepsAlone) {
  keep_tensor_memory();
  release_tensor_memory();
  Steps steps(GetParam());
  const TensorMemory before = tensor_memory();
  for (std::int64_t i = 0; i < kSettling; ++i) steps.step();
  const TensorMemory settled = tensor_memory();
  EXPECT_GT(settled.fetched, before.fetched);
  for (std::int64_t i = 0; i < kSteady; ++i) steps.step();
  EXPECT_GT(tensor_memory().requests, settled.requests);
  EXPECT_EQ(tensor_memory().fetched, settled.fetched);
}

std::vector<test::PriorSetting> every_prior() {
  std::vector<test::PriorSetting> out;
  for (const PriorItem& item : prior_items()) out.push_back({item.id()});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Catalog, SteadyMemory, testing::ValuesIn(every_prior()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace locus::engine
