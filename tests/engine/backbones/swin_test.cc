// Swin Transformers of both versions equal their definition, and misreadings of it do not.
#include "tests/engine/backbones/swin_definition.h"
#include "tests/engine/backbones/swin_models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;
using test::own_priors;
using test::random_swin;
using test::small_swin;
using test::SwinDefinition;
using test::SwinParameters;
using test::SwinPlain;
using test::test_context;
using test::test_images;

struct SwinCase {
  const char* what;
  Json options;
  std::vector<std::int64_t> built, run;  // extents of images
  SwinPlain plain;
};

SwinPlain plain(std::vector<test::SwinWindows> windows, bool second = false, bool pad_first = true) {
  return {.depths = {2, 2}, .heads = {2, 4}, .windows = std::move(windows), .second = second, .pad_first = pad_first};
}

std::vector<SwinCase> swin_cases() {
  const Json timm = {{"compat", "timm"}}, detection = {{"compat", "detection"}};
  return {
      {"ms: a grid of windows, then one window", small_swin(), {16, 16}, {16, 16}, plain({{4, 4, 2, 2}, {4, 4, 0, 0}})},
      {"ms: windows of the shorter side",
       small_swin({{"window", 6}}),
       {8, 16},
       {8, 16},
       plain({{4, 4, 0, 0}, {2, 2, 0, 0}})},
      {"ms: other images than at construction", small_swin(), {16, 16}, {20, 10}, plain({{4, 4, 2, 2}, {4, 4, 0, 0}})},
      {"timm: shift along one axis",
       small_swin(timm),
       {8, 16},
       {8, 16},
       plain({{4, 4, 0, 2}, {2, 4, 0, 0}}, false, false)},
      {"timm: shifted, then filled up",
       small_swin(timm),
       {20, 14},
       {20, 14},
       plain({{4, 4, 2, 2}, {4, 4, 2, 0}}, false, false)},
      {"detection: any image", small_swin(detection), {15, 21}, {15, 21}, plain({{4, 4, 2, 2}, {4, 4, 2, 2}})},
      {"detection: odd windows",
       small_swin({{"compat", "detection"}, {"window", 3}}),
       {14, 14},
       {13, 9},
       plain({{3, 3, 1, 1}, {3, 3, 1, 1}})},
      {"version 2", small_swin({{"version", 2}}), {16, 16}, {16, 16}, plain({{4, 4, 2, 2}, {4, 4, 0, 0}}, true)},
      {"version 2 by timm",
       small_swin({{"version", 2}, {"compat", "timm"}}),
       {12, 20},
       {12, 20},
       plain({{4, 4, 2, 2}, {3, 4, 0, 2}}, true, false)}};
}

SwinParameters swin_copies(const Backbone& model) {
  SwinParameters out;
  for (const auto& parameter : model.named_parameters())
    out.emplace(parameter.key(), parameter.value().detach().clone().requires_grad_());
  return out;
}

Tensor weights_like(const Tensor& tokens) {
  return RandomStreams(5).normal("test", "weight", 0, tokens.sizes()).to(at::kDouble);
}

double largest_relative(const Tensor& found, const Tensor& expected) {
  return largest_difference(found, expected) / (1 + expected.abs().max().item<double>());
}

TEST(Swin, EqualsItsDefinitionInValueAndEveryGradient) {
  for (const SwinCase& one : swin_cases()) {
    SCOPED_TRACE(one.what);
    const auto model = random_swin(one.options, one.built, own_priors(one.plain.second));
    const SwinParameters parameters = swin_copies(*model);
    const Tensor given = test_images(2, one.run).to(at::kDouble).requires_grad_(),
                 expected_of = given.detach().clone().requires_grad_();
    const Features found = model->forward(given, test_context(false));
    const SwinDefinition::Result expected = SwinDefinition(one.plain, parameters).run(expected_of);
    ASSERT_EQ(found.stages.size(), 2U);
    for (std::size_t s = 0; s < 2; ++s) {
      const Tensor& grid = expected.stages[s];
      EXPECT_EQ(found.stages[s].layout, (Layout{{grid.size(1), grid.size(2)}, 0}));
      EXPECT_LT(largest_difference(found.stages[s].tokens, grid.flatten(1, 2)), 1e-10) << "stage " << s;
    }
    EXPECT_LT(largest_difference(found.tokens, expected.tokens), 1e-10);
    EXPECT_LT(largest_difference(model->pooled(found), expected.tokens.mean(1)), 1e-10);

    const Tensor weight = weights_like(found.tokens);
    (found.tokens * weight).sum().backward();
    (expected.tokens * weight).sum().backward();
    EXPECT_LT(largest_relative(given.grad(), expected_of.grad()), 1e-10) << "gradient of the image";
    for (const auto& parameter : model->named_parameters()) {
      const Tensor wanted = parameters.at(parameter.key()).grad();
      ASSERT_TRUE(wanted.defined() && parameter.value().grad().defined()) << parameter.key();
      EXPECT_LT(largest_relative(parameter.value().grad(), wanted), 1e-10) << "gradient of " << parameter.key();
    }
  }
}

