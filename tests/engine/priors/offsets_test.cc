// Which entry a pair reads by the rules of a grid, against the offsets themselves.
#include "engine/priors/offsets.h"

#include <gtest/gtest.h>

#include "tests/engine/priors/one_prior.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/support/reference_forms.h"

namespace locus::engine {
namespace {

using test::draw;
using test::largest_difference;

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const std::int64_t prefix : {0, 1, 5}) {
    for (const auto& extent : std::vector<std::vector<std::int64_t>>{{7}, {1, 6}, {4, 4}, {3, 5}, {2, 3, 4}, {3, 1, 2}})
      all.push_back({extent, prefix});
  }
  return all;
}

// The offset of every pair, query minus key, of coordinates [T, rank].
Tensor pairs_of(const Tensor& positions) { return positions.unsqueeze(1) - positions.unsqueeze(0); }

Tensor read(const Tensor& rows, const PairIndex& index) {
  return rows.index_select(0, index.dense().flatten()).unflatten(0, {index.tokens(), index.tokens()});
}

TEST(OffsetRule, ReadsTheOffsetOfEveryPairOnGridsLinesAndBoxes) {
  for (const Layout& layout : layouts()) {
    const PairIndex index(offset_rule(layout, at::kCPU, {3, 4, 5}));
    ASSERT_EQ(index.tokens(), layout.tokens());
    EXPECT_TRUE(at::equal(index.dense(), test::reference_entries(*index.rule())));
    const Tensor all = offsets(layout, at::kLong),
                 patches = index.dense().slice(0, layout.prefix).slice(1, layout.prefix);
    EXPECT_EQ(all.size(0), offset_count(layout));
    EXPECT_TRUE(
        at::equal(all.index_select(0, patches.flatten()), pairs_of(grid_positions(layout, at::kLong)).flatten(0, 1)))
        << Json(layout.extent);
    if (layout.prefix == 0) continue;
    const std::int64_t count = offset_count(layout), last = layout.tokens() - 1;
    EXPECT_EQ(index.dense()[0][last].item<std::int64_t>(), count + 3);
    EXPECT_EQ(index.dense()[last][0].item<std::int64_t>(), count + 4);
    EXPECT_EQ(index.dense()[0][0].item<std::int64_t>(), count + 5);
  }
}

TEST(OriginRule, PlacesPrefixTokensBeforeTheFirstPatch) {
  for (const Layout& layout : layouts()) {
    const PairIndex index(origin_rule(layout, at::kCPU));
    const Tensor all = offsets(with_origin(layout), at::kLong),
                 place = behind_origin(grid_positions(layout, at::kLong) + 1, layout.prefix);
    EXPECT_TRUE(at::equal(read(all, index), pairs_of(place))) << Json(layout.extent);
  }
}

TEST(AxisRule, ReadsTheOffsetAlongOneAxis) {
  for (const Layout& layout : layouts()) {
    for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) {
      const PairIndex index(axis_rule(layout, axis, at::kCPU));
      const std::int64_t last = layout.extent[axis] - 1;
      const Tensor expected =
          at::full({layout.tokens(), layout.tokens()}, 2 * last + 1, at::kLong);  // behind the offsets
      const Tensor along = grid_positions(layout, at::kLong).select(1, static_cast<std::int64_t>(axis));
      expected.slice(0, layout.prefix).slice(1, layout.prefix).copy_(along.unsqueeze(1) - along.unsqueeze(0) + last);
      EXPECT_TRUE(at::equal(index.dense(), expected)) << Json(layout.extent) << " axis " << axis;
    }
  }
}

