// Schedules: the rate of every step.
#include "engine/train/schedule.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component cosine() {
  Item item("schedule", "cosine", 1, "Linear warm-up to a peak, then half a cosine down to a minimum");
  item.option(Option::number("peak", 1e-3, "highest rate"));
  item.option(Option::number("minimum", 0.0, "last rate"));
  item.option(Option::integer("warmup", 0, "steps up to the peak").minimum(0));
  item.option(Option::integer("steps", 100, "steps of the whole").minimum(1));
  return {.item = std::move(item),
          .inputs = {},
          .draws = {},
          .outputs = {{"rates", "float64 [steps]: the rate of each step"}},
          .run = [](const ComponentSpecification& specification, const NamedTensors&) -> NamedTensors {
            const Options& options = specification.options;
            const CosineSchedule schedule{options.number("peak"), options.number("minimum"), options.integer("warmup"),
                                          options.integer("steps")};
            std::vector<double> rates;
            for (std::int64_t step = 0; step < options.integer("steps"); ++step) rates.push_back(schedule(step));
            return {{"rates", at::tensor(rates, at::kDouble)}};
          }};
}

}  // namespace

std::vector<Component> schedule() { return {cosine()}; }

}  // namespace locus::engine::components
