// Optimizers against their published formulas.
#include "engine/train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/base/failure.h"
#include "engine/train/layerwise.h"

namespace locus::engine {
namespace {

std::vector<ParameterGroup> groups(std::vector<NamedParameter> decayed, std::vector<NamedParameter> exempt = {},
                                   double weight_decay = 0) {
  return {{std::move(decayed), weight_decay}, {std::move(exempt)}};
}

Tensor parameter(std::vector<double> values) { return at::tensor(values, at::kDouble).set_requires_grad(true); }

TEST(AdamW, FollowsLoshchilovAndHutterStepByStep) {
  const Tensor weight = parameter({1.0, -2.0, 0.5}), bias = parameter({0.3});
  AdamW optimizer(groups({{"weight", weight}}, {{"bias", bias}}, 0.1), {});
  std::vector<double> w{1.0, -2.0, 0.5, 0.3}, m(4), v(4);
  for (int t = 1; t <= 5; ++t) {
    const std::vector<double> g{0.1 * t, -0.2, 0.05 * t * t, 1.0 / t};
    weight.mutable_grad() = at::tensor({g[0], g[1], g[2]}, at::kDouble);
    bias.mutable_grad() = at::tensor({g[3]}, at::kDouble);
    const double rate = 0.01 / t;
    optimizer.step(rate);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i < 3) w[i] -= rate * 0.1 * w[i];
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      w[i] -= rate * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const double found = i < 3 ? weight[static_cast<std::int64_t>(i)].item<double>() : bias[0].item<double>();
      EXPECT_NEAR(found, w[i], 1e-12) << "step " << t << " value " << i;
    }
  }
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_EQ(optimizer.steps(), 5);
}

// Attention keeps masks made from parameters for as long as their versions stand still.
TEST(AdamW, RaisesTheVersionOfWhatItChanges) {
  const Tensor weight = parameter({1.0}), bias = parameter({1.0});
  AdamW optimizer(groups({{"weight", weight}}, {{"bias", bias}}), {});
  const auto before = std::pair(weight._version(), bias._version());
  weight.mutable_grad() = at::ones({1}, at::kDouble);
  bias.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_GT(weight._version(), before.first);
  EXPECT_GT(bias._version(), before.second);
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
  const Tensor used = parameter({1.0}), idle = parameter({1.0});
  AdamW optimizer(groups({{"used", used}, {"idle", idle}}, {}, 0.5), {});
  used.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_LT(used.item<double>(), 1.0);
  EXPECT_EQ(idle.item<double>(), 1.0);
}

TEST(Optimizer, TrainsEachGroupAtItsOwnRateAndDecay) {
  const Tensor fast = parameter({1.0}), slow = parameter({1.0});
  Sgd optimizer({{{{"fast", fast}}, 0.0, 1.0}, {{{"slow", slow}}, 0.5, 0.1}}, {.momentum = 0});
  for (const Tensor& each : {fast, slow}) each.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.2);
  EXPECT_DOUBLE_EQ(fast.item<double>(), 1 - 0.2);
  EXPECT_DOUBLE_EQ(slow.item<double>(), 1 - 0.02 * (1 + 0.5));
  optimizer.groups()[1].lr_scale = 0;
  slow.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.step(0.2);
  EXPECT_DOUBLE_EQ(slow.item<double>(), 1 - 0.02 * (1 + 0.5));
}

TEST(Optimizer, RefusesAParameterInTwoGroups) {
  const Tensor weight = parameter({1.0});
  EXPECT_THROW(Sgd({{{{"weight", weight}}}, {{{"weight", weight}}}}, {}), std::logic_error);
}

