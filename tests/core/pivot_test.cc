// The numbers of the pivot table, where the table through the wire (tests/server/pivot_table_test.cc) does
// not look.
#include "core/statistics/pivot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace locus {
namespace {

PivotGroup group(const std::vector<double>& values, int reference = -1, std::int64_t first_seed = 0) {
  PivotGroup out{{}, reference};
  for (const double value : values) out.samples.push_back({.seed = first_seed++, .value = value, .measured = true});
  return out;
}

PivotInput input(std::vector<PivotGroup> cells, int columns = 1) {
  PivotInput out;
  out.columns.resize(static_cast<std::size_t>(columns));
  out.cells = std::move(cells);
  return out;
}

TEST(Paper, ASeedCountsOnlyWithAllItsUnits) {
  PivotGroup two = group({1, 2});
  two.samples.push_back({.unit = 1, .seed = 0, .value = 3, .measured = true});
  two.samples.push_back({.unit = 1, .seed = 1, .failed = true});
  const PivotCellNumbers cell = compute_pivot(input({two})).cells[0];
  ASSERT_EQ(cell.values.size(), 1u);
  EXPECT_EQ(cell.values[0].value, 2);
  EXPECT_THAT(cell.missing, testing::ElementsAre(1));
  EXPECT_THAT(cell.failed, testing::ElementsAre(1));
}

TEST(Paper, ComparesOnlyWhatCoversTheSameUnits) {
  PivotGroup other = group({5, 6, 7}, 0);
  for (PivotSample& sample : other.samples) sample.unit = 1;
  const PivotNumbers out = compute_pivot(input({group({1, 2, 3}, 0), other}));
  EXPECT_TRUE(std::isnan(out.cells[1].difference));
  EXPECT_TRUE(std::isnan(out.cells[1].p));
}

TEST(Paper, TakesWelchWhereNoSeedIsSharedOutsideTheFamily) {
  PivotInput one = input({group({80, 81, 79}, 0), group({84, 85, 83}, 0, 10)});
  const PivotNumbers out = compute_pivot(one);
  EXPECT_TRUE(out.cells[1].unpaired);
  EXPECT_EQ(test_of(one, out.cells[1]), PivotTest::kWelch);
  EXPECT_EQ(out.cells[1].pairs, 0);
  EXPECT_EQ(out.cells[1].difference, 4);
  EXPECT_NEAR(out.cells[1].p, 0.00804989310083772, 1e-9);  // scipy.stats.ttest_ind(equal_var=False)
  EXPECT_THAT(out.comparisons, testing::ElementsAre(0));
  EXPECT_TRUE(std::isnan(out.cells[1].adjusted));
  EXPECT_FALSE(out.cells[1].significant) << "no star without pairs";
  one.test = PivotTest::kWelch;
  EXPECT_TRUE(compute_pivot(one).cells[1].significant) << "unless it was asked for";
}

TEST(Paper, MarksNothingAtTwoSeedsOfAHalfFinishedTable) {
  const PivotNumbers out =
      compute_pivot(input({group({80.00, 80.10}, 0), group({80.60, 80.70}, 0, 2), group({81.00, 81.11}, 0)}));
  EXPECT_FALSE(out.cells[1].significant);
  EXPECT_FALSE(out.cells[2].significant);
  EXPECT_THAT(out.comparisons, testing::ElementsAre(1));
}

TEST(Paper, HasNoPWhereATTestMeetsNoSpread) {
  PivotInput one = input({group({80.00, 80.25}, 0), group({80.50, 80.75}, 0)});
  one.test = PivotTest::kPairedT;
  for (const PivotTest test : {PivotTest::kPairedT, PivotTest::kWelch}) {
    one.test = test;
    if (test == PivotTest::kWelch) one.cells = {group({80, 80}, 0), group({81, 81}, 0)};
    const PivotCellNumbers cell = compute_pivot(one).cells[1];
    EXPECT_TRUE(cell.no_spread);
    EXPECT_TRUE(std::isnan(cell.p));
    EXPECT_FALSE(cell.significant);
  }
}

TEST(Paper, CountsNoFewerPairsThanTheSignFlipTestNeeds) {
  PivotInput one = input({group({1, 2, 3}, 0), group({11, 12, 13.01}, 0), group({21, 22, 23.01}, 0)});
  one.detect = 5;
  EXPECT_EQ(compute_pivot(one).cells[1].pairs_needed, 7) << "power alone asks for two; Holm over 2 for p = 0.025";
  one.test = PivotTest::kPairedT;
  EXPECT_EQ(compute_pivot(one).cells[1].pairs_needed, 2);
}

TEST(Paper, CorrectsEveryMetricByItself) {
  const auto far = [](int reference) { return group({9, 9.5, 10, 11, 12, 13}, reference); };
  const auto near = [](int reference) { return group({1, 2, 3, 4, 5, 6}, reference); };
  PivotInput two = input({near(0), near(1), far(0), far(1)}, 2);
  two.columns[1].family = 1;
  const PivotNumbers out = compute_pivot(two);
  EXPECT_THAT(out.comparisons, testing::ElementsAre(1, 1));
  EXPECT_EQ(out.cells[2].adjusted, out.cells[2].p);
  EXPECT_TRUE(out.cells[2].significant);
  two.columns[1].family = 0;
  EXPECT_EQ(compute_pivot(two).cells[2].adjusted, 2 * out.cells[2].p);
  EXPECT_FALSE(compute_pivot(two).cells[2].significant);
}

TEST(Paper, MarksNothingThatCannotBeCompared) {
  PivotInput one = input({group({1, 2, 3, 4, 5, 6}, 0), group({9, 9.5, 10, 11, 12, 13}, 0)});
  one.cells[1].incomparable = true;
  const PivotNumbers out = compute_pivot(one);
  EXPECT_LE(out.cells[1].adjusted, 0.05);
  EXPECT_FALSE(out.cells[1].significant);
}

TEST(Paper, EqualBestShareTheMarkAndInfinitiesAreNeverBest) {
  const double infinity = std::numeric_limits<double>::infinity();
  const PivotNumbers out =
      compute_pivot(input({group({2}), group({2}), group({1}), group({infinity}), group({kUndefined})}));
  EXPECT_TRUE(out.cells[0].best && out.cells[1].best);
  EXPECT_FALSE(out.cells[2].second) << "two best leave no second";
  EXPECT_FALSE(out.cells[3].best);
  EXPECT_FALSE(out.cells[3].finite);
  EXPECT_FALSE(out.cells[4].finite);
  EXPECT_EQ(out.cells[4].values.size(), 1u) << "a result that is NaN is a result";
}

TEST(Paper, EqualMeansShareAMarkHoweverTheyWereSummed) {
  const PivotNumbers out = compute_pivot(
      input({group({80.93, 80.27, 80.52, 80.35, 80.23}), group({80.93, 80.34, 80.52, 80.28, 80.23}), group({70})}));
  EXPECT_TRUE(out.cells[0].best && out.cells[1].best);
  EXPECT_FALSE(out.cells[2].second);
  PivotInput close = input({group({80.461}), group({80.459}), group({80.451})});
  EXPECT_TRUE(compute_pivot(close).cells[1].best) << "both print 80.46";
  EXPECT_FALSE(compute_pivot(close).cells[2].best) << "this prints 80.45";
  close.digits = 3;
  EXPECT_FALSE(compute_pivot(close).cells[1].best);
}

// A column in which every seed of a row failed.
PivotGroup failed(int seeds, int reference = -1) {
  PivotGroup out{{}, reference};
  for (int seed = 0; seed < seeds; ++seed) out.samples.push_back({.seed = seed, .failed = true});
  return out;
}

TEST(Paper, ARowThatFailedInAColumnIsLastThereAndHasNoMeanOverTheOthers) {
  const PivotNumbers out = compute_pivot(
      input({group({80, 81}), group({80, 81}), group({79, 80}),  // three columns of the steady row
             group({85, 86}), group({85, 86}), failed(2)},       // better in two of them, diverged in the third
            3));
  ASSERT_EQ(out.summaries.size(), 2u);
  const PivotSummaryNumbers &steady = out.summaries[0], &diverged = out.summaries[1];
  EXPECT_EQ(steady.columns, 3);
  EXPECT_DOUBLE_EQ(steady.mean, (80.5 + 80.5 + 79.5) / 3) << "over all its columns";
  EXPECT_DOUBLE_EQ(steady.rank, (2 + 2 + 1) / 3.0);
  EXPECT_EQ(diverged.columns, 2);
  EXPECT_EQ(diverged.of, 3);
  EXPECT_TRUE(std::isnan(diverged.mean));
  EXPECT_TRUE(std::isnan(diverged.iqm));
  EXPECT_DOUBLE_EQ(diverged.rank, (1 + 1 + 2) / 3.0);
}

TEST(Paper, InfiniteMeansRankLastWhicheverWayIsBetter) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool maximize : {true, false}) {
    PivotInput two = input({group({maximize ? infinity : -infinity}), group({2}), group({1}), group({2})}, 2);
    for (PivotColumn& column : two.columns) column.maximize = maximize;
    const PivotNumbers out = compute_pivot(two);
    EXPECT_DOUBLE_EQ(out.summaries[0].rank, 1.75);
    EXPECT_TRUE(std::isnan(out.summaries[0].mean));
    EXPECT_DOUBLE_EQ(out.summaries[1].rank, 1.25);
  }
}

