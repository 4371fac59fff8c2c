// Every adapter alone: its result and all of its gradients against scalar loops, merging, the names of its draws.
#include "engine/adapters/adapter.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/engine/adapters/reference_adapter.h"
#include "tests/engine/support/names.h"

namespace locus::engine {
namespace {

using test::AdapterWeights;
using test::Array;
using test::Real;
using test::ReferenceAdapter;
using ::testing::HasSubstr;

constexpr std::int64_t kIn = 5, kOut = 6, kRank = 2, kRows = 4, kStep = 17;

struct Setting {
  std::string id;
  Json options;
  std::int64_t parts = 1;
  std::string name() const {
    std::string out = id + (parts > 1 ? "_parts" : "");
    for (const auto& [key, value] : options.items()) out += "_" + (value.is_string() ? value.get<std::string>() : key);
    return test::fit_for_a_name(out);
  }
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name(); }

// Every choice of every string option of every adapter, whole and in parts, with and without dropout.
std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const AdapterItem& item : adapter_items()) {
    if (item.make == nullptr) continue;
    std::vector<Json> choices = {Json::object()};
    for (const Json& option : item.item.json().at("options")) {
      if (!option.contains("choices") || option.at("type") != "string" || option.at("name") == "exported") continue;
      std::vector<Json> more;
      for (const Json& before : choices) {
        for (const Json& choice : option.at("choices")) {
          more.push_back(before);
          more.back()[option.at("name").get<std::string>()] = choice;
        }
      }
      choices = more;
    }
    for (const Json& choice : choices) {
      for (const double dropout : {0.0, 0.4}) {
        for (const std::int64_t parts : {1, 3}) {
          Setting setting{item.id(), choice, parts};
          setting.options.update({{"rank", kRank}, {"alpha", 3.0}});
          if (dropout > 0) setting.options["dropout"] = dropout;
          out.push_back(setting);
        }
      }
    }
  }
  return out;
}

ReferenceAdapter reference_of(const Setting& setting) {
  const Options options(adapter_item(setting.id).item.json(), setting.options);
  ReferenceAdapter out{.parts = setting.parts};
  out.scaling = 3.0 / (options.text("scaling") == "rank" ? 2.0 : std::sqrt(2.0));
  if (setting.id == "dora") {
    out.direction = true;
    out.columns = options.text("norm") == "columns";
    out.through = options.text("norm_gradient") == "through";
  }
  return out;
}

Array variables(const Tensor& tensor) {
  const Tensor values = tensor.detach().to(at::kDouble).contiguous();
  Array out(tensor.sizes().vec());
  for (std::size_t i = 0; i < out.data().size(); ++i)
    out.data()[i] = Real::variable(values.const_data_ptr<double>()[i]);
  return out;
}

double difference(const Tensor& tensor, const Array& array, double (Real::*what)() const) {
  EXPECT_EQ(tensor.sizes().vec(), array.shape());
  const Tensor values = tensor.detach().to(at::kDouble).contiguous();
  double most = 0;
  for (std::size_t i = 0; i < array.data().size(); ++i)
    most = std::max(most, std::abs(values.const_data_ptr<double>()[i] - (array.data()[i].*what)()));
  return most;
}

Tensor drawn(const std::string& name, at::IntArrayRef shape) { return RandomStreams(5).normal("test", name, 0, shape); }

class EveryAdapter : public ::testing::TestWithParam<Setting> {
 protected:
  void TearDown() override { Real::clear_tape(); }

  std::shared_ptr<Adapter> make(at::ScalarType type, bool with_bias = true) const {
    const Setting& setting = GetParam();
    const AdapterItem& item = adapter_item(setting.id);
    auto out =
        item.make({"blocks.1.mlp.in", kIn, kOut, with_bias, setting.parts}, Options(item.item.json(), setting.options));
    {
      const at::NoGradGuard no_gradient;
      out->weight.copy_(drawn("weight", out->weight.sizes()));
      if (with_bias) out->bias.copy_(drawn("bias", out->bias.sizes()));
    }
    out->to(type);  // what starts from the weight does so in its precision
    out->start(RandomStreams(3));
    return out;
  }
  // Away from where it starts.
  std::shared_ptr<Adapter> made(at::ScalarType type, bool with_bias = true) const {
    auto out = make(type, with_bias);
    const at::NoGradGuard no_gradient;
    for (const auto& parameter : out->named_parameters()) {
      if (parameter.key() == "lora_b") parameter.value().copy_(drawn("b", parameter.value().sizes()));
      if (parameter.key() == "magnitude") parameter.value().mul_(1 + 0.3 * drawn("m", parameter.value().sizes()));
    }
    return out;
  }
};

