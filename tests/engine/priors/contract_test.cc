// What every prior promises, in every setting its catalog entry allows. Nobody is named here: a new line in
// priors.def is tested at once.
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/attention/path.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;
using test::ModelShape;
using test::PriorSetting;
using test::small_model;
using test::test_context;
using test::test_images;

class EveryPrior : public testing::TestWithParam<PriorSetting> {
 protected:
  std::shared_ptr<Backbone> model(const ModelShape& shape = {}, std::uint64_t seed = 0,
                                  const std::string& path = "auto") const {
    return small_model({GetParam()}, shape, seed, path);
  }
  static Tensor tokens(Backbone& model, const Tensor& images) {
    const at::NoGradGuard no_grad;
    return model.forward(images, test_context(false)).tokens;
  }
};

// Moves every parameter a little, so that none that starts at zero hides another.
void nudge(Backbone& model) {
  const at::NoGradGuard no_grad;
  for (auto& entry : model.named_parameters()) {
    const Tensor noise = RandomStreams(13).normal("test", entry.key(), 0, entry.value().sizes());
    entry.value().add_(noise.to(entry.value().options()), 0.02);
  }
}

// Whether the first prior says that it sets the initial weights of the maps to values.
bool starts_values(const Backbone& model) {
  for (const auto& layer : model.priors(0).at(0).prior->layers()) {
    if (layer && layer->start_values(at::empty({model.width(), model.width()}))) return true;
  }
  return false;
}

// "a+b" -> a, b
std::vector<std::string> split(const std::string& joined) {
  std::vector<std::string> parts;
  std::istringstream in(joined);
  for (std::string part; std::getline(in, part, '+');) parts.push_back(part);
  return parts;
}

void copy_state(Backbone& from, Backbone& to) {
  const at::NoGradGuard no_grad;
  for (auto& entry : to.named_parameters()) entry.value().copy_(from.named_parameters()[entry.key()]);
  for (auto& entry : to.named_buffers()) entry.value().copy_(from.named_buffers()[entry.key()]);
}

// 0, 1, 5 and, without a class token, 2 prefix tokens, where the setting has a place for them.
std::vector<ModelShape> prefixes(const PriorSetting& setting) {
  std::vector<ModelShape> shapes = {{.pool = "mean", .registers = 0}};
  if (test::axial(setting)) return shapes;
  shapes.push_back({.pool = "cls", .registers = 0});
  shapes.push_back({.pool = "cls", .registers = 4});
  shapes.push_back({.pool = "mean", .registers = 2});
  return shapes;
}
std::vector<std::vector<std::int64_t>> extents() { return {{8, 8}, {6, 14}, {14, 6}, {2, 10}, {10, 2}, {2, 2}}; }

TEST_P(EveryPrior, KeepsTheShapeOnAnyGridWithAnyPrefix) {
  for (ModelShape shape : prefixes(GetParam())) {
    for (const auto& extent : extents()) {
      shape.extent = extent;
      const auto m = model(shape);
      const Features features = m->forward(test_images(3, extent), test_context(false));
      const std::int64_t prefix = shape.registers + (shape.pool == "cls" ? 1 : 0);
      EXPECT_EQ(features.layout, (Layout{{extent[0] / 2, extent[1] / 2}, prefix}));
      EXPECT_EQ(features.tokens.sizes(), (at::IntArrayRef{3, features.layout.tokens(), shape.dim}));
      EXPECT_EQ(m->pooled(features).sizes(), (at::IntArrayRef{3, shape.dim}));
      EXPECT_TRUE(features.tokens.isfinite().all().item<bool>());
    }
  }
}

TEST_P(EveryPrior, GivesEveryParameterAFiniteGradient) {
  for (ModelShape shape : prefixes(GetParam())) {
    const auto m = model(shape);
    nudge(*m);
    for (const auto& [name, gradient] : test::gradients(*m, test_images(4, shape.extent))) {
      ASSERT_TRUE(gradient.defined()) << name << " gets no gradient";
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
      EXPECT_GT(gradient.abs().max().item<double>(), 0) << name << " is never used";
    }
  }
}

