// Which parameters decay, and at what share of the rate each learns.
#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"
#include "engine/train/groups.h"

namespace locus::engine::components {
namespace {

NamedTensors run_parameter_groups(const ComponentSpecification& specification, const NamedTensors& given) {
  const Options& options = specification.options;
  const NamedTensors parameters = named(given, kParameter);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : parameters) names.push_back(name);
  const LayerDecay layers(names, options.number("layer_decay"), options.text("layer_decay_norm") == "last-block");
  const DecayRule rule = decay_rule_of(options.text("decay_exempt"));
  NamedTensors out;
  for (const auto& [name, tensor] : parameters) {
    const bool decayed = decays(rule, name, tensor.dim(), default_decay(name, tensor));
    out["decayed." + name] = at::full({}, decayed ? 1 : 0, at::kLong);
    out["layer." + name] = at::full({}, layers.layer(name), at::kLong);
    out["scale." + name] = at::full({}, layers.scale(name), at::kDouble);
  }
  return out;
}

}  // namespace

std::vector<Component> parameter_groups() {
  Item item("parameter-groups", "by-name", 1,
            "Weight decay and share of the rate of every parameter, by its full name");
  item.option(Option::text("decay_exempt", "task", "the rule of what weight decay spares")
                  .choices({"task", "timm", "matrices", "names", "none"}));
  item.option(Option::number("layer_decay", 1.0, "factor of the rate from each block to the one before").above(0.0));
  item.option(Option::text("layer_decay_norm", "head", "the final norm learns as the head does, or as the last block")
                  .choices({"head", "last-block"}));
  return {{.item = std::move(item),
           .inputs = {{"parameter.*", "float [...]: only its name and its axes count"}},
           .draws = {},
           .outputs = {{"decayed.*", "int64 []: whether weight decay pulls on it"},
                       {"layer.*", "int64 []: 0 embeddings, 1 + i block i, blocks + 1 the head"},
                       {"scale.*", "float64 []: share of the rate"}},
           .run = run_parameter_groups}};
}

}  // namespace locus::engine::components
