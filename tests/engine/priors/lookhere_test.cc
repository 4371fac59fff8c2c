// LookHere: fields of view, slopes, and every group against the definition.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/priors/built_prior.h"
#include "tests/engine/priors/reference/reference_prior.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

constexpr double kNever = -1e38;

Tensor bias(const Json& options, std::int64_t heads, const Layout& layout, std::int64_t layer = 0,
            std::int64_t depth = 1) {
  const test::Host host{.layout = layout, .heads = heads, .depth = depth};
  return test::dense_bias(*test::built_prior("lookhere", options, host), host, layout, layer)[0];
}

// The scalar definition, for the same options.
Tensor defined(const Json& given, std::int64_t heads, const Layout& layout, std::int64_t layer, std::int64_t depth) {
  const Options options(prior_item("lookhere").item.json(), given);
  const test::Values none;
  const RandomStreams random(0);
  const test::ReferenceContext context{.options = options.json(),
                                       .parameters = none,
                                       .extent = layout.extent,
                                       .reference_extent = layout.extent,
                                       .prefix = layout.prefix,
                                       .batch = 1,
                                       .width = heads * 4,
                                       .heads = heads,
                                       .hidden = 0,
                                       .layer = layer,
                                       .layers = depth,
                                       .axis = -1,
                                       .scale = 0.5,
                                       .training = false,
                                       .step = 0,
                                       .random = random};
  const test::Array table = test::reference_prior("lookhere")->bias(context);
  Tensor out = at::empty({heads, layout.tokens(), layout.tokens()}, at::kDouble);
  for (std::size_t i = 0; i < table.data().size(); ++i) out.data_ptr<double>()[i] = table.data()[i].value();
  return out;
}

double relative_difference(const Tensor& found, const Tensor& expected) {
  return ((found - expected).abs() / (expected.abs() + 1)).max().item<double>();
}

std::vector<std::string> group_names() {
  for (const Json& option : prior_item("lookhere").item.json().at("options")) {
    if (option.at("name") == "groups") return option.at("choices");
  }
  return {};
}

TEST(LookHere, EveryGroupIsItsDefinitionOnAnyGrid) {
  for (const std::string& group : group_names()) {
    for (const Layout& layout : {Layout{{4, 4}, 1}, Layout{{3, 5}, 0}, Layout{{1, 6}, 2}}) {
      for (const char* hidden : {"inf", "zero", "max"}) {
        for (const char* distance : {"linear", "sqrt", "square"}) {
          const Json options = {{"groups", {group}}, {"hidden", hidden}, {"distance", distance}};
          EXPECT_LT(relative_difference(bias(options, 8, layout, 1, 3), defined(options, 8, layout, 1, 3)), 1e-14)
              << group << " " << hidden << " " << distance;
        }
      }
    }
  }
}

TEST(LookHere, HeadsAreSplitIntoGroupsAsPublished) {
  const Layout layout{{3, 4}, 0};
  const auto same = [&](const Json& options, std::int64_t heads) {
    return relative_difference(bias(options, heads, layout, 0, 12), defined(options, heads, layout, 0, 12)) < 1e-14;
  };
  for (const char* fov : {"45", "90", "180"}) {
    for (const std::int64_t heads : {2, 4, 6, 8, 10, 12, 14, 16, 18, 20})
      EXPECT_TRUE(same({{"fov", fov}}, heads)) << fov << heads;
  }
  EXPECT_TRUE(same({{"groups", {"halves", "corners", "none"}}}, 16));  // 8, 4, 4
  EXPECT_TRUE(same({{"groups", {"none", "none", "halves"}}}, 12));     // neighbors of one name share their slopes
}

// Field of view: how much of a large grid the middle patch sees.
TEST(LookHere, FieldsOfViewAreThoseTheyAreNamedAfter) {
  const auto seen = [](const char* fov) {
    const Tensor middle = bias({{"fov", fov}}, 12, {{31, 31}, 0})[0][15 * 31 + 15];
    return middle.gt(kNever).to(at::kDouble).mean().item<double>() * 360;
  };
  EXPECT_NEAR(seen("180"), 180, 8);
  EXPECT_NEAR(seen("90"), 90, 8);
  EXPECT_NEAR(seen("45"), 45, 8);
}

