// No T x T tensor for any prior that is made of forms, be it a bias, a factor or a term of the probabilities: the largest
// allocation of a training step grows with the tokens, not with their square.
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

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

// The value that the setting gives an option, or its default.
Json value_of(const Json& item, const PriorSetting& setting, const std::string& option) {
  if (setting.options.contains(option)) return setting.options.at(option);
  for (const Json& each : item.at("options")) {
    if (each.at("name") == option) return each.at("default");
  }
  ADD_FAILURE() << setting.id << " says what it does under the option " << option << ", which it has not";
  return {};
}

// Whether the catalog names the setting as one that makes a tensor of all pairs (facts.all_pairs).
bool makes_all_pairs(const PriorSetting& setting) {
  const Json& item = prior_item(setting.id).item.json();
  const Json named = item.at("facts").value("all_pairs", Json::array());
  return std::any_of(named.begin(), named.end(), [&](const Json& each) {
    const Json &when = each.at("when"), &values = when.at("values");
    const Json value = value_of(item, setting, when.at("option").get<std::string>());
    return std::find(values.begin(), values.end(), value) != values.end();
  });
}

std::vector<PriorSetting> settings_where(bool all_pairs) {
  std::vector<PriorSetting> all;
  for (const PriorItem& item : prior_items()) {
    for (const PriorSetting& setting : test::settings_of(item)) {
      if (makes_all_pairs(setting) == all_pairs) all.push_back(setting);
    }
  }
  return all;
}

// By how much the largest allocation grows with the tokens: 1 as they do, 2 as their square.
double growth(const PriorSetting& setting, const std::vector<std::int64_t>& sides) {
  std::vector<double> x, y;
  for (const std::int64_t side : sides) {
    const Step step = train_step(setting, side);
    EXPECT_EQ(step.path, "flash") << "at side " << side;
    x.push_back(std::log(static_cast<double>(side * side)));
    y.push_back(std::log(step.bytes));
  }
  return (y.back() - y.front()) / (x.back() - x.front());
}

class EveryPriorOfForms : public testing::TestWithParam<PriorSetting> {};

TEST_P(EveryPriorOfForms, TakesMemoryLinearInTheTokens) {
  const double slope = growth(GetParam(), {16, 32, 64});
  EXPECT_LT(slope, 1.2);
  EXPECT_GT(slope, 0.5) << "the counter saw nothing grow";
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorOfForms, testing::ValuesIn(settings_where(false)),
                         [](const auto& test) { return test.param.name(); });

// The catalog names no setting without need. Frames are the reason of one, which an image has not.
class EveryPriorOfPairs : public testing::TestWithParam<PriorSetting> {};

TEST_P(EveryPriorOfPairs, TakesTheSquareAsTheCatalogSays) {
  if (GetParam().options.contains("cross_frame")) GTEST_SKIP() << "of videos alone";
  EXPECT_GT(growth(GetParam(), {16, 32}), 1.5);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPriorOfPairs, testing::ValuesIn(settings_where(true)),
                         [](const auto& test) { return test.param.name(); });

// The counter itself: a dense mask is seen.
TEST(CountingAllocator, SeesTheSquareOfADenseMask) {
  const PriorSetting dense{"violin", {{"prefix", "learned"}}};
  const double small = train_step(dense, 16).bytes, large = train_step(dense, 32).bytes;
  EXPECT_GT(std::log(large / small) / std::log(4.0), 1.6);
}

}  // namespace
}  // namespace locus::engine
