// Schedules: the rate, or another number, at every time.
#include "engine/train/schedule.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

using MakeSchedule = Schedule (*)(const Options& options);

// `length` is the option that says how many values there are.
Component component_of(Item item, const char* length, MakeSchedule make) {
  return {.item = std::move(item),
          .inputs = {},
          .draws = {},
          .outputs = {{"rates", "float64 [" + std::string(length) + "]: the value at each time, from 0"}},
          .run = [length, make](const ComponentSpecification& specification, const NamedTensors&) -> NamedTensors {
            const Schedule schedule = make(specification.options);
            std::vector<double> rates;
            for (std::int64_t time = 0; time < specification.options.integer(length); ++time)
              rates.push_back(schedule(time));
            return {{"rates", at::tensor(rates, at::kDouble)}};
          }};
}

void add_steps(Item& item) {
  item.option(Option::integer("warmup", 0, "steps up to the peak").minimum(0));
  item.option(Option::integer("steps", 100, "steps of the whole").minimum(1));
}

Item peaked(const char* id, const char* summary) {
  Item item("schedule", id, 1, summary);
  item.option(Option::number("peak", 1e-3, "highest rate"));
  item.option(Option::number("minimum", 0.0, "last rate"));
  return item;
}

Component cosine() {
  Item item = peaked("cosine", "Linear warm-up to a peak, then half a cosine down to a minimum");
  add_steps(item);
  return component_of(std::move(item), "steps", [](const Options& o) -> Schedule {
    return CosineSchedule{o.number("peak"), o.number("minimum"), o.integer("warmup"), o.integer("steps")};
  });
}

Component timm() {
  Item item = peaked("timm", "timm's cosine or polynomial over epochs or updates, as DeiT, DeiT-III and RMT use it");
  item.option(Option::number("warmup_rate", 1e-6, "rate that the warm-up begins at"));
  item.option(Option::integer("warmup", 0, "times of warm-up").minimum(0));
  item.option(Option::integer("length", 100, "times after which the rate is the minimum").minimum(1));
  item.option(Option::integer("times", 100, "values wanted; those from `length` on are the cool-down").minimum(1));
  item.option(Option::boolean("late", false, "the rate of the time before, as in DeiT"));
  item.option(Option::boolean("prefix", false, "the curve begins behind the warm-up"));
  item.option(Option::number("power", 0.0, "of the polynomial; 0: the cosine").minimum(0.0));
  return component_of(std::move(item), "times", [](const Options& o) -> Schedule {
    return TimmSchedule{.peak = o.number("peak"),
                        .minimum = o.number("minimum"),
                        .warmup_rate = o.number("warmup_rate"),
                        .warmup = o.integer("warmup"),
                        .length = o.integer("length"),
                        .late = o.boolean("late"),
                        .prefix = o.boolean("prefix"),
                        .power = o.number("power")};
  });
}

Component vtab() {
  Item item("schedule", "vtab-cosine", 1, "VTAB-1K fine-tuning by updates, its last rate but one 0");
  item.option(Option::number("peak", 1.0, "highest rate"));
  add_steps(item);
  return component_of(std::move(item), "steps", [](const Options& o) -> Schedule {
    return VtabCosine{o.number("peak"), o.integer("warmup"), o.integer("steps")};
  });
}

Component pape() {
  Item item = peaked("pape-cosine", "PaPE's warm-up and cosine by steps, the last at the minimum");
  add_steps(item);
  return component_of(std::move(item), "steps", [](const Options& o) -> Schedule {
    return PapeCosine{o.number("peak"), o.number("minimum"), o.integer("warmup"), o.integer("steps")};
  });
}

Component asg() {
  Item item = peaked("asg-cosine", "Active Spatial Guidance's warm-up and cosine by steps");
  item.option(Option::number("warmup_rate", 0.0, "rate that the warm-up begins at"));
  add_steps(item);
  return component_of(std::move(item), "steps", [](const Options& o) -> Schedule {
    return AsgCosine{o.number("peak"), o.number("minimum"), o.number("warmup_rate"), o.integer("warmup"),
                     o.integer("steps")};
  });
}

Component dino() {
  Item item("schedule", "dino-cosine", 1,
            "DINO's cosine by iterations, of the rate, the weight decay or the teacher's momentum");
  item.option(Option::number("base", 1e-3, "value after the warm-up"));
  item.option(Option::number("final", 0.0, "value that the cosine ends at"));
  add_steps(item);
  return component_of(std::move(item), "steps", [](const Options& o) -> Schedule {
    return DinoCosine{o.number("base"), o.number("final"), o.integer("warmup"), o.integer("steps")};
  });
}

Component ramp() {
  Item item("schedule", "linear-ramp", 1,
            "Equal steps from a start to an end, then the end: DINO's teacher temperature");
  item.option(Option::number("start", 0.04, "first value"));
  item.option(Option::number("end", 0.07, "last value"));
  item.option(Option::integer("warmup", 30, "values of the ramp, both ends included").minimum(0));
  item.option(Option::integer("times", 100, "values wanted").minimum(1));
  return component_of(std::move(item), "times", [](const Options& o) -> Schedule {
    return LinearRamp{o.number("start"), o.number("end"), o.integer("warmup")};
  });
}

Component annealing() {
  Item item("schedule", "cosine-annealing", 1, "PyTorch's CosineAnnealingLR in closed form");
  item.option(Option::number("base", 1e-3, "first rate"));
  item.option(Option::number("minimum", 0.0, "rate at `length`"));
  item.option(Option::integer("length", 100, "times of half a period").minimum(1));
  item.option(Option::integer("times", 100, "values wanted").minimum(1));
  return component_of(std::move(item), "times", [](const Options& o) -> Schedule {
    return AnnealingCosine{o.number("base"), o.number("minimum"), o.integer("length")};
  });
}

}  // namespace

std::vector<Component> schedule() { return {cosine(), timm(), vtab(), pape(), asg(), dino(), ramp(), annealing()}; }

}  // namespace locus::engine::components
