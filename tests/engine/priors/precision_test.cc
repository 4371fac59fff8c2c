// Every execution path, in every type, is about as exact as the explicit formula in that type.
#include <gtest/gtest.h>

#include "engine/attention/attention.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

constexpr std::int64_t kWidth = 64, kHeads = 4, kImages = 2;

// One attention layer with a prior.
struct Layer {
  std::shared_ptr<Prior> prior;
  std::shared_ptr<Attention> attention;
  Layout layout;

  void to(at::ScalarType type) const {
    prior->to(type);
    attention->to(type);
  }
  std::vector<std::pair<std::string, Tensor>> state() const {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const auto& module : std::initializer_list<Module*>{prior.get(), attention.get()}) {
      for (const auto& entry : module->named_parameters()) all.emplace_back(entry.key(), entry.value());
      for (const auto& entry : module->named_buffers()) all.emplace_back(entry.key(), entry.value());
    }
    return all;
  }
};

Layer make(const PriorSetting& setting, const std::string& path) {
  const PriorItem& item = prior_item(setting.id);
  const bool lines = test::axial(setting);
  Layer out{.prior = nullptr, .attention = nullptr, .layout = {{14, 12}, lines ? 0 : 1}};
  const LayerInfo info{.layer = 0,
                       .layers = 1,
                       .width = kWidth,
                       .heads = kHeads,
                       .hidden = 4 * kWidth,
                       .scale = 0.25,
                       .reference = out.layout};
  out.prior = item.make({{info}, kWidth, out.layout}, Options(item.item.json(), setting.options));
  out.prior->build_layers({info});
  out.prior->initialize(Initializer(RandomStreams(0), ""));
  std::vector<AttachedPrior> attached;
  if (const auto& layer = out.prior->layers()[0]) {
    std::vector<Hook> hooks = item.hooks();
    std::erase_if(hooks, [&](Hook hook) {
      return !out.prior->uses(hook) || hook == Hook::kEmbed || hook == Hook::kLoss || hook == Hook::kPattern;
    });
    std::vector<Tensor> state = out.prior->parameters();
    for (const Tensor& buffer : out.prior->buffers()) state.push_back(buffer);
    attached.push_back({layer, hooks, state});
  }
  out.attention = std::make_shared<Attention>(
      info, attached, plain_linear(), "attention",
      AttentionOptions{.path = path, .pattern = lines ? Pattern::kAxial : Pattern::kGlobal});
  // Trained scale: logits of a deviation of about 3, and no parameter where it started. The scale of random
  // orders and the like stays what it is.
  const at::NoGradGuard no_grad;
  for (const auto& entry : out.attention->named_parameters()) {
    entry.value().copy_(RandomStreams(2).normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.22));
  }
  for (const auto& entry : out.prior->named_parameters())
    entry.value().add_(RandomStreams(3).normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.1));
  return out;
}

struct Result {
  Tensor out, gradient;  // of the tokens
  std::string path;
};

Result run(const Layer& layer, const Tensor& x, at::ScalarType type) {
  const Tensor input = x.to(type).detach().requires_grad_();
  const Tensor out = layer.attention->forward(input, layer.layout, test::test_context(false));
  const Tensor weight = RandomStreams(6).normal("test", "weight", 0, out.sizes()).to(type);
  (out * weight).sum().backward();
  return {out.detach().to(at::kDouble), input.grad().to(at::kDouble), *layer.attention->paths().begin()};
}

double error(const Tensor& found, const Tensor& expected) {
  return (found - expected).square().mean().sqrt().item<double>();
}

class EveryPath : public testing::TestWithParam<PriorSetting> {};

TEST_P(EveryPath, IsAsExactAsTheExplicitFormulaInTheSameType) {
  const Layout layout = make(GetParam(), "explicit").layout;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Tensor x =
        RandomStreams(4).normal("test", "x", 0, {kImages, layout.tokens(), kWidth}).to(type).to(at::kDouble);
    // The truth of the rounded parameters.
    const Layer plain = make(GetParam(), "explicit");
    plain.to(type);
    const Layer exact = make(GetParam(), "explicit");
    exact.to(at::kDouble);
    {
      const at::NoGradGuard no_grad;
      const auto from = plain.state(), to = exact.state();
      for (std::size_t i = 0; i < from.size(); ++i) to[i].second.copy_(from[i].second);
    }
    const Result truth = run(exact, x, at::kDouble), formula = run(plain, x, type);
    const double floor = type == at::kFloat  ? 1e-7
                         : type == at::kHalf ? 1e-4
                                             : 1e-3;  // of what rounding the result alone costs
    const double value = error(formula.out, truth.out) + floor * truth.out.abs().mean().item<double>(),
                 gradient =
                     error(formula.gradient, truth.gradient) + floor * truth.gradient.abs().mean().item<double>();
    ASSERT_TRUE(std::isfinite(value) && std::isfinite(gradient));
    std::set<std::string> seen = {formula.path};
    for (const ExecutionPath& path : execution_paths()) {
      const Layer layer = make(GetParam(), std::string(path.name));
      layer.to(type);
      const Result found = run(layer, x, type);
      if (!seen.insert(found.path).second) continue;
      EXPECT_LE(error(found.out, truth.out), 3 * value) << path.name << " in " << type;
      EXPECT_LE(error(found.gradient, truth.gradient), 3 * gradient) << path.name << " in " << type;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPath, testing::ValuesIn(test::all_settings()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace locus::engine
