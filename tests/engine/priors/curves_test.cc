// The curves against published checksums and their defining properties.
#include "engine/priors/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace locus::engine {
namespace {

struct Checksums {
  std::int64_t rows, columns;
  std::int64_t sums[8];  // in the order of curve_names()
};
// S = sum over row-major p of p * rank(p).
constexpr Checksums kChecksums[] = {
    {4, 4, {1220, 980, 968, 1172, 1224, 1116, 1191, 1179}},
    {6, 6, {14805, 11655, 11527, 14037, 14502, 13337, 14159, 14114}},
    {10, 10, {327525, 253275, 251775, 310149, 314222, 292109, 308844, 308619}},
    {14, 14, {2487485, 1907815, 1898407, 2355773, 2415398, 2173897, 2332421, 2331784}},
    {16, 16, {5554240, 4248640, 4231504, 5280064, 5397120, 4835520, 5199012, 5198052}},
    {21, 21, {28476140, 21700140, 21310500, 27067940, 27168400, 25051680, 26576066, 26578266}},
    {32, 32, {357302528, 270704896, 270148384, 339494144, 345803264, 308654848, 332462600, 332454664}},
    {5, 7, {13573, 10885, 10257, 12689, 13035, 12035, 12613, 12649}},
    {7, 5, {13625, 10745, 9861, 12933, 13459, 12543, 13265, 13289}},
};

TEST(Curves, MatchThePublishedChecksums) {
  ASSERT_EQ(curve_names(), (std::vector<std::string>{"snake", "snake-transposed", "hilbert", "hilbert-transposed",
                                                     "peano", "peano-transposed", "zigzag", "zigzag-transposed"}));
  for (const Checksums& expected : kChecksums) {
    for (std::size_t c = 0; c < curve_names().size(); ++c) {
      const auto ranks = curve_ranks(curve_names()[c], expected.rows, expected.columns);
      std::int64_t sum = 0;
      for (std::size_t p = 0; p < ranks.size(); ++p) sum += static_cast<std::int64_t>(p) * ranks[p];
      EXPECT_EQ(sum, expected.sums[c]) << curve_names()[c] << " on " << expected.rows << " x " << expected.columns;
    }
  }
}

TEST(Curves, MatchTheRankMapsOnFourByFour) {
  EXPECT_EQ(curve_ranks("hilbert", 4, 4),
            (std::vector<std::int32_t>{0, 1, 14, 15, 3, 2, 13, 12, 4, 7, 8, 11, 5, 6, 9, 10}));
  EXPECT_EQ(curve_ranks("peano", 4, 4),
            (std::vector<std::int32_t>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(curve_ranks("zigzag", 4, 4),
            (std::vector<std::int32_t>{0, 1, 5, 6, 2, 4, 7, 12, 3, 8, 11, 13, 9, 10, 14, 15}));
}

TEST(Curves, StartAsTheReferenceDoesOnFourteenByFourteen) {
  const auto first = [](const char* name) {
    auto ranks = curve_ranks(name, 14, 14);
    ranks.resize(8);
    return ranks;
  };
  EXPECT_EQ(first("hilbert"), (std::vector<std::int32_t>{0, 1, 14, 15, 16, 19, 20, 175}));
  EXPECT_EQ(first("hilbert-transposed"), (std::vector<std::int32_t>{0, 3, 4, 5, 50, 51, 52, 55}));
}

TEST(Curves, VisitEveryCellOnceOnAnyRectangle) {
  for (const std::string& name : curve_names()) {
    for (std::int64_t rows = 1; rows <= 12; ++rows) {
      for (std::int64_t columns = 1; columns <= 12; ++columns) {
        auto ranks = curve_ranks(name, rows, columns);
        std::sort(ranks.begin(), ranks.end());
        std::vector<std::int32_t> all(static_cast<std::size_t>(rows * columns));
        std::iota(all.begin(), all.end(), 0);
        ASSERT_EQ(ranks, all) << name << " on " << rows << " x " << columns;
      }
    }
  }
}

TEST(Curves, TransposesAreTheCurveOfTheTransposedGrid) {
  for (const std::string name : {"snake", "hilbert", "peano", "zigzag"}) {
    const auto plain = curve_ranks(name, 5, 9), transposed = curve_ranks(name + "-transposed", 9, 5);
    for (std::size_t r = 0; r < 9; ++r) {
      for (std::size_t c = 0; c < 5; ++c) ASSERT_EQ(transposed[r * 5 + c], plain[c * 9 + r]) << name;
    }
  }
}

// Number of steps that are not to a neighbor, and whether all of those are diagonal.
std::pair<int, bool> jumps(const std::string& name, std::int64_t rows, std::int64_t columns) {
  const auto ranks = curve_ranks(name, rows, columns);
  std::vector<std::int64_t> at(ranks.size());
  for (std::size_t p = 0; p < ranks.size(); ++p) at[static_cast<std::size_t>(ranks[p])] = static_cast<std::int64_t>(p);
  int count = 0;
  bool diagonal = true;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const auto dr = std::abs(at[i] / columns - at[i - 1] / columns),
               dc = std::abs(at[i] % columns - at[i - 1] % columns);
    if (dr + dc == 1) continue;
    ++count;
    diagonal = diagonal && dr == 1 && dc == 1;
  }
  return {count, diagonal};
}

TEST(Curves, SnakeAndHilbertMoveToNeighbors) {
  for (std::int64_t rows = 1; rows <= 24; ++rows) {
    for (std::int64_t columns = 1; columns <= 24; ++columns) {
      EXPECT_EQ(jumps("snake", rows, columns).first, 0);
      const auto [count, diagonal] = jumps("hilbert", rows, columns);
      EXPECT_LE(count, 1) << rows << " x " << columns;
      EXPECT_TRUE(diagonal) << rows << " x " << columns;
    }
  }
}

// S = sum of (p + 1) rank(p), p = (t H + y) W + x.
std::int64_t checksum(const std::string& name, const std::vector<std::int64_t>& box) {
  const auto ranks = curve_ranks(name, box);
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < ranks.size(); ++p) sum += static_cast<std::int64_t>(p + 1) * ranks[p];
  return sum;
}

TEST(BoxCurves, HaveTheChecksumsOfTheirDefinitions) {
  const std::vector<std::string> names = {"snake", "hilbert", "peano", "zigzag"};
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> expected = {
      {{2, 2, 2}, {158, 134, 168, 162}},
      {{4, 4, 4}, {86000, 66560, 85376, 81189}},
      {{3, 4, 5}, {70610, 52330, 65592, 64887}},
      {{5, 15, 20}, {1115990290, 849455076, 907931716, 928723062}}};
  for (const auto& [box, sums] : expected) {
    for (std::size_t c = 0; c < names.size(); ++c) EXPECT_EQ(checksum(names[c], box), sums[c]) << names[c];
  }
}

// Every box of up to 4 x 7 x 7 cells.
template <typename Check>
void for_each_box(Check check) {
  for (std::int64_t frames = 1; frames <= 4; ++frames) {
    for (std::int64_t rows = 1; rows <= 7; ++rows) {
      for (std::int64_t columns = 1; columns <= 7; ++columns) check(std::vector{frames, rows, columns});
    }
  }
}

TEST(BoxCurves, VisitEveryCellOnceOnAnyBox) {
  for_each_box([](const std::vector<std::int64_t>& box) {
    for (const std::string& name : curve_names()) {
      auto ranks = curve_ranks(name, box);
      ASSERT_EQ(ranks.size(), static_cast<std::size_t>(box[0] * box[1] * box[2]));
      std::sort(ranks.begin(), ranks.end());
      for (std::size_t i = 0; i < ranks.size(); ++i) ASSERT_EQ(ranks[i], static_cast<std::int32_t>(i)) << name;
    }
  });
}

TEST(BoxCurves, OfOneFrameAreThoseOfItsRectangle) {
  for (const std::string& name : curve_names())
    EXPECT_EQ(curve_ranks(name, {1, 5, 9}), curve_ranks(name, 5, 9)) << name;
}

TEST(BoxCurves, TransposesExchangeRowsAndColumns) {
  for (const std::string name : {"snake", "hilbert", "peano", "zigzag"}) {
    const auto plain = curve_ranks(name, {3, 4, 6}), transposed = curve_ranks(name + "-transposed", {3, 6, 4});
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t r = 0; r < 6; ++r) {
        for (std::size_t c = 0; c < 4; ++c)
          ASSERT_EQ(transposed[(t * 6 + r) * 4 + c], plain[(t * 4 + c) * 6 + r]) << name;
      }
    }
  }
}

