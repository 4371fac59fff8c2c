// Seeds that were added after the first submission, told from the ordinals of the trials.
#include "core/analysis/extension.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace locus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Cells with their seeds, numbered one after another from `first`.
void submit(std::vector<TrialRow>& trials, const std::vector<std::int64_t>& cells,
            const std::vector<std::int64_t>& seeds) {
  for (const std::int64_t cell : cells) {
    for (const std::int64_t seed : seeds) trials.push_back({std::ssize(trials), cell, seed, false});
  }
}

TEST(Extension, IsNoneWhereAllWasSubmittedAtOnce) {
  std::vector<TrialRow> trials;
  submit(trials, {0, 1, 2}, {0, 1, 2});
  EXPECT_THAT(added_seeds(trials, {0, 1, 2}), IsEmpty());
  EXPECT_EQ(extension_sentence({}), "");
}

TEST(Extension, IsNoneWhereCellsWereAdded) {
  std::vector<TrialRow> trials;
  submit(trials, {0, 1}, {0, 1, 2});
  submit(trials, {2, 3}, {0, 1, 2});
  EXPECT_THAT(added_seeds(trials, {0, 1, 2, 3}), IsEmpty());
}

TEST(Extension, NamesTheSeedsThatCellsGotLater) {
  std::vector<TrialRow> trials;
  submit(trials, {0, 1}, {0, 1, 2});
  submit(trials, {0, 1}, {7, 5});
  submit(trials, {2}, {0, 1, 2, 5, 7});
  std::reverse(trials.begin(), trials.end());
  EXPECT_THAT(added_seeds(trials, {0, 1, 2}), ElementsAre(5, 7)) << "in any order of trials";
  EXPECT_THAT(added_seeds(trials, {2}), IsEmpty()) << "which had them from the beginning";
  EXPECT_THAT(extension_sentence({5, 7}), HasSubstr("seeds 5, 7 were added"));
  EXPECT_THAT(extension_sentence({5}), HasSubstr("seed 5 was added"));
}

TEST(Extension, DoesNotMistakeARetiredTrialForOne) {
  std::vector<TrialRow> trials;
  submit(trials, {0, 1}, {0, 1, 2});
  trials.erase(trials.begin() + 1);
  EXPECT_THAT(added_seeds(trials, {0, 1}), IsEmpty());
}

}  // namespace
}  // namespace locus
