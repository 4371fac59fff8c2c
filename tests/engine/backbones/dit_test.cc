// The Diffusion Transformer: its function by definition with and without spatial decay, its start, what runs in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;
using test::test_context;
using test::test_images;
using ::testing::HasSubstr;

constexpr std::int64_t kDitDim = 16, kDitHeads = 2, kWidth = kDitDim / kDitHeads, kDitDepth = 2, kDitRows = 3,
                       kDitColumns = 4;
constexpr std::int64_t kTokens = kDitRows * kDitColumns;

const Json kSpatialDecay = {{"id", "spatial-decay"},
                            {"options", {{"rope", "axial"}, {"lepe", "5x5"}, {"init", "xavier"}, {"gate_rank", 3}}}};

std::shared_ptr<Backbone> dit(const Json& priors, Json options = Json::object(), std::uint64_t seed = 0) {
  options.update({{"dim", kDitDim}, {"depth", kDitDepth}, {"heads", kDitHeads}, {"patch", 2}});
  return make_backbone({{"model", {{"id", "dit"}, {"options", options}}}, {"priors", priors}},
                       {test::kTestChannels, {2 * kDitRows, 2 * kDitColumns}}, RandomStreams(seed));
}

std::shared_ptr<Backbone> randomized(const Json& priors) {
  auto model = dit(priors);
  model->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (const auto& entry : model->named_parameters()) {
    entry.value().copy_(RandomStreams(3).normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.4));
  }
  return model;
}

Inputs inputs(const Tensor& images, const Tensor& condition) {
  Inputs out(images);
  out.condition.vector = condition;
  return out;
}

// The network once more, from its parameters by name.
class Definition {
 public:
  Definition(const Backbone& model, bool spatial_decay) : p_(model.named_parameters()), decays_(spatial_decay) {}

  Tensor operator()(const Tensor& images, const Tensor& condition) const {
    Tensor x = at::conv2d(images, p_["embed.weight"].view({kDitDim, test::kTestChannels, 2, 2}), p_["embed.bias"], 2)
                   .flatten(2)
                   .transpose(1, 2) +
               table();
    for (std::int64_t l = 0; l < kDitDepth; ++l) x = block(x, condition, l);
    return x;
  }

