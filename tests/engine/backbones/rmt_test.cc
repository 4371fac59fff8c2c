// RMT and SDT-H equal their definition, misreadings of it do not, and what must be the same is.
#include "tests/engine/backbones/rmt_models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::copies;
using test::largest_difference;
using test::priors_of_sdt;
using test::priors_of_size;
using test::random_rmt;
using test::RmtDefinition;
using test::RmtPlain;
using test::RmtTensors;
using test::small_plain;
using test::small_rmt;
using test::test_context;
using test::test_images;

struct RmtCase {
  const char* what;
  Json options, priors;
  std::vector<std::int64_t> built, run;  // extents of images
  RmtPlain plain;
};

Json sdt(const Json& more) {
  Json priors = priors_of_sdt();
  for (Json& prior : priors) {
    if (prior.at("id") == "spatial-decay") prior["options"].update(more);
  }
  return priors;
}

RmtPlain rmt_plain(std::vector<bool> lines, bool training, bool content = false, bool outside = false) {
  RmtPlain out = small_plain(std::move(lines));
  out.training = training, out.content = content, out.outside = outside;
  return out;
}

std::vector<RmtCase> rmt_cases() {
  const Json scaled = small_rmt({{"layer_scale", {0.0, 0.0, 1e-6, 1e-6}}});
  return {{"training, channel factors in the last stages",
           scaled,
           priors_of_size("tiny"),
           {32, 32},
           {32, 32},
           rmt_plain({true, true, false, false}, true)},
          {"odd sides, three stages along lines",
           small_rmt(),
           priors_of_size("small"),
           {37, 23},
           {37, 23},
           rmt_plain({true, true, true, false}, false)},
          {"other images than at construction",
           small_rmt(),
           priors_of_size("tiny"),
           {32, 32},
           {21, 50},
           rmt_plain({true, true, false, false}, false)},
          {"SDT-H",
           small_rmt(),
           sdt(Json::object()),
           {40, 27},
           {40, 27},
           rmt_plain({true, true, false, false}, false, true)},
          {"SDT-H, training, the sigmoid of the gate behind both maps",
           scaled,
           sdt({{"gate_sigmoid", "outside"}}),
           {32, 24},
           {32, 24},
           rmt_plain({true, true, false, false}, true, true, true)}};
}

Tensor rmt_draws(const Tensor& values, const char* name) {
  return RandomStreams(5).normal("test", name, 0, values.sizes()).to(at::kDouble);
}

double rmt_relative(const Tensor& found, const Tensor& expected) {
  return largest_difference(found, expected) / (1 + expected.abs().max().item<double>());
}

TEST(Rmt, EqualsItsDefinitionInValueAndEveryGradient) {
  for (const RmtCase& one : rmt_cases()) {
    SCOPED_TRACE(one.what);
    const auto model = random_rmt(one.options, one.built, one.priors);
    const RmtTensors tensors = copies(*model);
    const Tensor given = test_images(3, one.run).to(at::kDouble).requires_grad_(),
                 expected_of = given.detach().clone().requires_grad_();
    const Features found = model->forward(given, test_context(one.plain.training));
    const Tensor pooled = model->pooled(found);
    const RmtDefinition::Result expected = RmtDefinition(one.plain, tensors).run(expected_of);
    ASSERT_EQ(found.stages.size(), 4U);
    for (std::size_t s = 0; s < 4; ++s) {
      const Tensor& grid = expected.stages[s];
      EXPECT_EQ(found.stages[s].layout, (Layout{{grid.size(1), grid.size(2)}, 0}));
      EXPECT_LT(rmt_relative(found.stages[s].tokens, grid.flatten(1, 2)), 1e-10) << "stage " << s;
    }
    EXPECT_TRUE(found.tokens.is_same(found.stages[3].tokens)) << "there is no norm behind the last block";
    ASSERT_EQ(pooled.sizes(), (std::vector<std::int64_t>{3, model->pooled_width()}));
    EXPECT_LT(rmt_relative(pooled, expected.pooled), 1e-10);

    const Tensor of_tokens = rmt_draws(found.tokens, "tokens"), of_pooled = rmt_draws(pooled, "pooled");
    ((found.tokens * of_tokens).sum() + (pooled * of_pooled).sum()).backward();
    ((expected.stages[3].flatten(1, 2) * of_tokens).sum() + (expected.pooled * of_pooled).sum()).backward();
    EXPECT_LT(rmt_relative(given.grad(), expected_of.grad()), 1e-10) << "gradient of the image";
    for (const auto& parameter : model->named_parameters()) {
      const Tensor wanted = tensors.at(parameter.key()).grad();
      ASSERT_TRUE(wanted.defined() && parameter.value().grad().defined()) << parameter.key();
      EXPECT_LT(rmt_relative(parameter.value().grad(), wanted), 1e-10) << "gradient of " << parameter.key();
    }
  }
}