// b = mu b + g with g = gradient + decay p; p -= rate b, or rate (g + mu b) with Nesterov's momentum.
TEST(Sgd, FollowsItsFormulaStepByStep) {
  for (const bool nesterov : {false, true}) {
    const Tensor weight = parameter({1.0, -2.0}), bias = parameter({0.3});
    Sgd optimizer(groups({{"weight", weight}}, {{"bias", bias}}, 0.1), {.momentum = 0.8, .nesterov = nesterov});
    std::vector<double> p{1.0, -2.0, 0.3}, b(3);
    for (int t = 1; t <= 5; ++t) {
      const std::vector<double> given{0.1 * t, -0.2, 1.0 / t};
      weight.mutable_grad() = at::tensor({given[0], given[1]}, at::kDouble);
      bias.mutable_grad() = at::tensor({given[2]}, at::kDouble);
      optimizer.step(0.05 * t);
      for (std::size_t i = 0; i < 3; ++i) {
        const double g = given[i] + (i < 2 ? 0.1 * p[i] : 0);
        b[i] = t == 1 ? g : 0.8 * b[i] + g;
        p[i] -= 0.05 * t * (nesterov ? g + 0.8 * b[i] : b[i]);
      }
      EXPECT_NEAR(weight[0].item<double>(), p[0], 1e-12) << "step " << t;
      EXPECT_NEAR(weight[1].item<double>(), p[1], 1e-12) << "step " << t;
      EXPECT_NEAR(bias[0].item<double>(), p[2], 1e-12) << "step " << t;
    }
  }
}

using Values = std::vector<double>;

