// Rotary embedding along learned directions: starts, counts, and what logits may depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

TEST(RopeMixed, AddsThePublishedNumberOfParameters) {
  const test::Host vit_b{.layout = {{14, 14}, 1}, .heads = 12, .head_width = 64, .depth = 12};
  for (const char* init : {"naver", "pape"})
    EXPECT_EQ(test::parameter_count(*test::built_prior("rope-mixed", {{"init", init}}, vit_b)), 9216) << init;
}

TEST(RopeMixed, NaverStartsWithOneRandomDirectionAHeadAndFallingMagnitudes) {
  const test::Host host{.layout = {{2, 2}, 0}, .heads = 3, .head_width = 64, .depth = 2};
  const auto prior = test::built_prior("rope-mixed", {}, host);
  const double magnitudes[] = {1, .86596, .74989};
  std::vector<double> directions;
  for (const auto& entry : prior->named_parameters()) {
    const Tensor& freqs = entry.value();
    for (std::int64_t n = 0; n < 3; ++n) {
      const Tensor x = freqs[0][n], y = freqs[1][n];
      for (std::int64_t k = 0; k < 3; ++k)
        EXPECT_NEAR(std::hypot(x[k].item<double>(), y[k].item<double>()), magnitudes[k], 1e-5);
      EXPECT_NEAR(std::hypot(x[15].item<double>(), y[15].item<double>()), .11548, 1e-5);
      // The second half turns along the direction at a right angle.
      EXPECT_NEAR((x.slice(0, 0, 16) * x.slice(0, 16) + y.slice(0, 0, 16) * y.slice(0, 16)).abs().max().item<double>(),
                  0, 1e-6);
      directions.push_back(std::atan2(y[0].item<double>(), x[0].item<double>()));
    }
  }
  std::sort(directions.begin(), directions.end());
  EXPECT_EQ(std::unique(directions.begin(), directions.end()), directions.end()) << "directions repeat";
}

TEST(RopeMixed, PapeStartsAllHeadsAndAxesWithTheSameDivisors) {
  const test::Host host{.layout = {{2, 2}, 0}, .heads = 2, .head_width = 8};
  const Tensor divisors = test::built_prior("rope-mixed", {{"init", "pape"}}, host)->parameters()[0];
  for (std::int64_t c = 0; c < 4; ++c) {
    const Tensor all = divisors.select(2, c);
    EXPECT_NEAR(all.min().item<double>(), std::pow(100.0, 2.0 * static_cast<double>(c) / 8), 1e-5);
    EXPECT_EQ(all.min().item<double>(), all.max().item<double>());
  }
}

TEST(RopeMixed, StaysFiniteWhereADivisorCrossesZero) {
  const test::Host host{.layout = {{3, 3}, 0}, .heads = 2, .head_width = 8};
  const auto prior = test::built_prior("rope-mixed", {{"init", "pape"}}, host);
  prior->parameters()[0].detach().fill_(0);
  prior->parameters()[0].detach().select(2, 0).fill_(-1e-30);
  const test::Content content(host, host.layout);
  const auto [q, k] =
      prior->layers()[0]->transform_qk(content.q, content.k, content.inputs(), test::test_context(true));
  (q.sum() + k.sum()).backward();
  EXPECT_TRUE(q.isfinite().all().item<bool>());
  EXPECT_TRUE(prior->parameters()[0].grad().isfinite().all().item<bool>());
}

TEST(RopeMixed, LogitsDependOnOffsetsOnlyAndPrefixTokensAreNotTurned) {
  const test::Host host{.layout = {{4, 6}, 2}, .heads = 2, .head_width = 8};
  for (const char* init : {"naver", "pape"}) {
    const auto prior = test::built_prior("rope-mixed", {{"init", init}}, host);
    test::Content content(host, host.layout);
    content.q = content.q.slice(2, 0, 1).expand_as(content.q).contiguous();
    const Tensor q =
        prior->layers()[0]->transform_qk(content.q, content.q, content.inputs(), test::test_context(false)).first;
    EXPECT_TRUE(at::equal(q.slice(2, 0, 2), content.q.slice(2, 0, 2))) << init;
    const Tensor patches = q.slice(2, 2), logits = at::matmul(patches, patches.mT())[0][1];
    EXPECT_NEAR(logits[0][8].item<double>(), logits[7][15].item<double>(), 1e-12) << init;
    EXPECT_GT(std::abs(logits[0][8].item<double>() - logits[0][0].item<double>()), 1e-6) << init;
  }
}

TEST(RopeMixed, NaverIsExemptFromWeightDecayAndPapeIsNot) {
  const test::Host host{.layout = {{2, 2}, 0}, .heads = 2, .head_width = 8};
  const auto decay = [&](const char* init) {
    const auto prior = test::built_prior("rope-mixed", {{"init", init}}, host);
    return prior->decay("layers.0.freqs", prior->parameters()[0]);
  };
  EXPECT_EQ(decay("naver"), Decay::kExempt);
  EXPECT_EQ(decay("pape"), Decay::kDecayed);
}

}  // namespace
}  // namespace locus::engine
