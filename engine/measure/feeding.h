// How training is fed: batches as its loader prepares them, for steps of the model and for nobody.
#pragma once

#include "engine/data/dataset.h"
#include "engine/measure/measurement.h"

namespace locus::engine {

struct Feeding {
  MeasurePoint point;            // at the input's own resolution
  double wait_percent = 0;       // of the time of fed training steps
  double images_per_second = 0;  // that are prepared while nothing else runs
};

// Trains the configuration's model, with random weights, on batches of its training split, which input and augmentation make
// as training has them (what a recipe does with batches is left out): `settings.warmup` steps and one, then `settings.rounds`
// that are timed together, the device idle after each. A loader of its own then prepares as many batches again and nothing
// takes them. Before each step and batch `go_on` is asked; nothing comes back once it says no. Throws as training_set and
// TrainingLoader::next.
std::optional<Feeding> measure_feeding(const Json& configuration, Dataset& dataset, std::int64_t batch,
                                       const MeasureSettings& settings, const Execution& execution, at::Device device,
                                       const std::function<bool()>& go_on);

// As results of a stage, split "", labels "batch" and "resolution"; and as the catalog declares them.
std::vector<StageResult> feeding_results(const Feeding& feeding);
Json feeding_metrics();

}  // namespace locus::engine