double norm_of(const Values& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

Values values_of(const Tensor& t) {
  const Tensor flat = t.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// The gradients of two tensors at step t; the second one's are long enough to be clipped now and then.
std::pair<Values, Values> given_at(int t) { return {{0.1 * t, -0.2, 0.05 * t * t}, {0.9 / t, 0.4}}; }

// LAMB written out for one tensor with weight decay and one without.
class PlainLamb {
 public:
  explicit PlainLamb(Lamb::Settings settings) : s_(settings) {}

  void step(Values& decayed, Values& spared, std::pair<Values, Values> g, double rate, double decay) {
    ++t_;
    Values all = g.first;
    all.insert(all.end(), g.second.begin(), g.second.end());
    const double over = s_.clip > 0 ? std::max(1.0, norm_of(all) / s_.clip) : 1;
    move(decayed, g.first, m_[0], v_[0], over, rate, decay);
    move(spared, g.second, m_[1], v_[1], over, rate, 0);
  }

 private:
  void move(Values& p, const Values& g, Values& m, Values& v, double over, double rate, double decay) const {
    m.resize(p.size());
    v.resize(p.size());
    Values u(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double clipped = g[i] / over;
      m[i] = s_.beta1 * m[i] + (1 - s_.beta1) * clipped;
      v[i] = s_.beta2 * v[i] + (1 - s_.beta2) * clipped * clipped;
      const double mean = m[i] / (1 - std::pow(s_.beta1, t_)), square = v[i] / (1 - std::pow(s_.beta2, t_));
      u[i] = mean / (std::sqrt(square) + s_.epsilon) + decay * p[i];
    }
    double ratio = 1;
    if ((decay != 0 || s_.always_adapt) && norm_of(p) > 0 && norm_of(u) > 0) ratio = norm_of(p) / norm_of(u);
    if (s_.trust_clip) ratio = std::min(ratio, 1.0);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] -= rate * ratio * u[i];
  }

  Lamb::Settings s_;
  int t_ = 0;
  Values m_[2], v_[2];
};

TEST(Lamb, FollowsItsFormulaStepByStep) {
  for (const bool trust_clip : {false, true}) {
    for (const bool always_adapt : {false, true}) {
      for (const double clip : {0.0, 1.0}) {
        const Lamb::Settings settings{
            .epsilon = 1e-8, .clip = clip, .trust_clip = trust_clip, .always_adapt = always_adapt};
        const Tensor weight = parameter({1.0, -2.0, 0.5}), bias = parameter({0.3, 0.0});
        Lamb optimizer(groups({{"weight", weight}}, {{"bias", bias}}, 0.05), settings);
        PlainLamb plain(settings);
        Values w{1.0, -2.0, 0.5}, b{0.3, 0.0};
        for (int t = 1; t <= 10; ++t) {
          const auto given = given_at(t);
          weight.mutable_grad() = at::tensor(given.first, at::kDouble);
          bias.mutable_grad() = at::tensor(given.second, at::kDouble);
          optimizer.step(0.01 / t);
          plain.step(w, b, given, 0.01 / t, 0.05);
          for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(values_of(weight)[i], w[i], 1e-13) << "step " << t;
          for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(values_of(bias)[i], b[i], 1e-13) << "step " << t;
        }
      }
    }
  }
}

TEST(Lamb, MovesATensorOfZerosByItsPlainUpdate) {
  const Tensor weight = parameter({0.0, 0.0});
  Lamb optimizer(groups({{"weight", weight}}, {}, 0.1), {.clip = 0});
  weight.mutable_grad() = at::tensor({1.0, -1.0}, at::kDouble);
  optimizer.step(0.1);
  EXPECT_NEAR(weight[0].item<double>(), -0.1, 1e-6);
  EXPECT_NEAR(weight[1].item<double>(), 0.1, 1e-6);
}

TEST(Lars, FollowsItsFormulaStepByStep) {
  const Tensor matrix = parameter({1.0, -2.0, 0.5}).detach().view({1, 3}).clone().set_requires_grad(true),
               vector = parameter({0.3, 0.2});
  Lars optimizer(groups({{"matrix", matrix}}, {{"vector", vector}}, 0.1), {.momentum = 0.8, .eta = 0.01});
  Values p{1.0, -2.0, 0.5}, q{0.3, 0.2}, kept(3), other(2);
  for (int t = 1; t <= 10; ++t) {
    const auto [g, h] = given_at(t);
    matrix.mutable_grad() = at::tensor(g, at::kDouble).view({1, 3});
    vector.mutable_grad() = at::tensor(h, at::kDouble);
    optimizer.step(0.05 * t);
    Values whole(3);
    for (std::size_t i = 0; i < 3; ++i) whole[i] = g[i] + 0.1 * p[i];
    const double ratio = 0.01 * norm_of(p) / norm_of(whole);
    for (std::size_t i = 0; i < 3; ++i) {
      kept[i] = 0.8 * kept[i] + ratio * whole[i];
      p[i] -= 0.05 * t * kept[i];
      EXPECT_NEAR(values_of(matrix)[i], p[i], 1e-13) << "step " << t;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      other[i] = 0.8 * other[i] + h[i];
      q[i] -= 0.05 * t * other[i];
      EXPECT_NEAR(values_of(vector)[i], q[i], 1e-13) << "step " << t << ": vectors get no ratio and no decay";
    }
  }
}

TEST(Lars, LeavesTheGradientAsItIsWhereANormIsZero) {
  const Tensor weight = at::zeros({1, 2}, at::kDouble).set_requires_grad(true);
  Lars optimizer(groups({{"weight", weight}}, {}, 0.1), {});
  weight.mutable_grad() = at::ones({1, 2}, at::kDouble);
  optimizer.step(0.5);
  EXPECT_DOUBLE_EQ(weight[0][0].item<double>(), -0.5);
  weight.mutable_grad() = at::zeros({1, 2}, at::kDouble);
  optimizer.step(0);
  EXPECT_TRUE(weight.isfinite().all().item<bool>());
}

// Every optimizer, with a group that decays and one that does not.
const std::pair<const char*, std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>> kAll[] = {
    {"AdamW", [](auto groups) { return std::make_unique<AdamW>(std::move(groups), AdamW::Settings{}); }},
    {"Lamb", [](auto groups) { return std::make_unique<Lamb>(std::move(groups), Lamb::Settings{}); }},
    {"Lars", [](auto groups) { return std::make_unique<Lars>(std::move(groups), Lars::Settings{}); }},
    {"Sgd", [](auto groups) { return std::make_unique<Sgd>(std::move(groups), Sgd::Settings{}); }}};

// `first` to `last`, both included.
void take_steps(Optimizer& optimizer, const Tensor& weight, const Tensor& bias, int first, int last) {
  for (int t = first; t <= last; ++t) {
    const auto [g, h] = given_at(t);
    weight.mutable_grad() = at::tensor(g, at::kDouble).view(weight.sizes());
    bias.mutable_grad() = at::tensor(h, at::kDouble);
    optimizer.step(0.01);
  }
}

Tensor matrix() { return at::tensor({1.0, -2.0, 0.5}, at::kDouble).view({1, 3}).set_requires_grad(true); }

// As it is for whoever records a step: its numbers are float32 there.
TEST(Optimizer, MakesTheSameStepsOfNumbersThatLieOnTheDevice) {
  for (const auto& [name, make] : kAll) {
    Values found[2][2];
    for (const bool there : {false, true}) {
      const Tensor weight = matrix(), bias = parameter({0.3, 0.2});
      const auto optimizer = make(groups({{"weight", weight}}, {{"bias", bias}}, 0.05));
      optimizer->groups().back().lr_scale = 0.5;
      if (there) optimizer->keep_numbers_on_device();
      take_steps(*optimizer, weight, bias, 1, 6);
      found[there][0] = values_of(weight);
      found[there][1] = values_of(bias);
    }
    for (const int tensor : {0, 1}) {
      for (std::size_t i = 0; i < found[0][tensor].size(); ++i)
        EXPECT_NEAR(found[1][tensor][i], found[0][tensor][i], 1e-7) << name;
    }
  }
}

TEST(Optimizer, AppliesWhatWasBegunLastToTheGradientsThatAreThere) {
  const Tensor weight = parameter({1.0}), bias = parameter({1.0});
  Sgd optimizer(groups({{"weight", weight}}, {{"bias", bias}}), {.momentum = 0});
  optimizer.keep_numbers_on_device();
  optimizer.begin(0.25);
  weight.mutable_grad() = at::ones({1}, at::kDouble);
  optimizer.finish();
  EXPECT_EQ(weight[0].item<double>(), 0.75);
  const auto version = weight._version();
  optimizer.begin(0.5);
  optimizer.written();
  EXPECT_EQ(weight[0].item<double>(), 0.75) << "nothing is applied";
  EXPECT_GT(weight._version(), version);
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(EveryOptimizer, GoesOnFromItsSavedStateExactly) {
  for (const auto& [name, make] : kAll) {
    const Tensor whole = matrix(), half = matrix(), bias = parameter({0.3, 0.1}), other = parameter({0.3, 0.1});
    const auto undisturbed = make(groups({{"w", whole}}, {{"b", bias}}, 0.1)),
               early = make(groups({{"w", half}}, {{"b", other}}, 0.1));
    take_steps(*undisturbed, whole, bias, 1, 6);
    take_steps(*early, half, other, 1, 3);
    std::map<std::string, Tensor> tensors;
    early->save(tensors);
    const Tensor later = half.detach().clone().set_requires_grad(true),
                 beside = other.detach().clone().set_requires_grad(true);
    const auto late = make(groups({{"w", later}}, {{"b", beside}}, 0.1));
    late->load(tensors, early->steps());
    EXPECT_TRUE(tensors.empty()) << name;
    take_steps(*late, later, beside, 4, 6);
    EXPECT_TRUE(at::equal(whole, later)) << name;
    EXPECT_TRUE(at::equal(bias, beside)) << name;
  }
}

TEST(EveryOptimizer, LeavesNoTraceOfAStepThatIsSkipped) {
  for (const auto& [name, make] : kAll) {
    const Tensor weight = matrix(), bias = parameter({0.3, 0.1});
    const auto optimizer = make(groups({{"w", weight}}, {{"b", bias}}, 0.1));
    take_steps(*optimizer, weight, bias, 1, 1);
    const Tensor before = weight.detach().clone();
    std::map<std::string, Tensor> kept;
    optimizer->save(kept);
    for (auto& [state, tensor] : kept) tensor = tensor.clone();
    weight.mutable_grad() = at::full({1, 3}, INFINITY, at::kDouble);
    optimizer->skip();
    EXPECT_TRUE(at::equal(weight, before)) << name;
    EXPECT_FALSE(weight.grad().defined()) << name;
    EXPECT_EQ(optimizer->steps(), 1) << name;
    std::map<std::string, Tensor> found;
    optimizer->save(found);
    for (const auto& [state, tensor] : kept) EXPECT_TRUE(at::equal(tensor, found.at(state))) << name << " " << state;
  }
}

TEST(AdamW, RefusesMomentsThatAreMissingOrMisshapen) {
  AdamW optimizer(groups({{"w", parameter({1, 2})}}), {});
  std::map<std::string, Tensor> none, wrong{{"optimizer.exp_avg.w", at::zeros({3}, at::kDouble)}};
  EXPECT_THROW(optimizer.load(none, 1), DataError);
  EXPECT_THROW(optimizer.load(wrong, 1), DataError);
}

}  // namespace
}  // namespace locus::engine
