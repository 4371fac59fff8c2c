// The attention layer applies the hooks of its priors where the algebra says, and keeps terms no longer than
// they hold.
#include "engine/attention/attention.h"

#include <gtest/gtest.h>

#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;

constexpr std::int64_t kWidth = 12, kHeads = 3;

// A prior with every hook of a layer, each a simple function that no other hook could stand in for.
class EveryHook final : public PriorLayer {
 public:
  explicit EveryHook(double factor, bool scales_biases = false) : factor_(factor), scales_biases_(scales_biases) {}
  bool scales_biases() const override { return scales_biases_; }
  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs&,
                                         const ForwardContext&) override {
    return {q * factor_, k.flip(-1)};
  }
  BiasTerm bias(const AttentionInputs& s, const ForwardContext&) override {
    return {Depends::kContent, Dense{at::matmul(s.q, s.k.mT()) * 0.1 * factor_}};
  }
  BiasTerm scale(const AttentionInputs& s, const ForwardContext&) override {
    return {Depends::kContent, Dense{at::sigmoid(at::matmul(s.k, s.q.mT()) * factor_)}};
  }
  Tensor probabilities(const Tensor& p, const AttentionInputs&, const ForwardContext&) override {
    return p * factor_ + 0.01;
  }
  Tensor from_probabilities(const Tensor& p, const AttentionInputs& s, const ForwardContext&) override {
    return at::matmul(p.mT(), s.q) * factor_;
  }
  Tensor add_output(const AttentionInputs& s, const ForwardContext&) override { return s.x.roll(1, 1) * factor_; }
  Tensor gate_output(const AttentionInputs& s, const ForwardContext&) override { return at::sigmoid(s.x * factor_); }

 private:
  double factor_;
  bool scales_biases_;
};

const std::vector<Hook> kLayerHooks = {
    Hook::kTransformQk,       Hook::kBias,      Hook::kScale,     Hook::kProbabilities,
    Hook::kFromProbabilities, Hook::kAddOutput, Hook::kGateOutput};

std::shared_ptr<Attention> make_attention(const std::vector<AttachedPrior>& priors) {
  LayerInfo info{.layer = 0, .layers = 1, .width = kWidth, .heads = kHeads, .scale = 0.5, .reference = {{2, 3}, 1}};
  auto layer = std::make_shared<Attention>(info, priors, plain_linear(), "attention");
  layer->to(at::kDouble);
  const at::NoGradGuard no_grad;
  const RandomStreams random(2);
  for (auto& entry : layer->named_parameters()) {
    entry.value().copy_(random.normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.4));
  }
  return layer;
}

Tensor tokens() { return RandomStreams(4).normal("test", "x", 0, {2, 7, kWidth}).to(at::kDouble); }

TEST(Attention, AppliesTheHooksOfSeveralPriorsByTheFixedAlgebra) {
  const auto first = std::make_shared<EveryHook>(0.7), second = std::make_shared<EveryHook>(1.3);
  const auto layer = make_attention({{first, kLayerHooks, {}}, {second, kLayerHooks, {}}});
  const Layout layout{{2, 3}, 1};
  const Tensor x = tokens();
  const auto parameters = layer->named_parameters();
  const Tensor qkv = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"]);
  const auto heads = [&](int i) {
    return qkv.slice(2, i * kWidth, (i + 1) * kWidth).unflatten(2, {kHeads, kWidth / kHeads}).transpose(1, 2);
  };
  const Tensor q = heads(0), k = heads(1), v = heads(2);
  const Tensor qk = at::matmul(q, k.mT()), kq = at::matmul(k, q.mT());

  Tensor l = 0.5 * at::matmul(q * 0.7 * 1.3, k.flip(-1).flip(-1).mT());
  l = at::sigmoid(kq * 0.7) * at::sigmoid(kq * 1.3) * l + qk * 0.07 + qk * 0.13;
  const Tensor p = (at::softmax(l, -1) * 0.7 + 0.01) * 1.3 + 0.01;
  Tensor o = (at::matmul(p, v) + at::matmul(p.mT(), q) * 2.0).transpose(1, 2).flatten(2);
  o = (o + x.roll(1, 1) * 2.0) * at::sigmoid(x * 0.7) * at::sigmoid(x * 1.3);
  const Tensor expected = at::linear(o, parameters["out.weight"], parameters["out.bias"]);

  EXPECT_LT(largest_difference(layer->forward(x, layout, test::test_context(false)), expected), 1e-12);
  EXPECT_EQ(layer->paths(), (std::set<std::string, std::less<>>{"explicit"}));
}