TEST_P(EveryAdapter, IsItsDefinitionInValueAndEveryGradient) {
  for (const bool with_bias : {true, false}) {
    Real::clear_tape();
    const auto layer = made(at::kDouble, with_bias);
    const RandomStreams random(9);
    layer->begin_forward(kStep, /*training=*/true, random);
    const Tensor x = drawn("x", {kRows, kIn}).to(at::kDouble).requires_grad_(true), pull = drawn("pull", {kRows, kOut});
    const Tensor y = layer->forward(x);
    y.backward(pull.to(at::kDouble));

    AdapterWeights weights;
    std::map<std::string, Array*> of = {{"weight", &weights.weight},
                                        {"bias", &weights.bias},
                                        {"lora_a", &weights.a},
                                        {"lora_b", &weights.b},
                                        {"magnitude", &weights.magnitude}};
    const auto parameters = layer->named_parameters();
    for (const auto& parameter : parameters) *of.at(parameter.key()) = variables(parameter.value());
    const Array given = variables(x);
    const double rate = GetParam().options.value("dropout", 0.0);
    const Tensor draws = random.uniform("dropout", "blocks.1.mlp.in", kStep, {kRows, kIn});
    Array factor({kRows, kIn});
    for (std::size_t i = 0; i < factor.data().size(); ++i)
      factor.data()[i] = draws.const_data_ptr<float>()[i] >= static_cast<float>(rate) ? 1 / (1 - rate) : 0.0;
    const Array expected = adapted_output(reference_of(GetParam()), weights, given, factor);
    EXPECT_LT(difference(y, expected, &Real::value), 1e-12);
    Real sum = 0;
    const Tensor pulls = pull.to(at::kDouble);
    for (std::size_t i = 0; i < expected.data().size(); ++i)
      sum += expected.data()[i] * Real(pulls.const_data_ptr<double>()[i]);
    sum.backward();
    EXPECT_LT(difference(x.grad(), given, &Real::gradient), 1e-11) << "x";
    for (const auto& parameter : parameters) {
      if (!parameter.value().requires_grad()) {
        EXPECT_FALSE(parameter.value().grad().defined()) << parameter.key();
        continue;
      }
      EXPECT_LT(difference(parameter.value().grad(), *of.at(parameter.key()), &Real::gradient), 1e-11)
          << parameter.key();
    }
  }
}

TEST_P(EveryAdapter, AddsNothingWhenItStarts) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const auto layer = make(type);
    const Tensor x = drawn("x", {kRows, kIn}).to(type);
    const double tolerance = type == at::kFloat ? 2e-6 : 1e-14;
    EXPECT_LT((layer->forward(x) - at::linear(x, layer->weight, layer->bias)).abs().max().item<double>(), tolerance);
    EXPECT_LT((layer->merged() - layer->weight).abs().max().item<double>(), tolerance);
  }
}

TEST_P(EveryAdapter, MergesAndUnmergesWithoutChangingWhatItDoes) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const double tolerance = type == at::kFloat ? 1e-6 : 1e-14;
    const auto layer = made(type);
    const Tensor x = drawn("x", {kRows, kIn}).to(type), base = layer->weight.detach().clone(),
                 before = layer->forward(x), whole = layer->merged();
    const double size = before.abs().max().item<double>();
    layer->merge();
    EXPECT_TRUE(layer->is_merged());
    EXPECT_TRUE(at::equal(layer->weight, whole));
    EXPECT_LT((layer->forward(x) - before).abs().max().item<double>(), tolerance * size);
    EXPECT_THROW(layer->merge(), std::logic_error);
    layer->unmerge();
    EXPECT_TRUE(at::equal(layer->weight, base)) << "to the bit";
    EXPECT_TRUE(at::equal(layer->forward(x), before));
    EXPECT_THROW(layer->unmerge(), std::logic_error);
    EXPECT_GT((whole - base).abs().max().item<double>(), 0.1) << "an adapter that does nothing proves nothing";
  }
}

