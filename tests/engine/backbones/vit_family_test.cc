// Every published size and option of backbone vit, reduced, against the family's plain definition: values and gradients in
// float64. What it costs by the catalog is what is built.
#include <gtest/gtest.h>

#include "tests/engine/backbones/vit_definition.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/names.h"

namespace locus::engine {
namespace {

using test::PlainVit;
using test::test_context;
using test::test_images;

constexpr std::int64_t kBatch = 5, kRows = 4, kColumns = 6, kDepth = 2, kHeads = 2, kDim = 8;
constexpr double kNear = 1e-10;

struct VitCase {
  std::string name;
  Json options;  // besides the reduced shape
  Json priors = Json::array();
};
void PrintTo(const VitCase& one, std::ostream* out) { *out << one.name << " " << one.options; }

const Json& entry() { return backbone_item("vit").item.json(); }

// The published networks' tables of positions; their other priors are those of other tests.
Json tables_of(const std::string& size) {
  Json out = Json::array();
  for (const Json& prior : entry().at("facts").at("own_priors").at(size)) {
    if (prior.contains("learned-absolute"))
      out.push_back({{"id", "learned-absolute"}, {"options", prior.at("learned-absolute")}});
  }
  return out;
}

std::vector<VitCase> vit_cases() {
  std::vector<VitCase> out;
  for (const auto& [size, options] : entry().at("presets").items())
    out.push_back({size, {{"size", size}}, tables_of(size)});
  const Json table = Json::array({{{"id", "learned-absolute"}, {"options", {{"rows", "with-prefix"}}}}});
  out.push_back({"plain", Json::object()});
  out.push_back({"distilled", {{"pool", "cls"}, {"registers", 1}}, table});
  out.push_back({"norm after pooling", {{"pool", "mean"}, {"class_token", "always"}, {"final_norm", "pooled"}}, table});
  out.push_back({"norms untied", {{"pool", "cls"}, {"registers", 4}, {"final_norm", "untied"}}});
  out.push_back({"no bias of keys", {{"key_bias", "none"}, {"norm_eps", 1e-12}}});
  out.push_back({"gated to a multiple", {{"mlp", "swiglu"}, {"mlp_ratio", 3.0}, {"mlp_multiple", 64}}});
  out.push_back({"registers pooled", {{"pool", "registers"}, {"registers", 2}, {"class_token", "always"}}});
  return out;
}

// Parameters random, those that start at 0 or 1, too.
std::shared_ptr<Backbone> build(const VitCase& one, const Json& more = Json::object()) {
  Json options = {{"dim", kDim}, {"depth", kDepth}, {"heads", kHeads}, {"patch", 2}};
  options.update(one.options);
  options.update(more);
  const RandomStreams random(3);
  const auto model = make_backbone({{"model", {{"id", "vit"}, {"options", options}}}, {"priors", one.priors}},
                                   {test::kTestChannels, {2 * kRows, 2 * kColumns}}, random);
  model->to(at::kDouble);
  const at::NoGradGuard no_gradient;
  for (const auto& parameter : model->named_parameters())
    parameter.value().copy_(random.normal("test", parameter.key(), 0, parameter.value().sizes(), 0, 0.5));
  return model;
}

Options options_of(const VitCase& one, const Json& more) {
  Json options = one.options;
  options.update(more);
  return {entry(), options};
}

PlainVit definition_of(const Backbone& model, const VitCase& one, const Json& more = Json::object()) {
  const Options o = options_of(one, more);
  PlainVit out;
  for (const auto& parameter : model.named_parameters()) out.p[parameter.key()] = parameter.value();
  out.heads = kHeads;
  out.patch = 2;
  out.eps = o.number("norm_eps");
  out.pool = o.text("pool");
  out.masked_keys = o.boolean("qkv_bias") && o.text("key_bias") == "masked";
  return out;
}

Tensor functional(const Tensor& tokens, const Tensor& pooled) {
  const RandomStreams random(5);
  const auto weighted = [&](const Tensor& x, const char* name) {
    return (x * random.normal("test", name, 0, x.sizes()).to(at::kDouble)).sum();
  };
  return weighted(tokens, "tokens") + weighted(pooled, "pooled");
}

std::map<std::string, Tensor> gradients_of(Backbone& model, const Tensor& value) {
  model.zero_grad();
  value.backward();
  std::map<std::string, Tensor> out;
  for (const auto& parameter : model.named_parameters())
    out[parameter.key()] =
        parameter.value().grad().defined() ? parameter.value().grad().clone() : at::zeros_like(parameter.value());
  return out;
}

void expect_same(Backbone& model, const PlainVit& plain, const Inputs& inputs, const ForwardContext& context) {
  const Features features = model.forward(inputs, context);
  const Tensor pooled = model.pooled(features);
  const PlainVit::Out wanted = plain(inputs.image);
  EXPECT_LT((features.taps.at("pre-norm") - wanted.stream).abs().max().item<double>(), kNear);
  EXPECT_LT((features.tokens - wanted.tokens).abs().max().item<double>(), kNear);
  EXPECT_LT((pooled - wanted.pooled).abs().max().item<double>(), kNear);
  const auto found = gradients_of(model, functional(features.tokens, pooled));
  const auto expected = gradients_of(model, functional(wanted.tokens, wanted.pooled));
  for (const auto& [name, gradient] : expected)
    EXPECT_LT((found.at(name) - gradient).abs().max().item<double>(), kNear) << name;
}

Tensor images() { return test_images(kBatch, {2 * kRows, 2 * kColumns}).to(at::kDouble); }

class VitFamily : public ::testing::TestWithParam<VitCase> {};

// A size gives way to the small shape.
TEST_P(VitFamily, ComputesItsPlainDefinition) {
  const auto model = build(GetParam());
  expect_same(*model, definition_of(*model, GetParam()), Inputs(images()), test_context(false));
}

TEST_P(VitFamily, HidesPatchesBehindItsMaskToken) {
  const Json masks = {{"mask_token", true}};
  const auto model = build(GetParam(), masks);
  PlainVit plain = definition_of(*model, GetParam(), masks);
  Inputs inputs(images());
  inputs.hidden = plain.hidden = RandomStreams(4).uniform("test", "hidden", 0, {kBatch, kRows * kColumns}).lt(0.5);
  expect_same(*model, plain, inputs, test_context(false));
}

// The factors of a branch's samples from their draws, which are uniform: each of its own, or those with the least draws.
Tensor factors(const Tensor& draws, double rate, bool exactly) {
  if (!exactly) return draws.ge(rate).to(at::kDouble) / (1 - rate);
  const std::int64_t batch = draws.numel();
  const auto staying = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(batch) * (1 - rate)), 1);
  Tensor out = at::zeros({batch, 1, 1}, at::kDouble);
  for (std::int64_t b = 0; b < batch; ++b) {
    const bool stays = draws.lt(draws[b]).sum().item<std::int64_t>() < staying;
    if (stays) out[b].fill_(static_cast<double>(batch) / static_cast<double>(staying));
  }
  return out;
}