 private:
  Tensor linear(const Tensor& x, const std::string& name) const {
    return at::matmul(x, p_[name + ".weight"].t()) + p_[name + ".bias"];
  }
  static Tensor normed(const Tensor& x) {
    const Tensor centered = x - x.mean(-1, true);
    return centered / (centered.square().mean(-1, true) + 1e-6).sqrt();
  }
  // The column in the first half of the channels, the row in the second; sines, then cosines.
  static Tensor table() {
    Tensor out = at::empty({kTokens, kDitDim}, at::kDouble);
    const std::int64_t quarter = kDitDim / 4;
    for (std::int64_t n = 0; n < kTokens; ++n) {
      for (std::int64_t c = 0; c < kDitDim; ++c) {
        const auto place = static_cast<double>(c < kDitDim / 2 ? n % kDitColumns : n / kDitColumns);
        const double rate = std::pow(10000.0, -static_cast<double>(c % quarter) / static_cast<double>(quarter));
        const bool sine = c % (kDitDim / 2) < quarter;
        out[n][c] = sine ? std::sin(place * rate) : std::cos(place * rate);
      }
    }
    return out;
  }
  // Channels 2i and 2i + 1 turned by angle i: the column's angles, then the row's.
  static Tensor turned(const Tensor& q) {
    Tensor angles = at::empty({kTokens, kWidth / 2}, at::kDouble);
    const std::int64_t quarter = kWidth / 4;
    for (std::int64_t n = 0; n < kTokens; ++n) {
      for (std::int64_t i = 0; i < kWidth / 2; ++i) {
        const auto place = static_cast<double>(i < quarter ? n % kDitColumns : n / kDitColumns);
        angles[n][i] = place * std::pow(100.0, -4.0 * static_cast<double>(i % quarter) / kWidth);
      }
    }
    const Tensor pairs = q.unflatten(-1, {kWidth / 2, 2}), even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
    return at::stack({even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()}, -1)
        .flatten(-2);
  }
  static Tensor distances() {
    Tensor out = at::empty({kTokens, kTokens}, at::kDouble);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      for (std::int64_t j = 0; j < kTokens; ++j)
        out[i][j] = static_cast<double>(std::abs(i / kDitColumns - j / kDitColumns) +
                                        std::abs(i % kDitColumns - j % kDitColumns));
    }
    return out;
  }
  Tensor attention(const Tensor& u, std::int64_t l) const {
    const std::string block = "blocks." + std::to_string(l);
    const auto heads = [&](const Tensor& x) { return x.unflatten(-1, {kDitHeads, kWidth}).transpose(1, 2); };
    const auto qkv = linear(u, block + ".attention.qkv").chunk(3, -1);
    Tensor q = heads(qkv[0]), k = heads(qkv[1]);
    if (decays_) q = turned(q), k = turned(k);
    Tensor logits = at::matmul(q, k.mT()) / std::sqrt(static_cast<double>(kWidth));
    const std::string own = "priors.spatial-decay.layers." + std::to_string(l) + ".";
    if (decays_) {
      const Tensor gate = at::sigmoid(at::matmul(u, p_[own + "decay"].t())).log().transpose(1, 2);
      logits = logits + 0.1 * 0.5 * (gate.unsqueeze(-1) + gate.unsqueeze(-2)) * distances();
    }
    Tensor out = at::matmul(at::softmax(logits, -1), heads(qkv[2])).transpose(1, 2).flatten(2);
    if (decays_) {
      const std::string kernel = "priors.spatial-decay.lepe.layers." + std::to_string(l) + ".convolution.";
      const Tensor grid = qkv[2].transpose(1, 2).unflatten(-1, {kDitRows, kDitColumns});
      const Tensor near =
          at::conv2d(grid, p_[kernel + "weight"].view({kDitDim, 1, 5, 5}), p_[kernel + "bias"], 1, 2, 1, kDitDim);
      out = (out + near.flatten(2).transpose(1, 2)) *
            at::matmul(at::sigmoid(at::matmul(u, p_[own + "down"].t())), p_[own + "up"].t());
    }
    return linear(out, block + ".attention.out");
  }
  Tensor block(Tensor x, const Tensor& condition, std::int64_t l) const {
    const std::string name = "blocks." + std::to_string(l);
    const Tensor six = linear(condition * at::sigmoid(condition), name + ".modulation").unsqueeze(1);
    const auto part = [&](std::int64_t i) { return six.slice(-1, i * kDitDim, (i + 1) * kDitDim); };
    x = x + part(2) * attention(normed(x) * (1 + part(1)) + part(0), l);
    const Tensor inside = linear(normed(x) * (1 + part(4)) + part(3), name + ".mlp.in");
    const Tensor gelu =
        0.5 * inside * (1 + at::tanh(std::sqrt(2 / std::acos(-1.0)) * (inside + 0.044715 * inside.pow(3))));
    return x + part(5) * linear(gelu, name + ".mlp.out");
  }

  Module::Tensors p_;
  bool decays_;
};

// Tokens and all gradients, those of image and condition included.
void expect_the_definition(const Json& priors, bool spatial_decay) {
  const auto model = randomized(priors);
  const Tensor weight = RandomStreams(5).normal("test", "weight", 0, {2, kTokens, kDitDim}).to(at::kDouble);
  const Tensor images = test_images(2, {2 * kDitRows, 2 * kDitColumns}).to(at::kDouble).set_requires_grad(true);
  const Tensor condition =
      RandomStreams(6).normal("test", "c", 0, {2, kDitDim}).to(at::kDouble).set_requires_grad(true);
  std::map<std::string, Tensor> of;
  for (const auto& entry : model->named_parameters()) of[entry.key()] = entry.value();
  of["image"] = images;
  of["condition"] = condition;
  const auto gradients = [&](const Tensor& tokens) {
    for (const auto& [name, tensor] : of) tensor.mutable_grad() = Tensor();
    (tokens * weight).sum().backward();
    std::map<std::string, Tensor> out;
    for (const auto& [name, tensor] : of) out[name] = tensor.grad().defined() ? tensor.grad().clone() : Tensor();
    return out;
  };
  const Tensor tokens = model->forward(inputs(images, condition), test_context(false)).tokens;
  const auto computed = gradients(tokens);
  const Tensor wanted = Definition(*model, spatial_decay)(images, condition);
  const auto defined = gradients(wanted);
  EXPECT_LT(largest_difference(tokens.detach(), wanted.detach()), 1e-10);
  for (const auto& [name, gradient] : defined) {
    ASSERT_TRUE(gradient.defined() && computed.at(name).defined()) << name;
    EXPECT_LT(largest_difference(computed.at(name), gradient), 1e-10) << name;
  }
}