TEST_P(EveryPrior, StaysFiniteForLargeInputs) {
  const auto m = model();
  for (const double size : {1e4, -1e4, 0.0}) {
    EXPECT_TRUE(tokens(*m, test_images(2, {8, 10}) * size).isfinite().all().item<bool>()) << size;
    for (const auto& [name, gradient] : test::gradients(*m, test_images(2, {8, 10}) * size)) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name << " at " << size;
    }
  }
}

TEST_P(EveryPrior, IsAFunctionOfTheSeed) {
  const Tensor images = test_images(2, {8, 10});
  EXPECT_TRUE(at::equal(tokens(*model({}, 3), images), tokens(*model({}, 3), images)));
  EXPECT_FALSE(at::equal(tokens(*model({}, 3), images), tokens(*model({}, 4), images)));
}

TEST_P(EveryPrior, SharesEveryCommonWeightWithAModelWithoutIt) {
  const ModelShape shape = test::fitting(GetParam(), {.registers = 2});
  const auto m = model(shape), bare = small_model({}, shape);
  const auto own = m->named_parameters();
  std::int64_t common = 0;
  for (const auto& entry : bare->named_parameters()) {
    if (!own.contains(entry.key())) continue;  // a prior may replace the MLP
    const bool own_values = entry.key().ends_with("attention.qkv.weight") && starts_values(*m);
    const std::int64_t rows = own_values ? 2 * shape.dim : entry.value().size(0);
    EXPECT_TRUE(at::equal(own[entry.key()].slice(0, 0, rows), entry.value().slice(0, 0, rows))) << entry.key();
    ++common;
  }
  EXPECT_GE(common, 12) << "embedding, registers, attention, norms";
  for (const auto& entry : own) {
    EXPECT_TRUE(bare->named_parameters().contains(entry.key()) ||
                entry.key().starts_with("priors." + GetParam().id + "."))
        << entry.key();
  }
}

TEST_P(EveryPrior, LetsNoImageSeeAnother) {
  const auto m = model();
  const Tensor images = test_images(4, {8, 10});
  Tensor changed = images.clone();
  changed.slice(0, 1).mul_(-3);
  EXPECT_LT(largest_difference(tokens(*m, images)[0], tokens(*m, changed)[0]), 1e-6);
  EXPECT_LT(largest_difference(tokens(*m, images)[0], tokens(*m, images.slice(0, 0, 1))[0]), 1e-5);
}

TEST_P(EveryPrior, RunsAtOtherResolutionsThanAtConstructionAndBack) {
  const ModelShape shape = test::fitting(GetParam(), {.pool = "cls"});
  const std::int64_t prefix = shape.pool == "cls" ? 1 : 0;
  const auto m = model(shape);
  const Tensor before = tokens(*m, test_images(2, {8, 10}));
  for (const auto& extent : extents()) {
    const Tensor out = tokens(*m, test_images(2, extent));
    EXPECT_EQ(out.size(1), prefix + extent[0] * extent[1] / 4);
    EXPECT_TRUE(out.isfinite().all().item<bool>());
  }
  EXPECT_TRUE(at::equal(tokens(*m, test_images(2, {8, 10})), before)) << "another layout left something behind";
  for (const auto& [name, gradient] : test::gradients(*m, test_images(2, {12, 6}))) {
    EXPECT_TRUE(gradient.defined() && gradient.isfinite().all().item<bool>()) << name;
  }
}

TEST_P(EveryPrior, TakesOverSavedWeightsExactlyEvenAfterItHasRun) {
  const auto from = model({}, 1), to = model({}, 2);
  const Tensor images = test_images(2, {8, 10});
  tokens(*to, images);
  copy_state(*from, *to);
  EXPECT_TRUE(at::equal(tokens(*to, images), tokens(*from, images)));
}

TEST_P(EveryPrior, TrainsAfterAnEvaluationInInferenceMode) {
  const auto m = model(), fresh = model();
  {
    const c10::InferenceMode inference;
    m->forward(test_images(2, {8, 10}), test_context(false));
  }
  const auto expected = test::gradients(*fresh, test_images(2, {8, 10}));
  for (const auto& [name, gradient] : test::gradients(*m, test_images(2, {8, 10}))) {
    EXPECT_TRUE(at::equal(gradient, expected.at(name))) << name;
  }
}

