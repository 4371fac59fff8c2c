// The leaderboard: order, pairs, corrections, what is flagged.
#include "core/statistics/leaderboard.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace locus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LeaderboardCell cell(std::int64_t id, const std::string& label, const std::vector<double>& values,
                     std::int64_t group = 0) {
  LeaderboardCell out;
  out.cell = id;
  out.label = label;
  out.pair_group = group;
  for (std::size_t i = 0; i < values.size(); ++i)
    out.values.push_back({static_cast<std::int64_t>(i), values[i], id * 100});
  return out;
}

LeaderboardInput demo() {
  LeaderboardInput input;
  input.seeds = {0, 1, 2, 3, 4};
  input.cells = {cell(0, "none", {80.1, 80.9, 79.7, 81.2, 80.4}), cell(1, "learned", {82.3, 82.0, 81.9, 82.8, 82.1}),
                 cell(2, "rope", {79.9, 81.5, 80.0, 81.0, 80.6})};
  input.cells[0].baseline = true;
  return input;
}

TEST(Table, RanksByMeanAndComparesPairsWithTheBaseline) {
  const LeaderboardOutput out = compute_leaderboard(demo());
  ASSERT_EQ(out.lines.size(), 3u);
  EXPECT_EQ(out.lines[0].cell.label, "learned");
  EXPECT_EQ(out.lines[1].cell.label, "rope");
  EXPECT_EQ(out.lines[2].cell.label, "none");
  const LeaderboardRow& best = out.lines[0];
  EXPECT_EQ(best.n, 5);
  EXPECT_EQ(best.pairs, 5);
  EXPECT_NEAR(best.mean, 82.22, 1e-9);
  EXPECT_NEAR(best.ci_low, 82.22 - 0.44249253612155764, 1e-9);
  EXPECT_NEAR(best.difference, 1.76, 1e-9);
  EXPECT_NEAR(best.difference_std, 0.4615192303685773, 1e-9);
  EXPECT_NEAR(best.difference_high, 1.76 + 0.5730518128273717, 1e-9);
  EXPECT_DOUBLE_EQ(best.p_sign_flip, 0.0625);
  EXPECT_DOUBLE_EQ(best.p_floor, 0.0625);
  EXPECT_NEAR(best.p_t, 0.0010378037737981095, 1e-12);
  EXPECT_DOUBLE_EQ(best.p_holm, 0.125);
  EXPECT_EQ(out.correction, "holm over 2 comparisons");
  const LeaderboardRow& baseline = out.lines[2];
  EXPECT_EQ(baseline.pairs, 0);
  EXPECT_TRUE(std::isnan(baseline.difference));
  EXPECT_TRUE(std::isnan(baseline.p_holm));
  EXPECT_THAT(
      out.warnings,
      ElementsAre("with 5 pairs the sign-flip test cannot go below p = 0.0625, corrected over 2 comparisons: no "
                  "difference can be marked before 7 pairs"));
}

TEST(Table, RanksTheLeastFirstWhenLessIsBetter) {
  LeaderboardInput input = demo();
  input.maximize = false;
  EXPECT_EQ(compute_leaderboard(input).lines[0].cell.label, "none");
}

TEST(Table, PairsOnlySeedsThatBothHaveAndFlagsTheMissing) {
  LeaderboardInput input = demo();
  input.cells[1].values.erase(input.cells[1].values.begin() + 3);
  input.cells[0].values.erase(input.cells[0].values.begin());
  const LeaderboardOutput out = compute_leaderboard(input);
  const LeaderboardRow& learned = out.lines[0];
  EXPECT_EQ(learned.n, 4);
  EXPECT_EQ(learned.pairs, 3);
  EXPECT_THAT(learned.missing_seeds, ElementsAre(3));
  EXPECT_NEAR(learned.difference, ((82.0 - 80.9) + (81.9 - 79.7) + (82.1 - 80.4)) / 3, 1e-9);
  EXPECT_DOUBLE_EQ(learned.p_floor, 0.25);
  EXPECT_THAT(out.warnings, Contains("'learned' has no result for seed 3"));
  EXPECT_THAT(out.warnings, Contains("'none' has no result for seed 0"));
}