TEST(Paper, ARowThatWaitsIsNotRankedAndChangesNobodysRank) {
  PivotGroup waiting;
  for (int seed = 0; seed < 2; ++seed) waiting.samples.push_back({.seed = seed});
  const PivotNumbers out =
      compute_pivot(input({group({1, 2}), group({3, 4}), group({5, 6}), group({7, 8}), group({9, 9}), waiting}, 2));
  ASSERT_EQ(out.summaries.size(), 3u);
  EXPECT_EQ(out.summaries[2].columns, 1);
  EXPECT_TRUE(std::isnan(out.summaries[2].rank));
  EXPECT_TRUE(std::isnan(out.summaries[2].mean));
  EXPECT_EQ(out.summaries[0].rank, 2);
  EXPECT_EQ(out.summaries[1].rank, 1);
}

TEST(Paper, AColumnWithoutAFiniteMeanCountsForNobody) {
  const PivotNumbers out = compute_pivot(
      input({group({1, 2}), group({3, 4}), failed(2), group({5, 6}), group({7, 8}), group({kUndefined, 1})}, 3));
  EXPECT_THAT(out.empty_columns, testing::ElementsAre(2));
  EXPECT_EQ(out.summaries[0].of, 2);
  EXPECT_EQ(out.summaries[0].mean, 2.5);
}