// A scale that takes the biases in, beside one that does not.
TEST(Attention, LetsAScaleMultiplyTheContentAndTheBiasesTogether) {
  const auto content = std::make_shared<EveryHook>(0.7), sum = std::make_shared<EveryHook>(1.3, true);
  const std::vector<Hook> hooks = {Hook::kBias, Hook::kScale};
  const Tensor x = tokens();
  const auto layer = make_attention({{content, hooks, {}}, {sum, hooks, {}}});
  const auto parameters = layer->named_parameters();
  const auto inputs = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"])
                          .unflatten(2, {3, kHeads, kWidth / kHeads})
                          .permute({2, 0, 3, 1, 4})
                          .unbind(0);
  const Tensor qk = at::matmul(inputs[0], inputs[1].mT()), kq = qk.mT();
  const Tensor l = at::sigmoid(kq * 1.3) * (at::sigmoid(kq * 0.7) * 0.5 * qk + qk * 0.07 + qk * 0.13);
  const Tensor o = at::matmul(at::softmax(l, -1), inputs[2]).transpose(1, 2).flatten(2);
  EXPECT_LT(largest_difference(layer->forward(x, {{2, 3}, 1}, test::test_context(false)),
                               at::linear(o, parameters["out.weight"], parameters["out.bias"])),
            1e-12);
}

TEST(Attention, SaysWhichHookIsDeclaredButMissing) {
  class Nothing final : public PriorLayer {};
  const auto layer = make_attention({{std::make_shared<Nothing>(), {Hook::kGateOutput}, {}}});
  try {
    layer->forward(tokens(), {{2, 3}, 1}, test::test_context(false));
    FAIL() << "ran without the hook";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("'gate-output'"), std::string::npos) << error.what();
  }
}

// Counts how often its bias is asked for.
class CountingBias final : public PriorLayer {
 public:
  explicit CountingBias(Depends on) : on_(on) {
    table_ = register_parameter("table", at::ones({1}, at::kDouble), on != Depends::kLayout);
  }
  BiasTerm bias(const AttentionInputs& s, const ForwardContext&) override {
    ++calls;
    return {on_, Dense{table_ * at::ones({1, 1, s.layout.tokens(), s.layout.tokens()}, at::kDouble)}};
  }
  int calls = 0;

 private:
  Depends on_;
  Tensor table_;
};

int calls_after(Depends on, const std::function<void(const std::function<void()>&, CountingBias&)>& play) {
  const auto prior = std::make_shared<CountingBias>(on);
  const auto layer = make_attention({{prior, {Hook::kBias}, prior->parameters()}});
  play([&] { layer->forward(tokens(), {{2, 3}, 1}, test::test_context(false)); }, *prior);
  return prior->calls;
}

TEST(TermCache, KeepsALayoutTermForEveryForward) {
  EXPECT_EQ(calls_after(Depends::kLayout,
                        [](const auto& forward, CountingBias&) {
                          forward();
                          const at::NoGradGuard no_grad;
                          forward();
                          forward();
                        }),
            1);
}

TEST(TermCache, KeepsAParameterTermWithoutGradientsUntilTheParameterChanges) {
  EXPECT_EQ(calls_after(Depends::kParameters,
                        [](const auto& forward, CountingBias& prior) {
                          const at::NoGradGuard no_grad;
                          forward();
                          forward();
                          prior.parameters()[0].mul_(2);
                          forward();
                          forward();
                        }),
            2);
}

TEST(TermCache, AsksForAParameterTermEachTimeGradientsFlow) {
  EXPECT_EQ(calls_after(Depends::kParameters,
                        [](const auto& forward, CountingBias&) {
                          forward();
                          forward();
                        }),
            2);
}

TEST(TermCache, NeverKeepsAContentTerm) {
  EXPECT_EQ(calls_after(Depends::kContent,
                        [](const auto& forward, CountingBias&) {
                          const at::NoGradGuard no_grad;
                          forward();
                          forward();
                        }),
            2);
}

TEST(TermCache, TellsLayoutsApart) {
  const auto prior = std::make_shared<CountingBias>(Depends::kLayout);
  const auto layer = make_attention({{prior, {Hook::kBias}, {}}});
  for (const Layout& layout : {Layout{{2, 3}, 1}, Layout{{3, 2}, 1}, Layout{{1, 7}, 0}, Layout{{2, 3}, 1}}) {
    layer->forward(tokens(), layout, test::test_context(false));
  }
  EXPECT_EQ(prior->calls, 3);
}

}  // namespace
}  // namespace locus::engine
