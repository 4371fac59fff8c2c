// The forms that follow coordinates, gates and places equal their definitions, in value and in every member's gradient.
#include "engine/layers/forms.h"

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/support/reference_forms.h"

namespace locus::engine {
namespace {

using test::largest_difference;

Tensor drawn(std::string_view name, at::IntArrayRef shape) {
  return RandomStreams(11).uniform("test", name, 0, shape, -2, 2).to(at::kDouble);
}

// `make` gives the form of a leaf. Checks its value, and the gradient of the leaf for a random one of the value.
template <typename Make>
void expect_definition(const Tensor& leaf, Make make) {
  const Tensor member = leaf.detach().clone().requires_grad_();
  const auto form = make(member);
  const Tensor value = form.dense();
  EXPECT_LT(largest_difference(value.detach(), test::reference_value(form)), 1e-12);
  EXPECT_TRUE(requires_grad(Form(form)));
  const Tensor full = drawn("full", value.sizes());
  (value * full).sum().backward();
  EXPECT_LT(largest_difference(member.grad(), test::reference_gradient(form, full)), 1e-11);
}

// Samples and heads of a member: one for all, or one each.
const std::vector<std::pair<std::int64_t, std::int64_t>> kShared = {{1, 1}, {1, 3}, {2, 3}};

TEST(Forms, QuadraticIsThePolynomialOfTheOffset) {
  const std::vector<std::int64_t> counts = {2, 5, 9};  // of one, two and three axes
  for (std::int64_t axes = 1; axes <= 3; ++axes) {
    for (const std::int64_t prefix : {0, 2}) {
      for (const auto& [batch, heads] : kShared) {
        const Tensor numbers = drawn("numbers", {batch, heads, 6, counts[static_cast<std::size_t>(axes - 1)]});
        for (const Tensor& positions : {drawn("grid", {6, axes}), drawn("points", {2, 6, axes})}) {
          if (positions.dim() == 3 && batch == 1) continue;
          SCOPED_TRACE(std::to_string(axes) + " axes, prefix " + std::to_string(prefix));
          expect_definition(numbers, [&](const Tensor& leaf) { return Quadratic{leaf, positions, prefix}; });
        }
      }
    }
  }
}

// Numbers of a large grid and offsets that are integers: what a product of features would lose by cancellation stays.
TEST(Forms, QuadraticKeepsSmallOffsetsExactFarFromTheOrigin) {
  const Tensor near = drawn("near", {8, 2}).round(), numbers = drawn("numbers", {1, 1, 8, 5}).to(at::kFloat);
  const Tensor here = Quadratic{numbers, near.to(at::kFloat)}.dense(),
               far = Quadratic{numbers, (near + 100000).to(at::kFloat)}.dense();
  EXPECT_TRUE(at::equal(here, far));
}

// Priors make the numbers token by token, so that heads lie inside.
TEST(Forms, QuadraticTakesNumbersOfAnyStrides) {
  const Tensor numbers = drawn("numbers", {2, 6, 3, 5}).transpose(1, 2);
  const Quadratic form{numbers, drawn("positions", {6, 2}), 1};
  EXPECT_LT(largest_difference(form.dense(), test::reference_value(form)), 1e-12);
}

TEST(Forms, GatedIsTheGateTimesTheDistance) {
  for (const std::int64_t prefix : {0, 1, 5}) {
    for (const auto& [batch, heads] : kShared) {
      for (const Tensor& positions : {drawn("grid", {7, 2}), drawn("points", {2, 7, 3})}) {
        if (positions.dim() == 3 && batch == 1) continue;
        SCOPED_TRACE("prefix " + std::to_string(prefix));
        expect_definition(drawn("gate", {batch, heads, 7}), [&](const Tensor& leaf) {
          return Gated{leaf, positions, prefix};
        });
      }
    }
  }
}

TEST(Forms, ScanIsTheDistanceOfPlaces) {
  for (const std::int64_t prefix : {0, 3}) {
    for (const auto& [batch, heads] : kShared) {
      SCOPED_TRACE("prefix " + std::to_string(prefix));
      expect_definition(drawn("place", {batch, heads, 7}), [&](const Tensor& leaf) { return Scan{leaf, prefix}; });
    }
  }
  const Tensor meeting = at::zeros({1, 1, 4}, at::kDouble);
  expect_definition(meeting, [&](const Tensor& leaf) { return Scan{leaf}; });
}

// What is hidden is minus infinity in value and nothing in the gradient, whatever comes back there.
TEST(Forms, CausalScanHidesLaterPatches) {
  for (const std::int64_t prefix : {0, 2}) {
    const Tensor place = drawn("place", {2, 3, 5}).requires_grad_();
    const Scan form{place, prefix, /*causal=*/true};
    const Tensor value = form.dense(), expected = test::reference_value(form);
    EXPECT_TRUE(at::equal(value.detach().isinf(), expected.isinf()));
    EXPECT_LT(largest_difference(value.detach().clamp_min(-1e3), expected.clamp_min(-1e3)), 1e-12);
    const Tensor full = drawn("full", value.sizes());
    value.backward(full);
    EXPECT_LT(largest_difference(place.grad(), test::reference_gradient(form, full)), 1e-11);
  }
}

TEST(Forms, BucketedMayHaveOneRowForAllTokens) {
  const std::int64_t tokens = 6;
  const Tensor index = drawn("index", {tokens, tokens}).abs().mul(2).floor().to(at::kLong);  // 0 to 3
  for (const bool by_key : {false, true}) {
    const Tensor one = drawn("row", {1, 2, 1, 4}).requires_grad_();
    const Bucketed form{{{one, index, by_key}}};
    const Tensor all = one.detach().expand({-1, -1, tokens, -1}).contiguous();
    EXPECT_LT(largest_difference(form.dense().detach(), test::reference_lookup(all, index, by_key)), 1e-12);
    const Tensor full = drawn("full", {1, 2, tokens, tokens});
    (form.dense() * full).sum().backward();
    const Tensor expected = test::reference_lookup_gradient(full, index, by_key, 4).sum(2, /*keepdim=*/true);
    EXPECT_LT(largest_difference(one.grad(), expected), 1e-11);
  }
}

TEST(Forms, OfARowConstantAloneWantAGradientToo) {
  const Tensor fixed = drawn("fixed", {1, 1, 4, 2}), row = drawn("row", {1, 1, 4, 1}).requires_grad_();
  EXPECT_FALSE(requires_grad(LowRank{fixed, fixed}));
  EXPECT_TRUE(requires_grad(LowRank{fixed, fixed, row})) << "a factor on the sum makes it matter";
}

TEST(PairIndex, ByARuleIsWhatTheRuleSays) {
  const Tensor code = at::tensor({0, 1, 2, 5, 6, 7}, at::kInt);  // 2 x 3
  const Tensor map = at::arange(15, at::kInt).remainder(4);
  for (const std::int64_t prefix : {0, 1, 4}) {
    for (const Tensor& to : {Tensor(), map}) {
      const PairIndex::Rule rule{.code = code,
                                 .shift = 7,
                                 .map = to,
                                 .prefix = prefix,
                                 .from_prefix = 15,
                                 .to_prefix = 16,
                                 .among_prefix = 17};
      const PairIndex index(rule);
      EXPECT_EQ(index.tokens(), prefix + 6);
      EXPECT_TRUE(at::equal(index.dense(), test::reference_entries(rule)));
      EXPECT_TRUE(at::equal(PairIndex(index).dense(), index.dense())) << "copies share";
      EXPECT_EQ(PairIndex(index.dense()).rule(), nullptr);
      EXPECT_TRUE(at::equal(index.transposed().dense(), index.dense().t()));
      EXPECT_TRUE(at::equal(PairIndex(index.dense()).transposed().dense(), index.dense().t()));
    }
  }
}

}  // namespace
}  // namespace locus::engine
