// Optimizers: steps on given gradients.
#include "engine/train/optimizer.h"

#include <algorithm>

#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"
#include "engine/train/layerwise.h"

namespace locus::engine::components {
namespace {

using MakeOptimizer = std::unique_ptr<Optimizer> (*)(std::vector<ParameterGroup> groups, const Options& options);

// Two groups, with and without weight decay, of copies that learn.
std::vector<ParameterGroup> groups_of(const NamedTensors& parameters, const Options& options) {
  const std::vector<std::string> exempt = options.texts("exempt");
  ParameterGroup decayed{{}, options.number("weight_decay")}, spared;
  for (const auto& [name, tensor] : parameters) {
    const Tensor own = tensor.clone().set_requires_grad(true);
    const bool plain = std::find(exempt.begin(), exempt.end(), name) != exempt.end();
    (plain ? spared : decayed).parameters.push_back({name, own});
  }
  return {std::move(decayed), std::move(spared)};
}

NamedTensors run(const ComponentSpecification& specification, const NamedTensors& given, MakeOptimizer make) {
  const Options& options = specification.options;
  const NamedTensors gradients = named(given, kGradient);
  const std::int64_t steps = common_length(gradients, kGradient);
  const auto optimizer = make(groups_of(named(given, kParameter), options), options);
  const auto rates = given.find("rates");
  std::map<std::string, std::vector<Tensor>> path;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (const ParameterGroup& group : optimizer->groups()) {
      for (const NamedParameter& named : group.parameters)
        named.parameter.mutable_grad() = beside(gradients, named.name, kGradient)[step].clone();
    }
    optimizer->step(rates == given.end() ? options.number("lr") : rates->second[step].item<double>());
    for (const ParameterGroup& group : optimizer->groups()) {
      for (const NamedParameter& named : group.parameters) path[named.name].push_back(named.parameter.detach().clone());
    }
  }
  NamedTensors out;
  for (const auto& [name, values] : path) {
    out["parameter." + name] = values.back();
    out["path." + name] = at::stack(values);
  }
  return out;
}

Component optimizer_of(const char* id, const char* summary, const std::vector<Option>& own, MakeOptimizer make) {
  Item item("optimizer", id, 1, summary);
  item.option(Option::number("lr", 1e-3, "rate of every step, unless `rates` says it"));
  item.option(Option::number("weight_decay", 0.0, "of every parameter that is not exempt"));
  item.option(Option::list("exempt", "string", Json::array(), "names of parameters without weight decay"));
  for (const Option& option : own) item.option(option);
  return {.item = std::move(item),
          .inputs = {{"parameter.*", "float [...]: what the steps begin from"},
                     {"gradient.*", "float [n, ...]: that parameter's gradient in each of n steps"},
                     {"rates", "float64 [n]: the rate of each step", /*optional=*/true}},
          .draws = {},
          .outputs = {{"parameter.*", "[...]: after the last step"}, {"path.*", "[n, ...]: after each step"}},
          .run = [make](const ComponentSpecification& specification, const NamedTensors& given) {
            return run(specification, given, make);
          }};
}

std::vector<Option> moments(double epsilon) {
  return {Option::number("beta1", 0.9, "decay of the mean of gradients"),
          Option::number("beta2", 0.999, "decay of the mean of their squares"),
          Option::number("epsilon", epsilon, "added to the root below the fraction")};
}

Component adamw() {
  return optimizer_of("adamw", "AdamW", moments(1e-8), [](std::vector<ParameterGroup> groups, const Options& o) {
    return std::unique_ptr<Optimizer>(std::make_unique<AdamW>(
        std::move(groups), AdamW::Settings{o.number("beta1"), o.number("beta2"), o.number("epsilon")}));
  });
}

Component lamb() {
  std::vector<Option> own = moments(1e-6);
  own.push_back(Option::number("clip", 1.0, "largest joint norm of the gradients; 0: any"));
  own.push_back(Option::boolean("trust_clip", false, "the ratio of norms is at most 1"));
  own.push_back(Option::boolean("always_adapt", false, "the ratio without weight decay, too"));
  return optimizer_of(
      "lamb", "LAMB as in apex and timm", own, [](std::vector<ParameterGroup> groups, const Options& o) {
        return std::unique_ptr<Optimizer>(std::make_unique<Lamb>(
            std::move(groups), Lamb::Settings{o.number("beta1"), o.number("beta2"), o.number("epsilon"),
                                              o.number("clip"), o.boolean("trust_clip"), o.boolean("always_adapt")}));
      });
}

Component lars() {
  const std::vector<Option> own = {Option::number("momentum", 0.9, "share of the last update that is kept"),
                                   Option::number("eta", 0.001, "trust coefficient")};
  return optimizer_of("lars", "LARS as in DINO", own, [](std::vector<ParameterGroup> groups, const Options& o) {
    return std::unique_ptr<Optimizer>(
        std::make_unique<Lars>(std::move(groups), Lars::Settings{o.number("momentum"), o.number("eta")}));
  });
}

Component sgd() {
  const std::vector<Option> own = {Option::number("momentum", 0.9, "share of the last update that is kept"),
                                   Option::boolean("nesterov", false, "look ahead by the momentum")};
  return optimizer_of(
      "sgd", "Stochastic gradient descent", own, [](std::vector<ParameterGroup> groups, const Options& o) {
        return std::unique_ptr<Optimizer>(
            std::make_unique<Sgd>(std::move(groups), Sgd::Settings{o.number("momentum"), o.boolean("nesterov")}));
      });
}

}  // namespace

std::vector<Component> optimizer() { return {adamw(), lamb(), lars(), sgd()}; }

}  // namespace locus::engine::components