TEST_P(EveryAdapter, MergesToTheWeightOfItsDefinition) {
  const auto layer = made(at::kDouble);
  const auto parameters = layer->named_parameters();
  AdapterWeights weights{
      variables(parameters["weight"]), {}, variables(parameters["lora_a"]), variables(parameters["lora_b"]), {}};
  if (parameters.contains("magnitude")) weights.magnitude = variables(parameters["magnitude"]);
  EXPECT_LT(difference(layer->merged(), merged_weight(reference_of(GetParam()), weights), &Real::value), 1e-13);
}

TEST_P(EveryAdapter, DropsByItsNameTheStepAndTheCallAndOnlyWhileTheNetworkTrains) {
  const auto layer = made(at::kFloat);
  const Tensor x = drawn("x", {kRows, kIn});
  const RandomStreams random(9);
  const auto at_step = [&](std::int64_t step, bool training) {
    layer->begin_forward(step, training, random);
    return layer->forward(x);
  };
  EXPECT_TRUE(at::equal(at_step(3, true), at_step(3, true)));
  const bool drops = GetParam().options.contains("dropout");
  EXPECT_EQ(at::equal(at_step(3, true), at_step(4, true)), !drops);
  EXPECT_EQ(at::equal(at_step(3, true), layer->forward(x)), !drops) << "the second call of a forward";
  EXPECT_EQ(at::equal(at_step(3, true), at_step(3, false)), !drops);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryAdapter, ::testing::ValuesIn(settings()),
                         [](const ::testing::TestParamInfo<Setting>& tested) {
                           return tested.param.name() + "_" + std::to_string(tested.index);
                         });

TEST(Lora, StartsUniformWithinOneOverTheRootOfItsInputs) {
  const AdapterItem& item = adapter_item("lora");
  const auto layer = item.make({"a", 400, 8, false, 1}, Options(item.item.json(), {{"rank", 32}}));
  layer->start(RandomStreams(1));
  const Tensor a = layer->named_parameters()["lora_a"];
  EXPECT_LE(a.abs().max().item<double>(), 0.05);
  EXPECT_GT(a.abs().max().item<double>(), 0.0499);
  EXPECT_NEAR(a.var().item<double>(), 0.05 * 0.05 / 3, 2e-5);
  EXPECT_EQ(layer->named_parameters()["lora_b"].abs().max().item<double>(), 0);
}

TEST(Adapters, AreChosenByTheNameOfTheLayer) {
  const auto choice = adapter_choice(
      {{"adapter", {{"id", "lora"}, {"options", {{"targets", {"*.qkv", "head"}}, {"split_qkv", true}}}}}});
  ASSERT_TRUE(choice);
  const auto adapter = std::dynamic_pointer_cast<Adapter>(choice->linear("blocks.0.attention.qkv", 4, 12, true));
  ASSERT_TRUE(adapter);
  EXPECT_EQ(adapter->layer().parts, 3);
  EXPECT_FALSE(std::dynamic_pointer_cast<Adapter>(choice->linear("blocks.0.mlp.in", 4, 12, true)));
  try {
    choice->check_targets({"blocks.0.attention.qkv", "blocks.0.mlp.in"});
    FAIL() << "the target 'head' fits nothing";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("'head' fits none of the backbone's 2 linear maps"));
    EXPECT_THAT(error.what(), HasSubstr("blocks.0.mlp.in"));
  }
  EXPECT_FALSE(adapter_choice({{"kind", "train"}}));
  EXPECT_FALSE(adapter_choice({{"adapter", {{"id", "none"}}}}));
  EXPECT_THROW(adapter_choice({{"adapter", {{"id", "lorra"}}}}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
