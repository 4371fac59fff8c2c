// Parabolic encodings: counts, the published augmentation, invariances, precision.
#include <gtest/gtest.h>

#include "tests/engine/priors/one_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::draw;
using test::largest_difference;
using test::one_prior;

const Layout kGrid{{14, 14}, 1};

TEST(Pape, HasTheParametersOfThePublishedCode) {
  const std::map<std::int64_t, std::int64_t> counts = {{2, 442944},   {4, 885888},    {8, 1771776},  {16, 3543552},
                                                       {32, 7087104}, {50, 11073600}, {64, 14174208}};
  for (const auto& [m, count] : counts)
    EXPECT_EQ(one_prior("pape", {{"m", m}}, 12, 64, kGrid, 12).parameters(), count) << "m " << m;
}

TEST(PapeRi, HasAGateAHeadAndAScaleThatIsABuffer) {
  const auto one = one_prior("pape-ri", {}, 12, 64, kGrid, 12);
  EXPECT_EQ(one.parameters(), 110592);
  std::int64_t buffers = 0;
  for (const Tensor& buffer : one.prior->buffers()) buffers += buffer.numel();
  EXPECT_EQ(buffers, 144);
  EXPECT_EQ(one_prior("pape-ri", {{"w", "learned"}}, 12, 64, kGrid, 12).parameters(), 110592 + 144);
}

// Whatever m is: m parabolas over projections of a position are one over the position.
TEST(Pape, HasFiveNumbersAQueryOnAGridTwoOnALineAndNineInABox) {
  for (const char* id : {"pape", "pape-ri"}) {
    const auto numbers = [&](const Layout& layout, const Json& options) {
      const BiasTerm term = one_prior(id, options, 2, 8, layout).bias(layout);
      const auto& form = std::get<Quadratic>(term.form());
      EXPECT_EQ(form.numbers.size(2) + form.prefix, layout.tokens());
      return form.numbers.size(-1);
    };
    EXPECT_EQ(numbers(kGrid, Json::object()), 5) << id;
    EXPECT_EQ(numbers(kGrid, {{"prefix", "zero-term"}}), 5) << id;
    EXPECT_EQ(numbers({{9}, 0}, Json::object()), 2) << id;
    EXPECT_EQ(numbers({{2, 3, 4}, 1}, Json::object()), 9) << id;
  }
}

TEST(Pape, WithoutContentIsATableOfTheOffset) {
  for (const std::string prefix : {"origin", "zero-term"}) {
    const BiasTerm term = one_prior("pape", {{"content", false}, {"prefix", prefix}}, 2, 8, kGrid).bias(kGrid);
    const auto& form = std::get<RelativeTable>(term.form());
    ASSERT_NE(form.index.rule(), nullptr) << "nothing of T x T is kept";
    EXPECT_EQ(form.table.size(2), prefix == "origin" ? 29 * 29 : 27 * 27 + 1);
    EXPECT_EQ(term.on(), Depends::kParameters);
  }
}