TEST_P(EveryPrior, FollowsItsParametersWhileTraining) {
  const auto m = model();
  const Tensor images = test_images(2, {8, 10}), before = tokens(*m, images);
  const auto old = test::gradients(*m, images);
  {
    const at::NoGradGuard no_grad;
    for (auto& entry : m->named_parameters()) entry.value().sub_(old.at(entry.key()), 1e-3);
  }
  const Tensor after = tokens(*m, images);
  EXPECT_FALSE(at::equal(before, after));
  const auto fresh = model();
  copy_state(*m, *fresh);
  EXPECT_TRUE(at::equal(tokens(*fresh, images), after)) << "evaluation used stale terms";
}

TEST_P(EveryPrior, GivesTheSameValuesAndGradientsOnEveryPath) {
  for (ModelShape shape : prefixes(GetParam())) {
    const Tensor images = test_images(2, shape.extent).to(at::kDouble);
    const auto reference = model(shape, 0, "explicit");
    reference->to(at::kDouble);
    nudge(*reference);
    const Tensor plain = tokens(*reference, images);
    const auto expected = test::gradients(*reference, images);
    for (const ExecutionPath& path : execution_paths()) {
      const auto m = model(shape, 0, std::string(path.name));
      m->to(at::kDouble);
      nudge(*m);
      EXPECT_LT(largest_difference(tokens(*m, images), plain), 1e-11) << path.name;
      for (const auto& [name, gradient] : test::gradients(*m, images)) {
        EXPECT_LT(largest_difference(gradient, expected.at(name)), 1e-9) << name << " on " << path.name;
      }
      for (const std::string& taken : split(m->path()))
        EXPECT_TRUE(taken == path.name || taken == "explicit") << m->path();
    }
  }
}

// The recipes' rule is that vectors and biases are exempt from weight decay; a prior that lets further
// parameters go says so in its catalog entry, and one that takes a vector in does too.
TEST_P(EveryPrior, DecaysWhatTheRuleSaysOrTheCatalogStates) {
  const auto m = model();
  const std::string rule = prior_item(GetParam().id).item.json().value("weight_decay", "rule");
  ASSERT_TRUE(rule == "rule" || rule == "exempt" || rule == "option") << rule;
  const std::string own = "priors." + GetParam().id + ".";
  for (const auto& entry : m->named_parameters()) {
    const bool plain = entry.value().dim() > 1 && !entry.key().ends_with("bias");
    const bool decayed = m->decay(entry.key(), entry.value()) == Decay::kDecayed;
    if (!entry.key().starts_with(own) || rule == "rule") {
      EXPECT_EQ(decayed, plain) << entry.key();
    } else if (rule == "exempt") {
      EXPECT_FALSE(decayed) << entry.key();
    }
  }
}

TEST_P(EveryPrior, TrainingOnlyPartsDoNotTouchTheForward) {
  const auto m = model();
  const Tensor images = test_images(2, {8, 10}), before = tokens(*m, images);
  for (auto& entry : m->named_parameters()) {
    const at::NoGradGuard no_grad;
    if (m->training_only(entry.key())) entry.value().fill_(7);
  }
  EXPECT_TRUE(at::equal(tokens(*m, images), before));
}

TEST_P(EveryPrior, LosesAreScalarsThatFlowIntoTheModel) {
  const auto m = model();
  const Features features = m->forward(test_images(2, {8, 10}), test_context(true));
  for (const AuxLoss& loss : m->auxiliary_losses(features, test_context(true))) {
    EXPECT_EQ(loss.prior, GetParam().id);
    EXPECT_EQ(loss.value.dim(), 0);
    EXPECT_TRUE(loss.value.requires_grad());
    for (const auto& [name, field] : loss.fields) EXPECT_FALSE(field.requires_grad()) << name;
  }
}

std::string setting_name(const testing::TestParamInfo<PriorSetting>& info) { return info.param.name(); }
INSTANTIATE_TEST_SUITE_P(Catalog, EveryPrior, testing::ValuesIn(test::all_settings()), setting_name);

bool mentions(const Json& excludes, const Json& other) {
  for (const Json& what : excludes) {
    if (what == other.at("id")) return true;
    for (const Json& tag : other.at("provides")) {
      if (what == tag) return true;
    }
  }
  return false;
}

