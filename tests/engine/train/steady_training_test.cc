// Whole trainings, of every recipe: once they have settled, their steps fetch no memory from the system.
#include "engine/base/memory.h"
#include "tests/engine/support/names.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kSettlingSteps = 48, kAllSteps = 96;

class SteadyTraining : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }
  TemporaryFolder folder_;
};

// Data, augmentation, mixing, forward, backward, clipping, update, averages and the curve. Sizes that a recipe draws anew
// for every step (of a crop, say) are met in time: a few blocks may be missing still.
TEST_P(SteadyTraining, FetchesNoMemoryOnceItHasSettled) {
  keep_tensor_memory();
  Json configuration = small_configuration();
  configuration["recipe"] = {
      {"id", GetParam()},
      {"options",
       {{"epochs", 12}, {"batch", 8}, {"limit", 64}, {"log_every", 1000}, {"lr", 1e-4}, {"validate_every", 0}}}};
  RecordingObserver observer;
  std::vector<TensorMemory> before;  // each step
  observer.on_wish = [&] {
    before.push_back(tensor_memory());
    return Wish::kContinue;
  };
  const StageReport report = run_stage(request_for(configuration, folder_.path() / "a"), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  ASSERT_EQ(before.size(), static_cast<std::size_t>(kAllSteps));
  const TensorMemory &settled = before.at(kSettlingSteps), &last = before.back();
  EXPECT_GT(last.requests, settled.requests);
  EXPECT_EQ(last.fetched, settled.fetched) << "of " << last.requests - settled.requests << " blocks";
}

INSTANTIATE_TEST_SUITE_P(Recipes, SteadyTraining, ::testing::ValuesIn(every_recipe()),
                         [](const auto& one) { return test::fit_for_a_name(one.param); });

}  // namespace
}  // namespace locus::engine