// Number of steps that are not to a neighbor.
int jumps(const std::string& name, const std::vector<std::int64_t>& box) {
  const auto ranks = curve_ranks(name, box);
  std::vector<std::int64_t> at(ranks.size());
  for (std::size_t p = 0; p < ranks.size(); ++p) at[static_cast<std::size_t>(ranks[p])] = static_cast<std::int64_t>(p);
  int count = 0;
  for (std::size_t i = 1; i < at.size(); ++i) {
    std::int64_t distance = 0, one = at[i], other = at[i - 1];
    for (std::size_t axis = 3; axis-- > 0; one /= box[axis], other /= box[axis])
      distance += std::abs(one % box[axis] - other % box[axis]);
    count += distance != 1;
  }
  return count;
}

TEST(BoxCurves, SnakeMovesToNeighborsOnEveryBoxAndHilbertOnThoseOfEvenSides) {
  for_each_box([](const std::vector<std::int64_t>& box) {
    EXPECT_EQ(jumps("snake", box), 0);
    const bool even = std::all_of(box.begin(), box.end(), [](std::int64_t side) { return side % 2 == 0; });
    if (even) {
      EXPECT_EQ(jumps("hilbert", box), 0) << box[0] << " x " << box[1] << " x " << box[2];
    }
  });
  EXPECT_EQ(jumps("hilbert", {5, 15, 20}), 20);
}

TEST(Curves, RefuseAnUnknownName) { EXPECT_THROW(curve_ranks("sierpinski", 4, 4), std::invalid_argument); }

TEST(BoxCurves, RefuseAnUnknownNameAndOtherRanks) {
  EXPECT_THROW(curve_ranks("sierpinski", {2, 4, 4}), std::invalid_argument);
  EXPECT_THROW(curve_ranks("snake", std::vector<std::int64_t>{4}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