// How far the tokens of a network are from a misreading of it.
double off(const SwinCase& one, const SwinPlain& misread) {
  const at::NoGradGuard no_grad;
  const auto model = random_swin(one.options, one.built, own_priors(one.plain.second));
  const Tensor image = test_images(2, one.run).to(at::kDouble);
  const SwinParameters parameters = swin_copies(*model);
  return largest_difference(model->forward(image, test_context(false)).tokens,
                            SwinDefinition(misread, parameters).run(image).tokens);
}

TEST(Swin, IsTellableFromEveryMisreading) {
  const std::vector<SwinCase> all = swin_cases();
  const SwinCase &ms = all[0], &timm_rectangle = all[3], &timm = all[4], &detection = all[5];
  SwinPlain other = ms.plain;
  other.masked = false;
  EXPECT_GT(off(ms, other), 1e-3) << "no mask";
  other = ms.plain;
  other.columns_last = false;
  EXPECT_GT(off(ms, other), 1e-2) << "cells in raster order";
  other = ms.plain;
  other.eps = 1e-6;
  EXPECT_GT(off(ms, other), 1e-8) << "another epsilon";
  other = timm.plain;
  other.pad_first = true;
  EXPECT_GT(off(timm, other), 1e-3) << "filled up, then shifted";
  other = timm_rectangle.plain;
  other.windows[0].right = 0;
  EXPECT_GT(off(timm_rectangle, other), 1e-3) << "the official rule on a rectangle";
  other = detection.plain;
  other.pad_first = false;
  EXPECT_GT(off(detection, other), 1e-3) << "shifted, then filled up";
  other = detection.plain;
  other.padding_seen = false;
  EXPECT_GT(off(detection, other), 1e-2) << "places without tokens hidden";
}

TEST(Swin, OfTheSecondVersionReadsOffsetsByTheWindowOfItsPretraining) {
  Json priors = own_priors(true);
  priors[0]["options"]["pretraining_window"] = 8;
  const Json options = small_swin({{"version", 2}});
  const auto model = random_swin(options, {16, 16}, priors);
  const Tensor image = test_images(2, {16, 16}).to(at::kDouble);
  const Tensor tokens = model->forward(image, test_context(false)).tokens;
  const SwinParameters parameters = swin_copies(*model);
  SwinPlain other = plain({{4, 4, 2, 2}, {4, 4, 0, 0}}, true);
  EXPECT_GT(largest_difference(tokens, SwinDefinition(other, parameters).run(image).tokens), 1e-4);
  other.pretraining = 8;
  EXPECT_LT(largest_difference(tokens, SwinDefinition(other, parameters).run(image).tokens), 1e-10);
}

TEST(Swin, OfAllCodesIsOneNetworkWhereWindowsDivideLargerGrids) {
  const Tensor image = test_images(1, {32, 32}).to(at::kDouble);
  std::vector<Tensor> tokens;
  for (const char* compat : {"ms", "timm", "detection"}) {
    const auto model = random_swin(small_swin({{"compat", compat}}), {32, 32}, own_priors(false));
    tokens.push_back(model->forward(image, test_context(false)).tokens);
  }
  EXPECT_TRUE(at::equal(tokens[0], tokens[1]) && at::equal(tokens[0], tokens[2]));
}

}  // namespace
}  // namespace locus::engine