TEST(OffsetBias, IsNothingWhereAPrefixTokenIsInvolved) {
  for (const Layout& layout : layouts()) {
    const Tensor values = draw("values", {2, offset_count(layout)});
    const Tensor found = offset_bias(values, offset_rule(layout, at::kCPU)).dense();
    EXPECT_EQ(found.slice(2, 0, layout.prefix).count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(found.slice(3, 0, layout.prefix).count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(found.count_nonzero().item<std::int64_t>(), 2 * layout.patches() * layout.patches());
  }
}

TEST(LookupRows, AreTheInnerProductsOfEachHead) {
  const Tensor side = draw("side", {2, 3, 5, 4});
  for (const std::int64_t heads : {1, 3}) {
    const Tensor table = draw("table", {heads, 4, 6});
    EXPECT_LT(largest_difference(lookup_rows(side, table), (side.unsqueeze(4) * table.unsqueeze(1)).sum(3)), 1e-12);
    const Tensor inside = side.permute({0, 2, 1, 3}).contiguous().transpose(1, 2);  // as projections lie
    EXPECT_TRUE(at::equal(lookup_rows(inside, table), lookup_rows(side, table)));
  }
}

// Two lookups of one axis each are one lookup in the table of all offsets, in value and gradient.
TEST(TransformerXl, SplitByAxisIsTheProductWithTheWavesOfEveryOffset) {
  constexpr std::int64_t kHeads = 2, kWidth = 4, kDim = kHeads * kWidth, kBands = kDim / 4;
  for (const Layout& layout : {Layout{{3, 5}, 0}, Layout{{4, 2}, 3}, Layout{{1, 6}, 1}}) {
    const auto one = test::one_prior("transformer-xl", {{"init", "normal"}}, kHeads, kWidth, layout);
    const auto given = one.prior->named_parameters();
    {
      const at::NoGradGuard no_grad;
      for (const auto& entry : given) entry.value().copy_(draw(entry.key(), entry.value().sizes()));
    }
    const Tensor q = draw("q", {2, kHeads, layout.tokens(), kWidth});
    const Tensor frequency = at::pow(10000.0, at::arange(kBands, at::kDouble) / -static_cast<double>(kBands));
    const Tensor angle = offsets(layout, at::kDouble).unsqueeze(-1) * frequency;  // [R, 2, K]
    Tensor waves = at::cat({angle.sin(), angle.cos()}, 2).flatten(1);
    if (layout.prefix > 0) waves = at::cat({waves, given["layers.0.prefix"].unsqueeze(0)});
    const Tensor mapped = at::linear(waves, given["layers.0.relative"]).unflatten(1, {kHeads, kWidth});  // [R, H, d]
    const Tensor all = at::matmul((q + given["v"].unsqueeze(1)) * one.info.scale, mapped.permute({1, 2, 0}));
    const Tensor index = PairIndex(offset_rule(layout, at::kCPU)).dense().expand({2, kHeads, -1, -1});
    const Tensor expected = all.gather(3, index);
    const BiasTerm term = one.bias(layout, draw("x", {2, layout.tokens(), kDim}), q);
    EXPECT_LT(largest_difference(term.dense().detach(), expected.detach()), 1e-12) << Json(layout.extent);
    const auto& form = std::get<Bucketed>(term.form());
    ASSERT_EQ(form.lookups.size(), 2U);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      EXPECT_EQ(form.lookups[axis].values.size(3), 2 * layout.extent[axis] - (layout.prefix > 0 ? 0 : 1));
      EXPECT_NE(form.lookups[axis].index.rule(), nullptr);
    }
    const Tensor weight = draw("weight", expected.sizes());
    std::map<std::string, Tensor> gradients;
    (expected * weight).sum().backward();
    for (const auto& entry : given) {
      if (!entry.value().grad().defined()) continue;
      gradients[entry.key()] = entry.value().grad().clone();
      Tensor(entry.value()).mutable_grad().reset();
    }
    EXPECT_EQ(gradients.size(), layout.prefix > 0 ? 3U : 2U) << "of W_R, v and the prefix";
    (term.dense() * weight).sum().backward();
    for (const auto& [name, gradient] : gradients)
      EXPECT_LT(largest_difference(given[name].grad(), gradient), 1e-11) << name;
  }
}

}  // namespace
}  // namespace locus::engine