// The sum over the m projections, pair by pair, in value and gradient.
TEST(Pape, EqualsTheSumOverItsProjections) {
  constexpr std::int64_t kHeads = 2, kM = 7;
  for (const bool softplus : {true, false}) {
    for (const char* terms : {"both", "distance", "direction"}) {
      for (const Layout& layout : {Layout{{3, 4}, 2}, Layout{{5}, 0}, Layout{{2, 2, 3}, 1}}) {
        const Json options = {{"m", kM}, {"softplus", softplus}, {"terms", terms}};
        const auto one = one_prior("pape", options, kHeads, 4, layout);
        const Tensor x = draw("x", {2, layout.tokens(), kHeads * 4}, 2);
        const auto given = one.prior->named_parameters();
        const auto heads = [&](const char* name) {
          return at::linear(x, given[name])
              .unflatten(-1, {kHeads, kM})
              .transpose(1, 2)
              .unsqueeze(3);  // [B, H, T, 1, m]
        };
        Tensor place = behind_origin(grid_positions(layout, at::kDouble) + 1, layout.prefix);
        if (place.size(1) == 2) place = place.flip(1);  // x before y
        const Tensor s = at::linear(place, given["layers.0.position"]).unflatten(1, {kHeads, kM}).transpose(0, 1);
        const Tensor apart = s.unsqueeze(1) - s.unsqueeze(2);  // key minus query, [H, T, T, m]
        Tensor z = at::zeros({1}, at::kDouble);
        if (given.contains("layers.0.a")) {
          const Tensor a = heads("layers.0.a");
          z = z - ((softplus ? at::softplus(a) : a) * apart.square()).sum(-1);
        }
        if (given.contains("layers.0.b")) z = z + (heads("layers.0.b") * apart).sum(-1);
        const Tensor expected = z * one.info.scale, found = one.bias(layout, x).dense();
        EXPECT_LT(largest_difference(found.detach(), expected.detach()), 1e-12) << options << Json(layout.extent);
        const Tensor weight = draw("weight", found.sizes());
        const std::vector<Tensor> leaves = one.prior->parameters();
        (expected * weight).sum().backward();
        std::vector<Tensor> gradients;
        for (Tensor leaf : leaves) {
          gradients.push_back(leaf.grad().clone());
          leaf.mutable_grad().reset();
        }
        (found * weight).sum().backward();
        for (std::size_t i = 0; i < leaves.size(); ++i)
          EXPECT_LT(largest_difference(leaves[i].grad(), gradients[i]), 1e-10) << options << Json(layout.extent) << i;
      }
    }
  }
}

// The published augmentation, 3 m + 2 channels of uncentered coordinates with the code's sign, against ours.
TEST(Pape, EqualsThePublishedAugmentation) {
  constexpr std::int64_t kHeads = 2, kWidth = 8, kM = 5;
  const Layout layout{{4, 6}, 1};
  const auto one = one_prior("pape", {{"m", kM}, {"sign", "code"}}, kHeads, kWidth, layout);
  const Tensor x = draw("x", {2, layout.tokens(), kHeads * kWidth}, 2);
  const auto heads = [&](const Tensor& t) { return t.unflatten(-1, {kHeads, kM}).movedim(-2, 1); };
  const Tensor a = heads(at::softplus(at::linear(x, one.parameter("layers.0.a")))),
               b = heads(at::linear(x, one.parameter("layers.0.b")));
  std::vector<double> points = {0, 0};  // the class token, then x before y from (1, 1)
  for (int y = 1; y <= 4; ++y) {
    for (int column = 1; column <= 6; ++column) points.insert(points.end(), {double(column), double(y)});
  }
  // The code's coordinates; moved ones give the same attention.
  for (const double moved : {0.0, 40.0}) {
    const Tensor r = at::tensor(points, at::kDouble).view({layout.tokens(), 2}) + moved;
    const Tensor s = at::linear(r, one.parameter("layers.0.position"))
                         .view({1, layout.tokens(), kHeads, kM})
                         .transpose(1, 2)
                         .expand_as(a);
    const auto ones = at::ones_like(s.slice(-1, 0, 1));
    const Tensor q = draw("q", {2, kHeads, layout.tokens(), kWidth}), k = draw("k", q.sizes());
    const Tensor wide_q = at::cat({q, -(a * s.square()).sum(-1, true), a, 2 * a * s, (b * s).sum(-1, true), b}, -1);
    const Tensor wide_k = at::cat({k, ones, -s.square(), s, ones, -s}, -1);
    const Tensor expected = at::softmax(at::matmul(wide_q, wide_k.mT()) * one.info.scale, -1);
    const Tensor found = at::softmax(at::matmul(q, k.mT()) * one.info.scale + one.bias(layout, x).dense(), -1);
    EXPECT_LT(largest_difference(found, expected), moved == 0 ? 1e-12 : 1e-9) << moved;
  }
}