TEST(Rmt, IsTellableFromEveryMisreading) {
  const std::vector<RmtCase> all = rmt_cases();
  const auto off = [](const RmtCase& one, const RmtPlain& misread) {
    const at::NoGradGuard no_grad;
    const auto model = random_rmt(one.options, one.built, one.priors);
    const RmtTensors tensors = copies(*model);
    const Tensor image = test_images(3, one.run).to(at::kDouble);
    const Tensor found = model->pooled(model->forward(image, test_context(one.plain.training)));
    return largest_difference(found, RmtDefinition(misread, tensors).run(image).pooled);
  };
  const auto misread = [](const RmtCase& one, auto change) {
    RmtPlain out = one.plain;
    change(out);
    return out;
  };
  for (const std::size_t i : {1, 3}) {
    EXPECT_GT(off(all[i], misread(all[i], [](RmtPlain& p) { p.eps = 1e-5; })), 1e-9);
    EXPECT_GT(off(all[i], misread(all[i], [](RmtPlain& p) { p.stem_active = true; })), 1e-6);
    EXPECT_GT(off(all[i], misread(all[i], [](RmtPlain& p) { p.lines = {true, false, false, false}; })), 1e-6);
  }
  EXPECT_GT(off(all[1], misread(all[1], [](RmtPlain& p) { p.range = {4, 4, 4, 4}; })), 1e-6);
  EXPECT_GT(off(all[3], misread(all[3], [](RmtPlain& p) { p.exchanged = true; })), 1e-6);
  EXPECT_GT(off(all[3], misread(all[3], [](RmtPlain& p) { p.alpha = 0.05; })), 1e-6);
  EXPECT_GT(off(all[3], misread(all[3], [](RmtPlain& p) { p.outside = true; })), 1e-6);
}

// The pooled vector of an image under priors; parameters of equal names are equal.
Tensor pooled_under(const Json& priors, std::vector<std::int64_t> extent) {
  const at::NoGradGuard no_grad;
  const auto model = random_rmt(small_rmt(), extent, priors);
  return model->pooled(model->forward(test_images(2, extent).to(at::kDouble), test_context(false)));
}

Json with_decay(const Json& options) {
  Json priors = priors_of_size("tiny");
  for (Json& prior : priors) {
    if (prior.at("id") == "manhattan-decay") prior = {{"id", "manhattan-decay"}, {"options", options}};
  }
  return priors;
}

TEST(Rmt, AlongLinesIsOverTheGridWhereThatIsOneLine) {
  for (const std::vector<std::int64_t>& extent : {std::vector<std::int64_t>{4, 70}, {53, 3}}) {
    EXPECT_LT(rmt_relative(pooled_under(with_decay({{"form", "decomposed"}}), extent),
                           pooled_under(with_decay({{"form", "full"}}), extent)),
              1e-12);
  }
  EXPECT_GT(largest_difference(pooled_under(with_decay({{"form", "decomposed"}}), {40, 40}),
                               pooled_under(with_decay({{"form", "full"}}), {40, 40})),
            1e-6);
}

TEST(Rmt, WithoutDecayIsPlainAttentionWithRotationAndConvolution) {
  Json without = priors_of_size("tiny");
  without.erase(2);
  ASSERT_EQ(without.size(), 3U);
  const Tensor plain = pooled_under(without, {40, 30});
  EXPECT_LT(rmt_relative(pooled_under(with_decay({{"initial", 50.0}}), {40, 30}), plain), 1e-12);
  EXPECT_GT(largest_difference(pooled_under(with_decay({{"initial", 2.0}}), {40, 30}), plain), 1e-6);
}

TEST(Rmt, OfSdtAlongOneRowIsTheDecayInRasterOrder) {
  const at::NoGradGuard no_grad;
  const std::vector<std::int64_t> extent = {3, 60};
  const auto everywhere = [](const char* mode) {
    Json priors = sdt({{"mode", mode}});
    for (Json& prior : priors) prior.erase("stages");
    return priors;
  };
  const auto lines = random_rmt(small_rmt(), extent, everywhere("decomposed")),
             raster = random_rmt(small_rmt(), extent, everywhere("raster"));
  const auto decays = lines->named_parameters();
  for (const auto& entry : raster->named_parameters()) {
    if (!entry.key().ends_with(".decay")) continue;
    const Tensor both = decays[entry.key()];  // that of columns first
    Tensor one = entry.value();
    one.copy_(both.slice(0, one.size(0)));
  }
  const auto pooled = [&](Backbone& model) {
    return model.pooled(model.forward(test_images(2, extent).to(at::kDouble), test_context(false)));
  };
  EXPECT_LT(rmt_relative(pooled(*lines), pooled(*raster)), 1e-12);
}

}  // namespace
}  // namespace locus::engine
