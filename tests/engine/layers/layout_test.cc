// Layouts: what lies where, and which tables two of them share.
#include "engine/layers/layout.h"

#include <gtest/gtest.h>

namespace locus::engine {
namespace {

Tensor some_points() { return at::arange(2 * 4 * 3, at::kFloat).view({2, 4, 3}); }

// A table that counts how often it is made.
struct Counted {
  PerLayout<std::int64_t> tables;
  std::int64_t made = 0;
  std::int64_t of(const Layout& layout) {
    return tables.get(layout, at::kCPU, at::kFloat, [&] { return ++made; });
  }
};

TEST(Layouts, CountPatchesTokensAndAxes) {
  const Layout box{{2, 3, 4}, 5};
  EXPECT_EQ(box.patches(), 24);
  EXPECT_EQ(box.tokens(), 29);
  EXPECT_EQ(box.rank(), 3);
  const Layout points = points_layout(some_points(), {}, 1);
  EXPECT_EQ(points.patches(), 4);
  EXPECT_EQ(points.tokens(), 5);
  EXPECT_EQ(points.rank(), 3);
  EXPECT_EQ(points_layout(2, 1).rank(), 2) << "before there is any point";
}

TEST(Layouts, OfGridsAreEqualByTheirSidesWhateverIsValid) {
  Layout some{{2, 3, 4}, 1};
  some.valid = at::ones({1, 24}, at::kBool);
  EXPECT_EQ(some, (Layout{{2, 3, 4}, 1}));
  EXPECT_NE(some, (Layout{{2, 4, 3}, 1}));
  EXPECT_NE(some, (Layout{{2, 3, 4}, 0}));
  EXPECT_NE((Layout{{6, 4}, 1}), (Layout{{2, 3, 4}, 1})) << "as many patches";
}

TEST(Layouts, OfPointsAreEqualToThemselvesAlone) {
  const Layout points = points_layout(some_points(), {}, 1), copy = points;
  EXPECT_EQ(points, copy);
  EXPECT_NE(points, points_layout(some_points(), {}, 1)) << "another batch, of the same numbers even";
  EXPECT_NE(points, (Layout{{4}, 1})) << "a line of as many patches";
  Layout fewer = points;
  fewer.valid = at::zeros({2, 4}, at::kBool);
  EXPECT_NE(points, fewer);
}

TEST(Layouts, KeepTablesOfGridsAndOfTheLastPoints) {
  Counted counted;
  const Layout grid{{2, 2}, 0}, first = points_layout(some_points(), {}, 0),
                                second = points_layout(some_points(), {}, 0);
  EXPECT_EQ(counted.of(grid), 1);
  EXPECT_EQ(counted.of(first), 2);
  EXPECT_EQ(counted.of(first), 2) << "every layer of a forward";
  EXPECT_EQ(counted.of(second), 3) << "as many points elsewhere";
  EXPECT_EQ(counted.of(first), 4) << "a batch that is over is forgotten";
  EXPECT_EQ(counted.of(grid), 1);
  EXPECT_EQ(counted.of({{4}, 0}), 5) << "a line of as many patches";
}

TEST(Layouts, GivePointsTheirOwnCoordinatesAndGridsIntegers) {
  const Tensor position = some_points();
  const Layout points = points_layout(position, {}, 2), grid{{2, 1, 3}, 2};
  EXPECT_TRUE(at::equal(patch_positions(points, at::kDouble, 1), position.to(at::kDouble)));
  EXPECT_THROW(grid_positions(points, at::kDouble), std::invalid_argument);
  EXPECT_TRUE(at::equal(patch_positions(grid, at::kDouble), grid_positions(grid, at::kDouble)));
  const Tensor from_one = patch_positions(grid, at::kLong, 1);
  EXPECT_TRUE(at::equal(from_one[3], at::tensor({2, 1, 1}, at::kLong))) << "last axis fastest";
  const Tensor placed = behind_origin(patch_positions(points, at::kDouble), 2);
  EXPECT_EQ(placed.sizes(), (at::IntArrayRef{2, 6, 3}));
  EXPECT_EQ(placed.slice(1, 0, 2).abs().max().item<double>(), 0);
}

TEST(Layouts, RefusePointsWhoseShapesOrTypesDoNotFit) {
  EXPECT_THROW(points_layout(at::zeros({4, 3}), {}, 0), std::invalid_argument);
  EXPECT_THROW(points_layout(at::zeros({2, 4, 3}, at::kLong), {}, 0), std::invalid_argument);
  EXPECT_THROW(points_layout(some_points(), at::ones({2, 3}, at::kBool), 0), std::invalid_argument);
  EXPECT_THROW(points_layout(some_points(), at::ones({2, 4}), 0), std::invalid_argument);
  EXPECT_NO_THROW(points_layout(some_points(), at::ones({2, 4}, at::kBool), 0));
}

}  // namespace
}  // namespace locus::engine
