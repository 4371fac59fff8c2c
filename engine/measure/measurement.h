// What a model costs, by one protocol (docs/measuring.md): built for the resolution it is measured at, random
// weights and images, warm-up, then rounds that are timed as a whole, the device idle before and after each.
// Several models are measured in turn within each round, so that what changes on the machine meets all alike.
#pragma once

#include "engine/stage/stage.h"

namespace locus::engine {

// Returns when the device has done all that it was given.
void wait_for(at::Device device);

struct MeasureSettings {
  std::int64_t rounds = 20;  // at least 1
  std::int64_t warmup = 5;   // passes before the first round
  double round_ms = 50;      // a round repeats the pass so often that the fastest model takes about so long
  bool training = true;      // measure training steps, too
};

// Resolution 0: the dataset's own.
struct MeasurePoint {
  std::int64_t batch = 1, resolution = 0;
};

// A stage configuration, and what a model is given (input_facts): facts "channels", "classes", "extent".
struct MeasuredModel {
  Json configuration, facts;
};
MeasuredModel measured_model(const Json& configuration);  // with the facts of its input
MeasuredModel without_priors(MeasuredModel model);

// Trained weights of the exported model, built for that resolution.
std::int64_t count_parameters(const MeasuredModel& model, std::int64_t resolution);

// Of one pass, over the rounds. `spread`: the distance between the quartiles in percent of the median.
struct Timing {
  double p50_ms = 0, p95_ms = 0, spread = 0;
};
Timing timing_of(std::vector<double> milliseconds);  // at least one; quantiles interpolate linearly

struct Measured {
  MeasurePoint point;  // its resolution filled in
  // Trained weights that the exported model keeps; and how many more than without priors.
  std::int64_t parameters = 0, parameters_added = 0;
  std::int64_t flops = 0, flops_counted = 0;  // of one image: Task::flops, FlopCounter
  // Most bytes of tensors alive, the model's included: in a forward pass, and in all that was measured.
  std::int64_t forward_peak_bytes = 0, peak_bytes = 0;
  Timing forward;
  std::optional<Timing> train;  // forward, backward and optimizer step
  std::string path;             // attention's, as taken
};

// Measures the models at one point. Before every round `go_on` is given how many rounds of how many are done;
// nothing comes back once it says no. Uses the process's allocator and dispatcher hooks: one measurement at a
// time. Throws std::invalid_argument when a model cannot be built at that resolution, or what torch throws.
std::optional<std::vector<Measured>> measure_models(
    const std::vector<MeasuredModel>& models, const MeasurePoint& point, const MeasureSettings& settings,
    const Execution& execution, at::Device device,
    const std::function<bool(std::int64_t done, std::int64_t rounds)>& go_on);

// As results of a stage, split "", labels "batch" and "resolution".
std::vector<StageResult> measured_results(const Measured& measured);
// The same figures as the catalog declares metrics: name, unit, direction, help.
Json measured_metrics();

}  // namespace locus::engine
