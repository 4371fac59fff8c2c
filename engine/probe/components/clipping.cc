// Limits on gradients.
#include "engine/train/clipping.h"

#include "engine/probe/components/components.h"
#include "engine/probe/components/given.h"

namespace locus::engine::components {
namespace {

Component clipping_of(const char* id, const char* summary, double limit, const char* help,
                      void (*clip)(std::span<const Tensor> parameters, double limit)) {
  Item item("clipping", id, 1, summary);
  item.option(Option::number("limit", limit, help));
  return {.item = std::move(item),
          .inputs = {{"gradient.*", "float [...]"},
                     {"parameter.*", "float [...]: the weights, which `unit` needs", /*optional=*/true}},
          .draws = {},
          .outputs = {{"gradient.*", "[...]: limited"}},
          .run = [clip](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const NamedTensors gradients = named(given, kGradient), weights = named(given, kParameter);
            std::vector<Tensor> parameters;
            for (const auto& [name, gradient] : gradients) {
              const Tensor weight =
                  weights.empty() ? at::zeros_like(gradient) : beside(weights, name, kParameter).clone();
              weight.set_requires_grad(true).mutable_grad() = gradient.clone();
              parameters.push_back(weight);
            }
            clip(parameters, specification.options.number("limit"));
            NamedTensors out;
            std::size_t i = 0;
            for (const auto& [name, gradient] : gradients) out["gradient." + name] = parameters[i++].grad();
            return out;
          }};
}

}  // namespace

std::vector<Component> clipping() {
  return {clipping_of("joint", "The norm of all gradients together", 1.0, "largest norm", clip_joint_norm),
          clipping_of("tensor", "The norm of every tensor by itself, as in DINO", 3.0, "largest norm", clip_each_norm),
          clipping_of("unit", "Adaptive clipping: of every row, as a share of its weights' norm", 0.01, "largest share",
                      clip_units)};
}

}  // namespace locus::engine::components
