// Which tokens meet in which window, and what an attention layer makes of windows.
#include <gtest/gtest.h>

#include "engine/attention/attention.h"
#include "engine/backbones/block.h"
#include "engine/priors/offsets.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

std::vector<std::int64_t> row(const Tensor& t, std::int64_t i) {
  const Tensor flat = t[i].to(at::kLong).contiguous();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

std::int64_t masked_windows(const Parts& parts) {
  return parts.region.ne(parts.region.slice(1, 0, 1)).any(1).sum().item<std::int64_t>();
}

// Rows of a 4 x 4 grid count 0 to 3, 4 to 7, ...
TEST(Windows, ShiftedByOneBringOppositeCornersTogetherAndHideThemFromEachOther) {
  const Parts parts = parts_of({{2, 2}, {1, 1}}, {{4, 4}, 0});
  const Tensor take = parts.take.view({4, 4});
  EXPECT_EQ(parts.count, 4);
  EXPECT_EQ(parts.padding, 0);
  EXPECT_EQ(row(take, 0), (std::vector<std::int64_t>{5, 6, 9, 10}));
  EXPECT_EQ(row(take, 3), (std::vector<std::int64_t>{15, 12, 3, 0}));
  EXPECT_EQ(row(parts.region, 0), (std::vector<std::int64_t>{0, 0, 0, 0}));
  const auto corner = row(parts.region, 3);
  EXPECT_EQ(std::set<std::int64_t>(corner.begin(), corner.end()).size(), 4U) << "every place sees itself alone";
}

TEST(Windows, LookUpRelativePositionsInTheRowsOfSwin) {
  EXPECT_TRUE(at::equal(PairIndex(offset_rule({{2, 2}, 0}, at::kCPU)).dense(),
                        at::tensor({4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4}, at::kLong).view({4, 4})));
}

TEST(Windows, OfSwinAreAsManyAndAsManyOfThemMaskedAsPublished) {
  const struct {
    std::vector<std::int64_t> grid;
    std::int64_t windows, masked, padded;
  } cases[] = {{{56, 56}, 64, 15, 0},
               {{28, 28}, 16, 7, 0},
               {{14, 14}, 4, 3, 0},
               {{200, 336}, 29 * 48, 76, 203 * 336 - 200 * 336},
               {{100, 168}, 15 * 24, 38, 105 * 168 - 100 * 168},
               {{50, 84}, 8 * 12, 19, 56 * 84 - 50 * 84},
               {{25, 42}, 4 * 6, 9, 28 * 42 - 25 * 42}};
  for (const auto& [grid, windows, masked, padded] : cases) {
    const Parts parts = parts_of({{7, 7}, {3, 3}}, {grid, 0});
    EXPECT_EQ(parts.count, windows) << Json(grid);
    EXPECT_EQ(masked_windows(parts), masked) << Json(grid);
    EXPECT_EQ(parts.padding, padded) << Json(grid);
    EXPECT_TRUE(at::equal(parts.take.index_select(0, parts.back), at::arange(parts.back.size(0)))) << Json(grid);
    EXPECT_TRUE(at::equal(std::get<0>(parts.take.sort()), at::arange(parts.take.size(0)))) << "a permutation";
  }
}

TEST(Windows, TakeTheGridApartAndPutItTogetherAgain) {
  const Tensor tokens = at::randn({2, 35, 3}), fill = at::full({1, 1, 3}, 7.0);
  for (const bool pad_first : {true, false}) {
    const Parts parts = parts_of({{3, 2}, {1, 1}, pad_first}, {{5, 7}, 0});
    const Tensor apart = parts.apart(tokens, fill);
    EXPECT_EQ(apart.sizes(), (at::IntArrayRef{2 * 2 * 4, 6, 3}));
    EXPECT_TRUE(at::equal(parts.together(apart), tokens));
    EXPECT_EQ(apart.eq(7.0).sum().item<std::int64_t>(), 2 * 3 * (6 * 8 - 35));
  }
}

std::shared_ptr<Attention> layer_of(const AttentionOptions& options) {
  const LayerInfo info{.width = 8, .heads = 2, .scale = 0.5, .reference = {{2, 2}, 0}};
  const auto layer =
      std::make_shared<Attention>(info, std::vector<AttachedPrior>(), plain_linear(), "attention", options);
  layer->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& entry : layer->named_parameters())
    entry.value().copy_(RandomStreams(2).normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.4));
  return layer;
}

