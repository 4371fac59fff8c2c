// The scale of the loss in half precision.
#include "engine/train/loss_scaler.h"

#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"

namespace locus::engine::components {
namespace {

NamedTensors run_loss_scaler(const ComponentSpecification& specification, const NamedTensors& given) {
  const Options& options = specification.options;
  LossScaler scaler(
      {options.number("start"), options.number("growth"), options.number("backoff"), options.integer("interval")});
  const NamedTensors gradients = named(given, kGradient);
  const std::int64_t steps = common_length(gradients, kGradient);
  std::vector<double> scales;
  std::vector<std::int64_t> finite;
  std::map<std::string, std::vector<Tensor>> unscaled;
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<Tensor> now;
    for (const auto& [name, values] : gradients) {
      now.push_back(values[step].clone());
      unscaled[name].push_back(now.back());
    }
    scales.push_back(scaler.scale());
    finite.push_back(scaler.unscale(now) ? 1 : 0);
    scaler.update(finite.back() == 1);
  }
  NamedTensors out = {{"scale", at::tensor(scales, at::kDouble)},
                      {"next", at::full({}, scaler.scale(), at::kDouble)},
                      {"finite", at::tensor(finite, at::kLong)}};
  for (const auto& [name, values] : unscaled) out["gradient." + name] = at::stack(values);
  return out;
}

}  // namespace

std::vector<Component> loss_scaler() {
  Item item("loss-scaler", "dynamic", 1,
            "Grows while gradients are finite, shrinks and skips the step when they are not");
  item.option(Option::number("start", 65536.0, "first scale").above(0.0));
  item.option(Option::number("growth", 2.0, "factor after `interval` finite steps in a row"));
  item.option(Option::number("backoff", 0.5, "factor after a step that is not finite"));
  item.option(Option::integer("interval", 2000, "finite steps in a row before it grows").minimum(1));
  return {{.item = std::move(item),
           .inputs = {{"gradient.*", "float [n, ...]: of the scaled loss, in each of n steps"}},
           .draws = {},
           .outputs = {{"scale", "float64 [n]: of each step's loss"},
                       {"next", "float64 []: of the step after the last"},
                       {"finite", "int64 [n]: 0 where the step is skipped"},
                       {"gradient.*", "[n, ...]: divided by the scale"}},
           .run = run_loss_scaler}};
}

}  // namespace locus::engine::components
