// Which proposal stands for its group, and what a table of a search says of itself.
#include "core/analysis/tuned.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace locus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two priors under three learning rates; the first is the baseline.
Outline tuned() {
  Outline out;
  out.factors = {"prior", "train.lr"};
  out.compared = {"prior"};
  out.values["train.lr"] = {{"0.1", "0.1", "0.1"}};
  out.seeds = {0, 1};
  out.metric.name = "top1";
  out.search = OutlineSearch{{"train.lr"}, {R"({"prior":"none"})", R"({"prior":"violin"})"}, 3, true};
  for (const char* prior : {"none", "violin"}) {
    for (const char* rate : {"0.1", "0.2", "0.3"}) {
      const std::string key = std::string(R"({"prior":")") + prior + R"(","train.lr":)" + rate + "}";
      OutlineCell cell{key, std::string(prior) + ", " + rate, key, prior == std::string("none"), 0, {}, 0};
      cell.pair_group = static_cast<std::int64_t>(out.cells.size() % 3);
      cell.group = static_cast<std::int64_t>(out.cells.size() / 3);
      out.places.emplace(key, out.cells.size());
      out.cells.push_back(cell);
    }
  }
  return out;
}

// Means of all seeds, cell by cell.
CellSelections means(const Outline& outline, const std::vector<double>& values) {
  CellSelections out;
  for (std::size_t i = 0; i < values.size(); ++i) out[outline.cells[i].row_key] = {values[i], outline.seeds.size()};
  return out;
}

std::vector<std::size_t> chosen(const Outline& outline, const CellSelections& selections,
                                const std::set<std::string>& not_to_the_end = {}) {
  std::vector<std::size_t> out;
  const auto keys = chosen_cells(outline, selections, not_to_the_end);
  for (std::size_t i = 0; keys && i < outline.cells.size(); ++i) {
    if (keys->contains(outline.cells[i].row_key)) out.push_back(i);
  }
  return out;
}

TEST(Chosen, IsTheBestOfEachGroupOnTheSplitThatSelects) {
  Outline outline = tuned();
  EXPECT_THAT(chosen(outline, means(outline, {1, 3, 2, 6, 5, 4})), ElementsAre(1, 3));
  outline.metric.direction = "min";
  EXPECT_THAT(chosen(outline, means(outline, {1, 3, 2, 6, 5, 4})), ElementsAre(0, 5));
}

TEST(Chosen, IsTheFirstOfEqualOnes) {
  const Outline outline = tuned();
  EXPECT_THAT(chosen(outline, means(outline, {2, 2, 2, 4, 5, 5})), ElementsAre(0, 4));
}

TEST(Chosen, HasAllSeedsAFiniteMeanAndRanToTheEnd) {
  const Outline outline = tuned();
  CellSelections some = means(outline, {1, 3, 2, 6, 5, 4});
  some[outline.cells[1].row_key].seeds = 1;
  EXPECT_THAT(chosen(outline, some), ElementsAre(2, 3));
  some[outline.cells[2].row_key].mean = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(chosen(outline, some), ElementsAre(0, 3));
  EXPECT_THAT(chosen(outline, some, {outline.cells[3].row_key}), ElementsAre(0, 4));
}

TEST(Chosen, WaitsUntilEveryGroupHasOne) {
  const Outline outline = tuned();
  EXPECT_THAT(chosen(outline, means(outline, {1, 3, 2})), IsEmpty());
  EXPECT_THAT(chosen(outline, {}), IsEmpty());
}

TEST(Chosen, IsNothingWithoutASearchOfSeveral) {
  Outline outline = tuned();
  const CellSelections values = means(outline, {1, 3, 2, 6, 5, 4});
  outline.search->proposals = 1;
  EXPECT_THAT(chosen(outline, values), IsEmpty());
  outline.search.reset();
  EXPECT_THAT(chosen(outline, values), IsEmpty());
}

TEST(Chosen, IsComparedGroupWithGroupWhateverItsSettings) {
  const Outline outline = tuned();
  const Outline shown = tuned_outline(outline, {outline.cells[1].row_key, outline.cells[5].row_key});
  ASSERT_EQ(shown.cells.size(), 2U);
  EXPECT_EQ(shown.cells[0].pair_group, shown.cells[1].pair_group) << "0.2 beside 0.3";
  EXPECT_THAT(shown.factors, ElementsAre("prior"));
  EXPECT_EQ(shown.settings.at("train.lr").label, "tuned");
  EXPECT_EQ(shown.places.at(outline.cells[5].row_key), 1U);
}

TEST(TableOfASearch, SaysWhatChoseItsRows) {
  const Outline outline = tuned();
  EXPECT_EQ(chosen_by(outline, true), "validation, the best of 3");
  EXPECT_EQ(chosen_by(outline, false), "");
  EXPECT_THAT(
      search_warnings(outline, {"top1", "test", true, {}}),
      ElementsAre("each row is the best of 3 proposals, the same 3 for all, chosen by top1 on validation alone"));
}

TEST(TableOfASearch, TestsNothingOnTheSplitThatChose) {
  Outline outline = tuned();
  EXPECT_TRUE(chooses_itself(outline, "top1", "validation"));
  EXPECT_FALSE(chooses_itself(outline, "top1", "test"));
  EXPECT_FALSE(chooses_itself(outline, "loss", "validation"));
  outline.search->proposals = 32;
  const auto warnings = search_warnings(outline, {"top1", "validation", true, {}});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[1],
              HasSubstr("the best of 32 by validation by itself reads high by about 2.07 standard deviations"));
  EXPECT_THAT(warnings[1], HasSubstr("nothing is tested or marked"));
  outline.search.reset();
  EXPECT_FALSE(chooses_itself(outline, "top1", "validation")) << "nothing was chosen";
  outline.chooses = true;
  EXPECT_TRUE(chooses_itself(outline, "top1", "validation")) << "a phase chooses by it";
}

TEST(TableOfASearch, SaysHowHighTheBestSeedsRead) {
  Outline outline = tuned();
  outline.search.reset();
  outline.seeds = {0, 1, 2, 3, 4};
  outline.metric.top_seeds = 3;
  const auto warnings = search_warnings(outline, {"top1", "test", false, {}});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::StartsWith("top 3 of 5 by test: reads high by about 0.55 standard deviations"));
  EXPECT_THAT(search_warnings(outline, {"top1", "validation", false, {}}), IsEmpty()) << "of the reported number alone";
  EXPECT_THAT(search_warnings(outline, {"loss", "test", false, {}}), IsEmpty());
}

TEST(TableOfASearch, CountsWhatWasNotSentToTheEnd) {
  const auto warnings = search_warnings(tuned(), {"top1", "test", false, {{kRaced, 3}, {kStopped, 1}}});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[0], HasSubstr("3 rows were raced"));
  EXPECT_THAT(warnings[1], HasSubstr("1 row was stopped"));
}

}  // namespace
}  // namespace locus