TEST(Table, PutsCellsWithoutAValueLastInOrder) {
  LeaderboardInput input = demo();
  input.cells.insert(input.cells.begin(), cell(8, "empty", {}));
  input.cells.push_back(cell(9, "broken", {1, 2, std::nan(""), 4, 5}));
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_EQ(out.lines[3].cell.label, "empty");
  EXPECT_EQ(out.lines[4].cell.label, "broken");
  EXPECT_THAT(out.lines[3].missing_seeds, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(std::isnan(out.lines[4].p_sign_flip));
  EXPECT_THAT(out.warnings, Contains(HasSubstr("'broken' has results that are not finite")));
  EXPECT_EQ(out.correction, "holm over 2 comparisons");
}

TEST(Table, ComparesWithinPairGroups) {
  LeaderboardInput input = demo();
  for (const LeaderboardCell& one : demo().cells) {
    LeaderboardCell other = one;
    other.cell += 10;
    other.pair_group = 1;
    for (SeedMeasurement& value : other.values) value.value -= 10;
    input.cells.push_back(other);
  }
  input.cells[3].parameters = 1000;
  input.cells[4].parameters = 1500;
  input.cells[1].parameters = 90;
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_NEAR(out.lines[3].difference, 1.76, 1e-9);  // against its own baseline, not the better one
  EXPECT_EQ(out.lines[3].parameters_added, 500);
  EXPECT_EQ(out.lines[0].parameters_added, 0);
  EXPECT_EQ(out.lines[1].parameters_added, -1);
  EXPECT_EQ(out.correction, "holm over 4 comparisons");
}

TEST(Table, HasNoComparisonsWithoutABaseline) {
  LeaderboardInput input = demo();
  input.cells[0].baseline = false;
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_EQ(out.correction, "");
  EXPECT_TRUE(std::isnan(out.lines[0].difference));
  EXPECT_THAT(out.warnings, IsEmpty());
}

TEST(Table, WarnsThatHolmPutsEveryComparisonOutOfReach) {
  LeaderboardInput input;
  for (std::int64_t seed = 0; seed < 8; ++seed) input.seeds.push_back(seed);
  for (std::int64_t id = 0; id < 15; ++id) {
    std::vector<double> values;
    for (int seed = 0; seed < 8; ++seed) values.push_back(80 + static_cast<double>(id) + 0.1 * seed * seed);
    input.cells.push_back(cell(id, "c" + std::to_string(id), values));
  }
  input.cells[0].baseline = true;
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_GT(out.lines[0].p_holm, 0.05);
  EXPECT_THAT(out.warnings,
              ElementsAre(HasSubstr("corrected over 14 comparisons: no difference can be marked before 10")));
}

TEST(Table, PutsInfiniteMeansAfterFiniteOnes) {
  LeaderboardInput input = demo();
  input.cells.push_back(cell(9, "diverged", {1, 2, std::numeric_limits<double>::infinity(), 4, 5}));
  EXPECT_EQ(compute_leaderboard(input).lines[3].cell.label, "diverged");
}

TEST(Table, ShowsTimesLikeEveryOtherNumberAndSaysWhenTheyVary) {
  LeaderboardInput input = demo();
  input.cells[1].ms_per_step = {10, 30, 12, 11};
  const LeaderboardOutput out = compute_leaderboard(input);
  const LeaderboardRow line = out.lines[0];
  EXPECT_DOUBLE_EQ(line.ms_per_step, 15.75);
  EXPECT_TRUE(line.times_vary);
  EXPECT_FALSE(out.lines[1].times_vary);
  EXPECT_THAT(out.warnings, Contains(HasSubstr("ms/step varies between the seeds of 'learned' (10 to 30)")));
  EXPECT_NEAR(line.ms_per_step_std, std::sqrt((5.75 * 5.75 + 14.25 * 14.25 + 3.75 * 3.75 + 4.75 * 4.75) / 3), 1e-12);
}

TEST(Table, OfTheBestSeedsGivesTheirMeanAndNothingThatTheChoiceSpoils) {
  LeaderboardInput input = demo();
  input.top = 3;
  const LeaderboardOutput out = compute_leaderboard(input);
  const LeaderboardRow& best = out.lines[0];
  EXPECT_EQ(best.cell.label, "learned");
  EXPECT_EQ(best.n, 5);
  EXPECT_NEAR(best.mean, (82.8 + 82.3 + 82.1) / 3, 1e-9);
  EXPECT_NEAR(best.mean_all, 82.22, 1e-9);
  EXPECT_NEAR(best.difference, best.mean - (81.2 + 80.9 + 80.4) / 3, 1e-9);
  EXPECT_TRUE(std::isfinite(best.std_all));
  for (const LeaderboardRow& line : out.lines) {
    EXPECT_EQ(line.pairs, 0) << line.cell.label;
    for (const double none :
         {line.std, line.ci_low, line.ci_high, line.difference_low, line.p_sign_flip, line.p_t, line.p_holm})
      EXPECT_TRUE(std::isnan(none)) << line.cell.label;
  }
  EXPECT_EQ(out.correction, "");
}

TEST(Table, OfTheBestSeedsHasNoMeanOverFewer) {
  LeaderboardInput input = demo();
  input.top = 5;
  input.cells[1].values.pop_back();
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_EQ(out.lines.back().cell.label, "learned");
  EXPECT_TRUE(std::isnan(out.lines.back().mean));
  EXPECT_TRUE(std::isfinite(out.lines.back().mean_all));
}

TEST(Table, LeavesWhatASearchThrewOutOutOfTheTests) {
  LeaderboardInput input = demo();
  input.cells[1].untested = true;
  const LeaderboardOutput out = compute_leaderboard(input);
  EXPECT_EQ(out.correction, "holm over 1 comparison") << "the others are not corrected for it";
  const LeaderboardRow& last = out.lines.back();
  EXPECT_EQ(last.cell.label, "learned") << "however good it looked";
  EXPECT_EQ(last.pairs, 0);
  EXPECT_TRUE(std::isnan(last.p_sign_flip));
  EXPECT_NEAR(last.mean, 82.22, 1e-9) << "its numbers stay";
  input.cells[1].untested = false;
  input.cells[0].untested = true;
  for (const LeaderboardRow& line : compute_leaderboard(input).lines)
    EXPECT_EQ(line.pairs, 0) << line.cell.label << ": the baseline is no reference then";
}

TEST(Table, TestsAndRanksNothingByValuesThatHaveChosen) {
  LeaderboardInput input = demo();
  input.untested = true;
  const LeaderboardOutput out = compute_leaderboard(input);
  for (std::size_t i = 0; i < out.lines.size(); ++i)
    EXPECT_EQ(out.lines[i].cell.label, input.cells[i].label) << "in the order of the specification";
  for (const LeaderboardRow& line : out.lines) EXPECT_TRUE(std::isnan(line.p_sign_flip)) << line.cell.label;
  EXPECT_EQ(out.correction, "");
}

}  // namespace
}  // namespace locus
