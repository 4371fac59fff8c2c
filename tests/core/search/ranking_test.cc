// Scores in order, beside a list that is sorted anew.
#include "core/search/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/search/pieces.h"

namespace locus {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> units_of(const Ranking& ranking) { return ranking.units(0, ranking.size()); }

TEST(Ranking, HasTheBestFirstAndEqualOnesByUnit) {
  Ranking ranking;
  EXPECT_TRUE(ranking.empty());
  EXPECT_EQ(ranking.at_least(0), 0U);
  for (const RankedScore& one : {RankedScore{.5, 7}, {.9, 2}, {.5, 1}, {-1, 0}}) ranking.insert(one);
  EXPECT_THAT(units_of(ranking), ElementsAre(2, 1, 7, 0));
  EXPECT_EQ(ranking.before({.5, 7}), 2U);
  EXPECT_EQ(ranking.before({.7, 0}), 1U) << "of one that is not there";
  EXPECT_EQ(ranking.at_least(.5), 3U);
  EXPECT_EQ(ranking.at(3).unit, 0);
  ranking.erase({.9, 2});
  EXPECT_THAT(ranking.units(1, 2), ElementsAre(7));
}

TEST(Ranking, IsASortedListThroughAnyChanges) {
  std::mt19937_64 random(7);
  Ranking ranking;
  std::vector<std::pair<double, std::int64_t>> plain;  // negated scores
  std::vector<std::pair<Ranking, std::size_t>> copies;
  for (std::int64_t turn = 0; turn < 6000; ++turn) {
    if (!plain.empty() && random() % 3 == 0) {
      const auto one = plain.begin() + static_cast<std::ptrdiff_t>(random() % plain.size());
      ranking.erase({-one->first, one->second});
      plain.erase(one);
    } else {
      const double score = static_cast<double>(random() % 50);
      ranking.insert({score, turn});
      plain.insert(std::upper_bound(plain.begin(), plain.end(), std::pair(-score, turn)), {-score, turn});
    }
    if (turn % 500 == 0) copies.emplace_back(ranking, plain.size());
    if (plain.empty()) continue;
    const std::size_t place = random() % plain.size();
    ASSERT_EQ(ranking.at(place).unit, plain[place].second);
    ASSERT_EQ(ranking.before(ranking.at(place)), place);
  }
  std::vector<std::int64_t> expected;
  for (const auto& [negated, unit] : plain) expected.push_back(unit);
  EXPECT_EQ(units_of(ranking), expected);
  for (const auto& [copy, size] : copies) {
    EXPECT_EQ(copy.size(), size) << "a copy is not changed by what is changed later";
    for (std::size_t i = 1; i < size; ++i) ASSERT_GE(copy.at(i - 1).score, copy.at(i).score);
  }
}

TEST(Pieces, OfACopyStayAsTheyWere) {
  Pieces<std::string> pieces;
  for (int i = 0; i < 200; ++i) pieces.push_back(std::to_string(i));
  const Pieces<std::string> copy = pieces;
  pieces.edit(70) = "other";
  pieces.push_back("last");
  EXPECT_EQ(copy.size(), 200U);
  EXPECT_EQ(copy[70], "70");
  EXPECT_EQ(pieces[70], "other");
  EXPECT_EQ(pieces.at(200), "last");
  EXPECT_THROW(copy.at(200), std::out_of_range);
  EXPECT_EQ(std::count(copy.begin(), copy.end(), "70"), 1);
}

TEST(Shelves, OfACopyStayAsTheyWere) {
  Shelves<int> shelves;
  for (std::int64_t key = -2; key < 3000; key += 7) shelves.edit(key) = static_cast<int>(key);
  Shelves<int> copy = shelves;
  shelves.edit(5) = 0;
  EXPECT_TRUE(copy.erase(12));
  EXPECT_FALSE(copy.erase(13));
  EXPECT_EQ(*copy.find(5), 5);
  EXPECT_EQ(*shelves.find(12), 12);
  EXPECT_EQ(copy.find(12), nullptr);
}

}  // namespace
}  // namespace locus