TEST(LookHere, SlopesAreThePublishedOnes) {
  const auto slopes = [](const Json& options, std::int64_t layer, std::int64_t depth) {
    const Tensor table = bias(options, 12, {{3, 3}, 0}, layer, depth);
    std::vector<double> out;
    for (std::int64_t n = 0; n < 12; ++n)
      out.push_back(table[n].masked_fill(table[n].lt(kNever), 0).min().item<double>() / -std::sqrt(8.0));
    return out;
  };
  // 180: four heads of 0.5, four of 0.25, then the undirected ones; layer slope 1.5 first, global slope 1.
  const auto wide = slopes({{"fov", "180"}, {"hidden", "zero"}}, 0, 12);
  for (std::size_t n = 8; n < 12; ++n) EXPECT_NEAR(wide[n], 1.5 * std::pow(0.25, static_cast<double>(n - 7)), 1e-12);
  const Tensor first = bias({{"fov", "180"}}, 12, {{1, 2}, 0}, 0, 12),
               last = bias({{"fov", "180"}}, 12, {{1, 2}, 0}, 11, 12);
  EXPECT_NEAR(first[0][0][1].item<double>(), -1.5 * 0.5, 1e-12);
  EXPECT_NEAR(first[4][0][1].item<double>(), -1.5 * 0.25, 1e-12);
  EXPECT_NEAR(last[0][0][1].item<double>(), -0.5 * 0.5, 1e-12);
  // 90 has global slope 2 and two groups of four: 0.5 each.
  const Tensor ninety = bias({{"fov", "90"}}, 12, {{1, 2}, 0}, 0, 12);
  EXPECT_NEAR(ninety[1][0][1].item<double>(), -2 * 1.5 * 0.5, 1e-12);
  EXPECT_NEAR(ninety[7][0][1].item<double>(), -2 * 1.5 * 0.5, 1e-12);
}

TEST(LookHere, CanRepeatTheFirstLayersSlopeEverywhere) {
  const Json options = {{"layer_slopes", "constant-first"}};
  EXPECT_TRUE(at::equal(bias(options, 4, {{3, 3}, 0}, 5, 6), bias({}, 4, {{3, 3}, 0}, 0, 6)));
}

TEST(LookHere, CanRoundTheTableAsThePublishedCodeDoes) {
  const Json rounded = {{"rounding", "bfloat16"}};
  const Tensor table = bias(rounded, 12, {{7, 5}, 1}, 3, 12), plain = bias({}, 12, {{7, 5}, 1}, 3, 12);
  EXPECT_TRUE(at::equal(table, plain.to(at::kBFloat16).to(at::kDouble)));
  EXPECT_FALSE(at::equal(table, plain));
  EXPECT_LT(relative_difference(table, defined(rounded, 12, {{7, 5}, 1}, 3, 12)), 1e-15);
}

TEST(LookHere, AlwaysSeesItselfAndThePrefix) {
  for (const char* fov : {"45", "90", "180"}) {
    const Tensor table = bias({{"fov", fov}}, 12, {{5, 4}, 3});
    EXPECT_EQ(table.diagonal(0, 1, 2).abs().max().item<double>(), 0) << fov;
    EXPECT_EQ(table.slice(1, 0, 3).abs().max().item<double>(), 0) << fov;
    EXPECT_EQ(table.slice(2, 0, 3).abs().max().item<double>(), 0) << fov;
  }
}

TEST(LookHere, RefusesHeadsItCannotSplit) {
  EXPECT_THROW(bias({{"groups", {"halves", "corners", "none"}}}, 8, {{2, 2}, 0}), std::invalid_argument);
  EXPECT_THROW(bias({{"groups", {"halves"}}}, 6, {{2, 2}, 0}), std::invalid_argument);
  EXPECT_THROW(bias({}, 3, {{2, 2}, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