void expect_drops(const VitCase& one, const char* rule, const char* draw) {
  constexpr double kRate = 0.5;
  const Json training = {{"drop_path", kRate}, {"drop_path_rule", rule}, {"drop_path_draw", draw}};
  const auto model = build(one, training);
  PlainVit plain = definition_of(*model, one, training);
  const ForwardContext context = test_context(true);
  for (std::int64_t l = 0; l < kDepth; ++l) {
    const double rate = std::string(rule) == "constant" ? kRate : kRate * static_cast<double>(l) / (kDepth - 1);
    for (const char* branch : {"attention", "mlp"}) {
      if (rate == 0) continue;
      const std::string name = "blocks." + std::to_string(l) + "." + branch;
      const Tensor draws =
          context.random.uniform("drop-path", name, static_cast<std::uint64_t>(context.step), {kBatch, 1, 1});
      plain.kept[name] = factors(draws, rate, std::string(draw) == "exactly");
    }
  }
  expect_same(*model, plain, Inputs(images()), context);
}

TEST_P(VitFamily, DropsPathsWhileTrainingAsItsRuleAndDrawSay) {
  for (const char* rule : {"linear", "constant"}) {
    for (const char* draw : {"each", "exactly"}) {
      SCOPED_TRACE(std::string(rule) + " " + draw);
      expect_drops(GetParam(), rule, draw);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Published, VitFamily, ::testing::ValuesIn(vit_cases()),
                         [](const auto& one) { return test::fit_for_a_name(one.param.name); });

std::map<std::string, Tensor> started(const Json& more) {
  Json options = {{"dim", 64}, {"depth", 3}, {"heads", 4}, {"patch", 4}, {"pool", "cls"}, {"registers", 16}};
  options.update(more);
  const auto model = make_backbone({{"model", {{"id", "vit"}, {"options", options}}}, {"priors", Json::array()}},
                                   {3, {16, 16}}, RandomStreams(0));
  std::map<std::string, Tensor> out;
  for (const auto& parameter : model->named_parameters()) out[parameter.key()] = parameter.value().detach();
  return out;
}

double spread(const Tensor& x) { return x.std().item<double>(); }

TEST(VitStarts, OfEvaDampTheMapsThatEndABranch) {
  const auto deit = started(Json::object()), eva = started({{"init", "eva"}});
  for (const auto& [name, tensor] : eva) {
    const bool ends = name.ends_with(".attention.out.weight") || name.ends_with(".mlp.out.weight");
    const double layer = ends ? std::stod(name.substr(7)) : 0;
    EXPECT_TRUE(at::equal(tensor, ends ? deit.at(name).div(std::sqrt(2 * (layer + 1))) : deit.at(name))) << name;
  }
}

TEST(VitStarts, OfDinov3DrawItsTokensUncutAndHideNothingYet) {
  const auto p = started({{"init", "dinov3"}, {"mask_token", true}});
  EXPECT_NEAR(spread(p.at("registers")), 0.02, 0.002);
  EXPECT_EQ(p.at("mask_token").abs().max().item<double>(), 0);
  EXPECT_TRUE(at::equal(p.at("blocks.1.mlp.in.weight"), started(Json::object()).at("blocks.1.mlp.in.weight")));
}

TEST(VitStarts, OfPapeAreThoseOfPyTorch) {
  const auto p = started({{"init", "pape"}, {"pre_norm", true}});
  for (const char* name : {"blocks.2.attention.qkv", "blocks.0.attention.out", "blocks.1.mlp.in", "blocks.2.mlp.out"}) {
    const Tensor &weight = p.at(name + std::string(".weight")), &bias = p.at(name + std::string(".bias"));
    const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
    EXPECT_LE(weight.abs().max().item<double>(), bound) << name;
    EXPECT_NEAR(spread(weight), bound / std::sqrt(3.0), 0.02 * bound) << name;
    EXPECT_LE(bias.abs().max().item<double>(), bound) << name;
    EXPECT_GT(bias.abs().max().item<double>(), 0.8 * bound) << name;
  }
  EXPECT_EQ(p.at("norm_pre.weight").min().item<double>(), 1);
}

TEST(VitOptions, ThatMeanNothingAreRefused) {
  const auto refusal = [](const Json& options) {
    try {
      started(options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const std::pair<Json, const char*> wrong[] = {
      {{{"qkv_bias", false}, {"key_bias", "masked"}}, "needs qkv_bias: true"},
      {{{"mlp_multiple", 64}}, "needs mlp: swiglu"},
      {{{"class_token", "always"}}, "needs pool: mean, registers"},
      {{{"init", "pape"}, {"init_std", 0.1}}, "needs init: deit, eva, dinov3"},
      {{{"size", "deit-enormous"}}, "has no size \"deit-enormous\"; choose one of: "},
      {{{"pool", "mean"}, {"registers", 0}, {"final_norm", "untied"}}, "which needs prefix tokens"}};
  for (const auto& [options, why] : wrong) EXPECT_NE(refusal(options).find(why), std::string::npos) << refusal(options);
}

TEST(VitOptions, OfASizeThatMeanNothingBesideWhatIsWrittenAreLeftOut) {
  const Options pooled(entry(), {{"size", "timm-dinov3-small"}, {"pool", "cls"}});
  EXPECT_EQ(pooled.text("class_token"), "pool");
  EXPECT_EQ(pooled.integer("registers"), 4);
  EXPECT_THROW(Options(entry(), {{"size", "timm-dinov3-small"}, {"pool", "cls"}, {"class_token", "always"}}),
               std::invalid_argument);
}

TEST(VitOptions, OfHiddenPatchesAreOneForEachPatch) {
  const auto model = build({"plain", {{"mask_token", true}}});
  Inputs inputs(images());
  inputs.hidden = at::zeros({kBatch, 3}, at::kBool);
  EXPECT_THROW(model->forward(inputs, test_context(false)), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