// The published augmentation, 2 axes + 1 channels: [q, -a w^2 |r_i|^2, -a, 2 a w^2 r_i] with [k, 1, |w
// r_j|^2, r_j].
TEST(PapeRi, EqualsThePublishedAugmentation) {
  constexpr std::int64_t kHeads = 3, kWidth = 4;
  const Layout layout{{4, 6}, 1};
  const auto one = one_prior("pape-ri", {}, kHeads, kWidth, layout);
  const Tensor x = draw("x", {2, 25, kHeads * kWidth}, 2), q = draw("q", {2, kHeads, 25, kWidth}),
               k = draw("k", q.sizes());
  std::vector<double> points = {0, 0};
  for (int y = 1; y <= 4; ++y) {
    for (int column = 1; column <= 6; ++column) points.insert(points.end(), {double(column), double(y)});
  }
  const Tensor r = at::tensor(points, at::kDouble).view({1, 1, 25, 2}).expand({2, kHeads, -1, -1});
  const Tensor a = at::softplus(at::linear(x, one.parameter("layers.0.a"))).transpose(1, 2).unsqueeze(-1);
  const Tensor w = one.prior->named_buffers()["layers.0.w"].view({1, -1, 1, 1});
  const Tensor far = (w * r).square().sum(-1, true);
  const Tensor wide_q = at::cat({q, -a * far, -a, 2 * a * w.square() * r}, -1),
               wide_k = at::cat({k, at::ones_like(far), far, r}, -1);
  const Tensor expected = at::softmax(at::matmul(wide_q, wide_k.mT()) * one.info.scale, -1);
  const Tensor found = at::softmax(at::matmul(q, k.mT()) * one.info.scale + one.bias(layout, x).dense(), -1);
  EXPECT_LT(largest_difference(found, expected), 1e-12);
}

// Without prefix tokens a grid turned by a quarter only renames the patches.
TEST(PapeRi, DoesNotSeeARotationOfTheGrid) {
  const Layout layout{{4, 6}, 0}, turned{{6, 4}, 0};
  const auto one = one_prior("pape-ri", {}, 2, 4, layout);
  const Tensor x = draw("x", {1, 24, 8});
  const Tensor order = at::rot90(at::arange(24).view({4, 6})).flatten();  // turned patch -> patch
  const Tensor there = one.bias(layout, x).dense(), after = one.bias(turned, x.index_select(1, order)).dense();
  EXPECT_LT(largest_difference(there.index_select(2, order).index_select(3, order), after), 1e-12);
}

TEST(Pape, StartsLocalAboutThreeQuartersASquaredPatch) {
  const Layout layout{{1, 2}, 0};
  const auto one = one_prior("pape", {}, 6, 64, layout);
  const Tensor bias = one.bias(layout, draw("x", {64, 2, 384})).dense();
  const double apart =
      0.5 * (bias.select(2, 0).select(2, 1).mean() + bias.select(2, 1).select(2, 0).mean()).item<double>();
  EXPECT_NEAR(apart, -0.76, 0.1);
}

// Squares cancel inside the product: from centered coordinates float32 keeps the terms of near pairs on a
// large grid.
TEST(Pape, KeepsNearPairsExactOnALargeGrid) {
  const Layout layout{{64, 64}, 0};
  const auto one = one_prior("pape", {{"m", 8}}, 1, 8, layout);
  const Tensor x = draw("x", {1, layout.tokens(), 8});
  const Tensor exact = one.bias(layout, x).dense();
  one.prior->to(at::kFloat);
  const Tensor found = one.bias(layout, x.to(at::kFloat)).dense();
  const Tensor near = exact > -20;  // others vanish in the softmax
  const double worst = ((found.to(at::kDouble) - exact).abs() * near).max().item<double>();
  EXPECT_LT(worst, 5e-3);
}

}  // namespace
}  // namespace locus::engine
