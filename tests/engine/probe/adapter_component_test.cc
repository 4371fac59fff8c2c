// Adapters and neighbor votes run alone, on given tensors.
#include <gmock/gmock.h>

#include <cmath>

#include "engine/probe/component.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

NamedTensors given_for(std::int64_t parts) {
  const RandomStreams random(2);
  const auto drawn = [&](const char* name, at::IntArrayRef shape) {
    return random.normal("test", name, 0, shape).to(at::kDouble);
  };
  return {{"x", drawn("x", {2, 3, 4})},   {"weight", drawn("weight", {6, 4})},
          {"bias", drawn("bias", {6})},   {"lora_a", drawn("a", {2 * parts, 4})},
          {"lora_b", drawn("b", {6, 2})}, {"gradient", drawn("gradient", {2, 3, 6})}};
}
double apart(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

std::string refusal(const std::string& name, const Json& specification, const NamedTensors& given) {
  try {
    run_component(component(name), specification, given);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(AdapterComponent, GivesTheResultTheMergedWeightAndGradients) {
  const NamedTensors given = given_for(1);
  const NamedTensors out =
      run_component(component("adapter:lora"), {{"options", {{"rank", 2}, {"alpha", 4.0}}}}, given);
  const Tensor update = 2 * at::mm(given.at("lora_b"), given.at("lora_a"));
  EXPECT_LT(apart(out.at("merged"), given.at("weight") + update), 1e-12);
  EXPECT_LT(apart(out.at("y"), at::linear(given.at("x"), given.at("weight") + update, given.at("bias"))), 1e-12);
  EXPECT_LT(apart(out.at("gradient.bias"), given.at("gradient").sum(at::IntArrayRef{0, 1})), 1e-12);
  EXPECT_LT(apart(out.at("gradient.x"), at::matmul(given.at("gradient"), given.at("weight") + update)), 1e-12);
  EXPECT_TRUE(out.contains("gradient.lora_a"));
}

TEST(AdapterComponent, DropsByGivenDraws) {
  NamedTensors given = given_for(1);
  given["draws.dropout"] = at::zeros({2, 3, 4}, at::kDouble);  // all below the rate
  const NamedTensors out =
      run_component(component("adapter:lora"), {{"options", {{"rank", 2}, {"dropout", 0.5}}}}, given);
  EXPECT_LT(apart(out.at("y"), at::linear(given.at("x"), given.at("weight"), given.at("bias"))), 1e-12);
}

TEST(AdapterComponent, TakesTheLengthsOfTheWeightWhereNoMagnitudeIsGiven) {
  NamedTensors given = given_for(3);
  given["lora_b"].zero_();
  for (const std::string norm : {"rows", "columns"}) {
    const NamedTensors out = run_component(component("adapter:dora"),
                                           {{"options", {{"rank", 2}, {"norm", norm}, {"split_qkv", true}}}}, given);
    EXPECT_LT(apart(out.at("merged"), given.at("weight")), 1e-12) << norm;
  }
}

TEST(AdapterComponent, RefusesTensorsThatDoNotFit) {
  NamedTensors given = given_for(1);
  EXPECT_THAT(refusal("adapter:lora", {{"options", {{"rank", 3}}}}, given), HasSubstr("'lora_a' is [2, 4]"));
  given["magnitude"] = at::ones({6});
  EXPECT_THAT(refusal("adapter:lora", {{"options", {{"rank", 2}}}}, given), HasSubstr("has no magnitude"));
}

TEST(NeighborsComponent, GivesVotesAndScores) {
  const NamedTensors given = {{"queries", at::tensor({1.0, 0.0, 0.0, 2.0}, at::kDouble).view({2, 2})},
                              {"references", at::tensor({3.0, 0.0, 1.0, 1.0, 0.0, 1.0}, at::kDouble).view({3, 2})},
                              {"labels", at::tensor({0, 1, 2}, at::kLong)},
                              {"query_labels", at::tensor({0, 1}, at::kLong)}};
  const NamedTensors out = run_component(component("neighbors:votes"),
                                         {{"options", {{"k", 2}, {"temperature", 0.5}, {"classes", 3}}}}, given);
  const double near = std::exp(2.0), far = std::exp(std::sqrt(2.0));
  const Tensor expected = at::tensor({near, far, 0.0, 0.0, far, near}, at::kDouble).view({2, 3});
  EXPECT_LT(apart(out.at("votes"), expected), 1e-9);
  EXPECT_EQ(out.at("top1").item<double>(), 50);
  EXPECT_EQ(out.at("top5").item<double>(), 100);
}

}  // namespace
}  // namespace locus::engine
