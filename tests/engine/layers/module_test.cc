// The tree of a model's parameters: names, order, conversion.
#include "engine/layers/module.h"

#include <gmock/gmock.h>

namespace locus::engine {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<Module> leaf(double value) {
  auto out = std::make_shared<Module>();
  out->register_parameter("weight", at::full({2}, value, at::kFloat));
  out->register_parameter("bias", Tensor());
  out->register_buffer("count", at::zeros({1}, at::kLong));
  return out;
}

// weight; first.weight, second.inner.weight, in an order that is not the alphabet's.
std::shared_ptr<Module> tree() {
  auto second = std::make_shared<Module>();
  second->register_module("inner", leaf(2));
  auto out = std::make_shared<Module>();
  out->register_module("second", second);
  out->register_module("first", leaf(1));
  out->register_parameter("weight", at::zeros({1}, at::kFloat));
  out->register_parameter("fixed", at::zeros({1}, at::kFloat), /*requires_grad=*/false);
  return out;
}

TEST(Module, NamesItsOwnBeforeThoseOfItsPartsInTheOrderOfRegistration) {
  EXPECT_THAT(tree()->named_parameters().keys(), ElementsAre("weight", "fixed", "second.inner.weight", "first.weight"));
  EXPECT_THAT(tree()->named_buffers().keys(), ElementsAre("second.inner.count", "first.count"));
  EXPECT_THAT(tree()->named_modules().keys(), ElementsAre("second", "second.inner", "first"));
  EXPECT_EQ(tree()->parameters().size(), 4u) << "an undefined parameter is none";
}

TEST(Module, ParametersLearnUnlessTheyAreRegisteredNotTo) {
  const auto all = tree()->named_parameters();
  EXPECT_TRUE(all["weight"].requires_grad());
  EXPECT_FALSE(all["fixed"].requires_grad());
}

TEST(Module, ConvertsFloatingTensorsInPlace) {
  const auto model = tree();
  const Tensor held = model->named_parameters()["first.weight"];
  model->to(at::kDouble);
  EXPECT_EQ(held.scalar_type(), at::kDouble) << "who holds a parameter holds it still";
  EXPECT_TRUE(held.requires_grad());
  EXPECT_EQ(model->named_buffers()["first.count"].scalar_type(), at::kLong);
  held.sum().backward();
  EXPECT_TRUE(model->named_parameters()["first.weight"].grad().defined());
  model->zero_grad();
  EXPECT_FALSE(held.grad().defined());
}

TEST(Module, TrainsOrNotWithAllItsParts) {
  const auto model = tree();
  EXPECT_TRUE(model->named_modules()["second.inner"]->is_training());
  model->eval();
  EXPECT_FALSE(model->named_modules()["second.inner"]->is_training());
  model->train();
  EXPECT_TRUE(model->named_modules()["second.inner"]->is_training());
}

TEST(Module, RefusesNamesThatAreTakenOrNone) {
  const auto model = tree();
  EXPECT_THROW(model->register_parameter("weight", at::zeros({1})), std::logic_error);
  EXPECT_THROW(model->register_buffer("first", at::zeros({1})), std::logic_error);
  EXPECT_THROW(model->register_module("a.b", leaf(0)), std::logic_error);
  EXPECT_THROW(model->register_module("", leaf(0)), std::logic_error);
}

}  // namespace
}  // namespace locus::engine