TEST(Dit, ComputesItsDefinition) { expect_the_definition({{{"id", "sincos-2d"}}}, false); }

TEST(Dit, ComputesTheDefinitionOfSpatialDecayOnItsModulatedInput) {
  expect_the_definition({{{"id", "sincos-2d"}}, kSpatialDecay}, true);
}

TEST(Dit, StartsWithBlocksThatAreTheIdentity) {
  const auto model = dit({{{"id", "sincos-2d"}}, kSpatialDecay});
  model->request_tap("block-0");
  const Tensor condition = RandomStreams(6).normal("test", "c", 0, {2, kDitDim});
  const Features features =
      model->forward(inputs(test_images(2, {2 * kDitRows, 2 * kDitColumns}), condition), test_context(true));
  EXPECT_TRUE(at::equal(features.taps.at("block-0"), features.tokens));
  EXPECT_GT(features.tokens.abs().max().item<double>(), 0.1);
}

TEST(Dit, StartsItsMapsByXaviersUniformAndThoseOfTheConditionAtZero) {
  const auto p = dit({{{"id", "sincos-2d"}}})->named_parameters();
  for (const auto& entry : p) {
    const double most = entry.value().abs().max().item<double>();
    if (entry.key().ends_with(".bias") || entry.key().find("modulation") != std::string::npos) {
      EXPECT_EQ(most, 0) << entry.key();
      continue;
    }
    const double bound = std::sqrt(6.0 / static_cast<double>(entry.value().size(0) + entry.value().size(1)));
    EXPECT_LE(most, bound) << entry.key();
    EXPECT_GT(most, 0.9 * bound) << entry.key();
  }
  EXPECT_EQ(p["blocks.1.attention.qkv.weight"].sizes(), at::IntArrayRef({3 * kDitDim, kDitDim}));
}

TEST(Dit, NeedsAConditionAndTakesNoHiddenPatches) {
  const auto model = dit(Json::array());
  const Tensor images = test_images(2, {2 * kDitRows, 2 * kDitColumns});
  const auto why = [&](const Inputs& given) -> std::string {
    try {
      model->forward(given, test_context(false));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why(images), HasSubstr("follows a condition"));
  Inputs hidden = inputs(images, at::zeros({2, kDitDim}));
  hidden.hidden = at::zeros({2, kTokens}, at::kBool);
  EXPECT_THAT(why(hidden), HasSubstr("hidden patches"));
}

TEST(Dit, TakesOtherGridsThanItsOwn) {
  const auto model = dit({{{"id", "sincos-2d"}}});
  const Features features =
      model->forward(inputs(test_images(1, {4, 14}), at::zeros({1, kDitDim})), test_context(false));
  EXPECT_EQ(features.tokens.sizes(), at::IntArrayRef({1, 14, kDitDim}));
  EXPECT_EQ(model->layouts(4, 14)[0], features.layout);
  EXPECT_THROW(model->layouts(5, 14), std::invalid_argument);
}

// All settings of the catalog train here, but for what replaces the MLP and would lose what the condition does to it.
TEST(Dit, TrainsWithEveryPriorThatLeavesTheMlpInPlace) {
  const Json options = {{"dim", 32}, {"depth", 2}, {"heads", 4}, {"patch", 2}};
  for (const test::PriorSetting& setting : test::all_settings()) {
    const Json configuration = {{"model", {{"id", "dit"}, {"options", options}}},
                                {"priors", {{{"id", setting.id}, {"options", setting.options}}}}};
    const bool replaces = setting.id == "local-ffn" && setting.options.value("mode", "") == "original";
    try {
      const auto model = make_backbone(configuration, {test::kTestChannels, {8, 10}}, RandomStreams(0));
      EXPECT_FALSE(replaces) << setting.name();
      const Tensor condition = RandomStreams(6).normal("test", "c", 0, {2, 32});
      const Features features = model->forward(inputs(test_images(2, {8, 10}), condition), test_context(true));
      features.tokens.square().sum().backward();
      const Tensor gradient = model->named_parameters()["blocks.1.modulation.weight"].grad();
      ASSERT_TRUE(gradient.defined()) << setting.name();
      EXPECT_TRUE(at::isfinite(gradient).all().item<bool>()) << setting.name();
      EXPECT_GT(gradient.abs().max().item<double>(), 0) << setting.name();
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(replaces) << setting.name() << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr("condition"));
    }
  }
}

}  // namespace
}  // namespace locus::engine