Tensor run(const AttentionOptions& options, const Tensor& x, const Layout& layout) {
  return layer_of(options)->forward(x, layout, test::test_context(false));
}

TEST(Windows, AsLargeAsTheGridAreTheGrid) {
  const Tensor x = at::randn({3, 20, 8}, at::kDouble);
  EXPECT_LT(largest_difference(run({.partition = {{4, 5}, {0, 0}}}, x, {{4, 5}, 0}), run({}, x, {{4, 5}, 0})), 1e-12);
}

TEST(Windows, WithoutShiftAttendIndependently) {
  Tensor x = at::randn({2, 24, 8}, at::kDouble);
  const AttentionOptions windows{.partition = {{2, 3}, {0, 0}}};
  const Tensor before = run(windows, x, {{4, 6}, 0});
  x.select(1, 0).mul_(-2);  // the first window: rows 0 and 1, columns 0 to 2
  const Tensor moved = run(windows, x, {{4, 6}, 0}).ne(before).any(2)[0];
  EXPECT_EQ(row(moved.nonzero().t(), 0), (std::vector<std::int64_t>{0, 1, 2, 6, 7, 8}));
}

// Padding in front of the shift and behind it are different networks where there is padding, and one where not.
TEST(Windows, DependOnTheOrderOfPaddingAndShiftOnlyWhereThereIsPadding) {
  const auto difference = [](std::vector<std::int64_t> extent) {
    const Tensor x = RandomStreams(4).normal("test", "x", 0, {1, extent[0] * extent[1], 8}).to(at::kDouble);
    return largest_difference(run({.partition = {{3, 3}, {1, 1}, true}}, x, {extent, 0}),
                              run({.partition = {{3, 3}, {1, 1}, false}}, x, {extent, 0}));
  };
  EXPECT_EQ(difference({3, 6}), 0);
  EXPECT_GT(difference({5, 6}), 0.01);
}

TEST(Windows, AgreeOnEveryExecutionPath) {
  const Tensor x = at::randn({2, 35, 8}, at::kDouble);
  const Partition partition{{3, 2}, {1, 1}};
  for (const ExecutionPath& path : execution_paths()) {
    EXPECT_LT(largest_difference(run({.path = "explicit", .partition = partition}, x, {{5, 7}, 0}),
                                 run({.path = std::string(path.name), .partition = partition}, x, {{5, 7}, 0})),
              1e-12)
        << path.name;
  }
}

TEST(Windows, RefusePrefixTokensOtherRanksAndAxes) {
  const Tensor x = at::randn({1, 5, 8}, at::kDouble);
  const Partition partition{{2, 2}, {0, 0}};
  EXPECT_THROW(run({.partition = partition}, x, {{2, 2}, 1}), std::invalid_argument);
  EXPECT_THROW(run({.partition = partition}, x, {{5}, 0}), std::invalid_argument);
  EXPECT_THROW(layer_of({.pattern = Pattern::kAxial, .partition = partition}), std::invalid_argument);
}

// Multiply-adds of Swin-T at 224 x 224 as published, by part: maps of attention, its products, the MLPs.
TEST(Flops, OfBlocksInWindowsAreThoseOfSwin) {
  const std::int64_t depths[] = {2, 2, 6, 2};
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < 4; ++s) {
    const std::int64_t width = 96 << s, side = 56 >> s;
    const LayerInfo info{.width = width, .heads = 3 << s, .hidden = 4 * width, .reference = {{7, 7}, 0}};
    const Block block({.info = info, .attention = {.partition = {{7, 7}, {0, 0}}}}, {}, plain_linear(), "block");
    sum += depths[s] * block.flops({{side, side}, 0});
  }
  EXPECT_EQ(sum, 2 * (1'387'266'048 + 140'141'568 + 2'774'532'096));
}

}  // namespace
}  // namespace locus::engine