TEST(Paper, WithholdsTheBootstrapIntervalBelowFiveSeeds) {
  const std::vector<double> four = {1, 2, 3, 5}, five = {1, 2, 3, 5, 6};
  EXPECT_TRUE(std::isnan(compute_pivot(input({group(four), group(five)}, 2)).summaries[0].low));
  EXPECT_TRUE(std::isfinite(compute_pivot(input({group(five), group(five)}, 2)).summaries[0].low));
}

TEST(Paper, OfTheBestSeedsGivesTheirMeanAndNothingThatTheChoiceSpoils) {
  PivotInput one = input({group({1, 2, 3, 4, 5, 6}, 0), group({9, 9.5, 10, 11, 12, 13}, 0)});
  one.columns[0].top = 2;
  const PivotNumbers out = compute_pivot(one);
  EXPECT_DOUBLE_EQ(out.cells[1].mean, 12.5);
  EXPECT_DOUBLE_EQ(out.cells[1].mean_all, 64.5 / 6);
  EXPECT_DOUBLE_EQ(out.cells[1].difference, 12.5 - 5.5);
  EXPECT_TRUE(out.cells[1].best);
  EXPECT_FALSE(out.cells[1].significant);
  for (const double none :
       {out.cells[1].std, out.cells[1].low, out.cells[1].p, out.cells[1].adjusted, out.cells[1].difference_low})
    EXPECT_TRUE(std::isnan(none));
  EXPECT_THAT(out.comparisons, testing::ElementsAre(0));
}

TEST(Paper, LeavesWhatASearchThrewOutOutOfTestsAndMarks) {
  PivotInput one =
      input({group({1, 2, 3, 4, 5, 6}, 0), group({9, 9.5, 10, 11, 12, 13}, 0), group({2, 3, 5, 5, 7, 8}, 0)});
  one.cells[1].untested = true;
  const PivotNumbers out = compute_pivot(one);
  EXPECT_FALSE(out.cells[1].best);
  EXPECT_TRUE(out.cells[2].best);
  EXPECT_TRUE(std::isnan(out.cells[1].p));
  EXPECT_THAT(out.comparisons, testing::ElementsAre(1));
  EXPECT_TRUE(std::isfinite(out.cells[1].mean));
}

TEST(Paper, MarksTestsAndRanksNothingOnValuesThatHaveChosen) {
  PivotInput two = input({group({1, 2, 3, 4, 5, 6}, 0), group({1, 2, 3, 4, 5, 6}, 1),
                          group({9, 9.5, 10, 11, 12, 13}, 0), group({9, 9.5, 10, 11, 12, 13}, 1)},
                         2);
  for (PivotColumn& column : two.columns) column.untested = true;
  const PivotNumbers out = compute_pivot(two);
  for (const PivotCellNumbers& cell : out.cells) {
    EXPECT_FALSE(cell.best || cell.second || cell.significant);
    EXPECT_TRUE(std::isnan(cell.p));
  }
  ASSERT_EQ(out.summaries.size(), 2u);
  EXPECT_TRUE(std::isnan(out.summaries[0].rank));
}

}  // namespace
}  // namespace locus
