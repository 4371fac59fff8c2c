// Exponential averages of weights.
#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"
#include "engine/train/hook.h"

namespace locus::engine::components {
namespace {

constexpr std::string_view kWeight = "weight.";

NamedTensors run(const Options& options, const NamedTensors& given, bool third) {
  AveragingSettings settings{.decay = options.number("decay"), .third = third};
  if (third) {
    settings.after = options.integer("after");
    settings.warmup = options.boolean("warmup");
  }
  const NamedTensors weights = named(given, kWeight);
  const std::int64_t updates = common_length(weights, kWeight) - 1;
  std::vector<Tensor> averages;
  std::vector<std::vector<Tensor>> paths(weights.size());
  for (const auto& [name, values] : weights) averages.push_back(values[0].clone());
  for (std::int64_t update = 1; update <= updates; ++update) {
    std::vector<Tensor> now;
    for (const auto& [name, values] : weights) now.push_back(values[update]);
    follow(averages, now, settings, update);
    for (std::size_t i = 0; i < averages.size(); ++i) paths[i].push_back(averages[i].clone());
  }
  NamedTensors out;
  std::size_t i = 0;
  for (const auto& [name, values] : weights) {
    out["average." + name] = averages[i];
    out["path." + name] = at::stack(paths[i++]);
  }
  return out;
}

Component average_of(const char* id, const char* summary, bool third) {
  Item item("average", id, 1, summary);
  item.option(Option::number("decay", 0.9999, "share of the average that is kept"));
  if (third) {
    item.option(Option::integer("after", 0, "first updates in which the average only copies the weights").minimum(0));
    item.option(Option::boolean("warmup", false, "the decay grows from 0"));
  }
  return {.item = std::move(item),
          .inputs = {{"weight.*", "[n + 1, ...], n at least 1: the initial weights, then those after each of n steps"}},
          .draws = {},
          .outputs = {{"average.*", "[...]: after the last update"}, {"path.*", "[n, ...]: after each update"}},
          .run = [third](const ComponentSpecification& specification, const NamedTensors& given) {
            return run(specification.options, given, third);
          }};
}

}  // namespace

std::vector<Component> average() {
  return {average_of("v2", "timm's ModelEma and ModelEmaV2: e = d e + (1 - d) x", false),
          average_of("v3", "timm's ModelEmaV3: e += (1 - d) (x - e), d by the update's number, from 1", true)};
}

}  // namespace locus::engine::components