// No prior excludes another, and none that needs the whole grid stands beside attention along the axes.
bool allowed(const std::vector<PriorSetting>& priors) {
  for (const PriorSetting& a : priors) {
    const bool lines = test::axial(a);
    for (const PriorSetting& b : priors) {
      const Json &one = prior_item(a.id).item.json(), &other = prior_item(b.id).item.json();
      if (a.id == b.id) continue;
      if (mentions(one.at("excludes"), other)) return false;
      const Json& tags = other.at("provides");
      if (lines && std::find(tags.begin(), tags.end(), "whole-grid") != tags.end()) return false;
    }
  }
  return true;
}

// Trains a step, or is refused in words that name every prior; returns whether it ran.
bool trains_or_is_refused(const std::vector<PriorSetting>& priors) {
  ModelShape shape{.pool = "cls", .depth = 1};
  std::string names;
  for (const PriorSetting& prior : priors) {
    shape = test::fitting(prior, shape);
    names += prior.name() + " ";
  }
  if (!allowed(priors)) {
    try {
      small_model(priors, shape);
      ADD_FAILURE() << names << "was built although the catalog excludes it";
    } catch (const std::invalid_argument& refusal) {
      for (const PriorSetting& prior : {priors.front(), priors.back()})
        EXPECT_NE(std::string(refusal.what()).find(prior.id), std::string::npos) << refusal.what();
    }
    return false;
  }
  const auto m = small_model(priors, shape);
  const Tensor images = test_images(2, {8, 10});
  const auto before = test::gradients(*m, images);
  {
    const at::NoGradGuard no_grad;
    for (auto& entry : m->named_parameters()) {
      const Tensor& gradient = before.at(entry.key());
      if (!gradient.defined()) continue;
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << names << entry.key();
      entry.value().sub_(gradient, 1e-3);
    }
  }
  EXPECT_TRUE(m->forward(images, test_context(true)).tokens.isfinite().all().item<bool>()) << names;
  return true;
}

TEST(Combinations, EveryPairTrainsAStepOrIsRefusedWithTheReason) {
  int ran = 0, refused = 0;
  std::set<std::string> tested;
  for (const PriorItem& item : test::tested_priors()) tested.insert(item.id());
  for (const PriorItem& first : prior_items()) {
    for (const PriorItem& second : prior_items()) {
      if (first.id() == second.id() || (!tested.contains(first.id()) && !tested.contains(second.id()))) continue;
      (trains_or_is_refused({{first.id()}, {second.id()}}) ? ran : refused) += 1;
    }
  }
  if (test::tests_everything()) EXPECT_GT(ran, static_cast<int>(prior_items().size()));
  EXPECT_GT(ran + refused, 0);
}

TEST(Combinations, AttentionAlongTheAxesTakesEveryOtherPriorOrRefusesItWithTheReason) {
  int ran = 0, refused = 0;
  for (const PriorSetting& setting : test::all_settings()) {
    if (!test::axial(setting)) continue;
    for (const PriorItem& other : prior_items()) {
      if (other.id() == setting.id) continue;
      (trains_or_is_refused({setting, {other.id()}}) ? ran : refused) += 1;
    }
  }
  if (!test::tests_everything()) return;  // of some priors alone, none may have such a setting
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 0);
}

TEST(Combinations, AttentionAlongTheAxesRefusesPrefixTokensByTheirNumber) {
  for (const PriorSetting& setting : test::all_settings()) {
    if (!test::axial(setting)) continue;
    try {
      small_model({setting}, {.pool = "cls", .registers = 4});
      ADD_FAILURE() << setting.name() << " took prefix tokens";
    } catch (const std::invalid_argument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("prefix 5 where there may be none"), std::string::npos)
          << refusal.what();
    }
  }
}

TEST(Combinations, RefuseTheSamePriorTwice) {
  for (const PriorItem& item : test::tested_priors())
    EXPECT_THROW(small_model({{item.id()}, {item.id()}}), std::invalid_argument) << item.id();
}

TEST(Combinations, RefuseAnUnknownPriorByName) {
  try {
    small_model({{"astrology"}});
    FAIL() << "accepted an unknown prior";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'astrology'"), std::string::npos);
  }
}

}  // namespace
}  // namespace locus::engine
