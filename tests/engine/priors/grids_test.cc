// Every prior on the grids its papers use and on thin ones: the shape is kept, every number is finite.
#include <gtest/gtest.h>

#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

std::vector<test::PriorSetting> settings() {
  std::vector<test::PriorSetting> all;
  for (const PriorItem& item : prior_items()) all.push_back({item.id()});
  all.push_back({"irpe", {{"on", "qkv"}, {"method", "cross"}}});
  all.push_back({"spatial-decay", {{"mode", "decomposed"}}});
  all.push_back({"violin", {{"curves", {"snake", "hilbert", "peano", "zigzag"}}}});
  all.push_back(
      {"violin", {{"curves", {"snake-transposed", "hilbert-transposed", "peano-transposed", "zigzag-transposed"}}}});
  return all;
}

TEST(Grids, EveryPriorIsFiniteOnThoseOfThePapers) {
  const at::NoGradGuard no_grad;
  for (const auto& setting : settings()) {
    const auto shape = test::fitting(setting, {.pool = "cls", .depth = 1});
    const auto model = test::small_model({setting}, shape);
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{14, 14}, {16, 16}, {7, 5}, {5, 7}, {1, 9}}) {
      const Features features =
          model->forward(test::test_images(1, {2 * rows, 2 * columns}), test::test_context(false));
      const std::int64_t prefix = shape.pool == "cls" ? 1 : 0;
      EXPECT_EQ(features.tokens.sizes(), (at::IntArrayRef{1, prefix + rows * columns, shape.dim}));
      EXPECT_TRUE(features.tokens.isfinite().all().item<bool>())
          << setting.name() << " on " << rows << " x " << columns;
    }
  }
}

}  // namespace
}  // namespace locus::engine
