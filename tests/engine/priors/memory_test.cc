// No T x T tensor for any prior that is made of forms, be it a bias, a factor or a term of the probabilities: the largest
// allocation of a training step grows with the tokens, not with their square.
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>

#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

// PyTorch's allocator, watched.
class Counting final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    std::size_t most = most_.load();
    while (bytes > most && !most_.compare_exchange_weak(most, bytes)) {
    }
    return c10::GetDefaultCPUAllocator()->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return c10::GetDefaultCPUAllocator()->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  void reset() { most_ = 0; }
  std::size_t most() const { return most_; }

  static Counting& installed() {
    static Counting* const instance = [] {
      auto* made = new Counting;  // lives as long as the process: tensors may outlive any owner
      c10::SetCPUAllocator(made, /*priority=*/100);
      return made;
    }();
    return *instance;
  }

 private:
  std::atomic<std::size_t> most_ = 0;
};

struct Step {
  double bytes;  // the largest allocation
  std::string path;
};

// One training step of one block of 64 channels on a grid of side x side patches; as many heads as every prior takes.
Step train_step(const PriorSetting& setting, std::int64_t side) {
  const test::ModelShape shape =
      test::fitting(setting, {.extent = {2 * side, 2 * side}, .pool = "cls", .dim = 64, .depth = 1, .heads = 4});
  const auto model = test::small_model({setting}, shape);
  const Tensor images = test::test_images(1, shape.extent);
  Counting::installed().reset();
  test::gradients(*model, images);
  return {static_cast<double>(Counting::installed().most()), model->path()};
}

// Settings whose terms are dense, each with what no form says.
const std::map<std::string, std::string> kDense = {
    {"violin_curve_weights_learned", "curves are averaged with a weight each"},
    {"violin_prefix_learned", "prefix tokens have a number of their own in the mask"},
    {"violin_distance_learned_order", "a rank is a sum over all pairs"},
};

class EveryPriorOfForms : public testing::TestWithParam<PriorSetting> {};

TEST_P(EveryPriorOfForms, TakesMemoryLinearInTheTokens) {
  const std::vector<std::int64_t> inputs = {16, 32, 64};
  std::vector<double> x, y;
  for (const std::int64_t side : inputs) {
    const Step step = train_step(GetParam(), side);
    EXPECT_EQ(step.path, "flash") << "at side " << side;
    x.push_back(std::log(static_cast<double>(side * side)));
    y.push_back(std::log(step.bytes));
  }
  const double slope = (y.back() - y.front()) / (x.back() - x.front());
  EXPECT_LT(slope, 1.2);
  EXPECT_GT(slope, 0.5) << "the counter saw nothing grow";
}

std::vector<PriorSetting> settings_of_forms() {
  std::vector<PriorSetting> all;
  for (const PriorItem& item : prior_items()) {
    for (const PriorSetting& setting : test::settings_of(item)) {
      if (!kDense.contains(setting.name())) all.push_back(setting);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorOfForms, testing::ValuesIn(settings_of_forms()),
                         [](const auto& test) { return test.param.name(); });

// The counter itself: a dense mask is seen.
TEST(CountingAllocator, SeesTheSquareOfADenseMask) {
  const PriorSetting dense{"violin", {{"prefix", "learned"}}};
  const double small = train_step(dense, 16).bytes, large = train_step(dense, 32).bytes;
  EXPECT_GT(std::log(large / small) / std::log(4.0), 1.6);
}

}  // namespace
}  // namespace locus::engine
