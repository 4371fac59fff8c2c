// The numbers of the paper table, where the table through the wire (tests/server/paper_table_test.cc) does
// not look.
#include "core/statistics/paper.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace locus {
namespace {

PaperGroup group(const std::vector<double>& values, int reference = -1, std::int64_t first_seed = 0) {
  PaperGroup out{{}, reference};
  for (const double value : values)
    out.samples.push_back({.seed = first_seed++, .value = value, .measured = true});
  return out;
}

PaperInput input(std::vector<PaperGroup> cells, int columns = 1) {
  PaperInput out;
  out.columns.resize(static_cast<std::size_t>(columns));
  out.cells = std::move(cells);
  return out;
}

TEST(Paper, ASeedCountsOnlyWithAllItsUnits) {
  PaperGroup two = group({1, 2});
  two.samples.push_back({.unit = 1, .seed = 0, .value = 3, .measured = true});
  two.samples.push_back({.unit = 1, .seed = 1, .failed = true});
  const PaperCellNumbers cell = compute_paper(input({two})).cells[0];
  ASSERT_EQ(cell.values.size(), 1u);
  EXPECT_EQ(cell.values[0].value, 2);
  EXPECT_THAT(cell.missing, testing::ElementsAre(1));
  EXPECT_THAT(cell.failed, testing::ElementsAre(1));
}

TEST(Paper, ComparesOnlyWhatCoversTheSameUnits) {
  PaperGroup other = group({5, 6, 7}, 0);
  for (PaperSample& sample : other.samples) sample.unit = 1;
  const PaperNumbers out = compute_paper(input({group({1, 2, 3}, 0), other}));
  EXPECT_TRUE(std::isnan(out.cells[1].difference));
  EXPECT_TRUE(std::isnan(out.cells[1].p));
}

TEST(Paper, TakesWelchWhereNoSeedIsShared) {
  const PaperNumbers out = compute_paper(input({group({80, 81, 79}, 0), group({84, 85, 83}, 0, 10)}));
  EXPECT_TRUE(out.cells[1].unpaired);
  EXPECT_EQ(out.cells[1].pairs, 0);
  EXPECT_EQ(out.cells[1].difference, 4);
  EXPECT_NEAR(out.cells[1].p, 0.00804989310083772, 1e-9);  // scipy.stats.ttest_ind(equal_var=False)
}

TEST(Paper, CorrectsEveryMetricByItself) {
  const auto far = [](int reference) { return group({9, 9.5, 10, 11, 12, 13}, reference); };
  const auto near = [](int reference) { return group({1, 2, 3, 4, 5, 6}, reference); };
  PaperInput two = input({near(0), near(1), far(0), far(1)}, 2);
  two.columns[1].family = 1;
  const PaperNumbers out = compute_paper(two);
  EXPECT_THAT(out.comparisons, testing::ElementsAre(1, 1));
  EXPECT_EQ(out.cells[2].adjusted, out.cells[2].p);
  EXPECT_TRUE(out.cells[2].significant);
  two.columns[1].family = 0;
  EXPECT_EQ(compute_paper(two).cells[2].adjusted, 2 * out.cells[2].p);
  EXPECT_FALSE(compute_paper(two).cells[2].significant);
}

TEST(Paper, MarksNothingThatCannotBeCompared) {
  PaperInput one = input({group({1, 2, 3, 4, 5, 6}, 0), group({9, 9.5, 10, 11, 12, 13}, 0)});
  one.cells[1].incomparable = true;
  const PaperNumbers out = compute_paper(one);
  EXPECT_LE(out.cells[1].adjusted, 0.05);
  EXPECT_FALSE(out.cells[1].significant);
}

TEST(Paper, EqualBestShareTheMarkAndInfinitiesAreNeverBest) {
  const double infinity = std::numeric_limits<double>::infinity();
  const PaperNumbers out =
      compute_paper(input({group({2}), group({2}), group({1}), group({infinity}), group({kUndefined})}));
  EXPECT_TRUE(out.cells[0].best && out.cells[1].best);
  EXPECT_FALSE(out.cells[2].second) << "two best leave no second";
  EXPECT_FALSE(out.cells[3].best);
  EXPECT_FALSE(out.cells[3].finite);
  EXPECT_FALSE(out.cells[4].finite);
  EXPECT_EQ(out.cells[4].values.size(), 1u) << "a result that is NaN is a result";
}

TEST(Paper, SummarisesColumnsThatEveryRowHas) {
  const PaperNumbers out = compute_paper(
      input({group({1, 2}), group({3, 4}), group({}), group({5, 6}), group({7, 8}), group({9, 9})}, 3));
  ASSERT_EQ(out.summaries.size(), 2u);
  EXPECT_EQ(out.summaries[0].columns, 2) << "the first row lacks the third column";
  EXPECT_EQ(out.summaries[0].mean, 2.5);
  EXPECT_EQ(out.summaries[0].rank, 2);
  EXPECT_EQ(out.summaries[1].rank, 1);
}

}  // namespace
}  // namespace locus
