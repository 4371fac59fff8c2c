// Stage "measure": what the model costs at every batch size and resolution, and how its training is fed. Needs no training
// before it.
#include <set>

#include "engine/measure/feeding.h"
#include "engine/measure/flops.h"
#include "engine/measure/hardware.h"
#include "engine/measure/measurement.h"
#include "engine/measure/peak_memory.h"
#include "engine/stages/stages.h"
#include "engine/train/training_data.h"

namespace locus::engine::stages {
namespace {

Json measure_stage_metrics() {
  Json out = measured_metrics();
  for (Json& metric : feeding_metrics()) out.push_back(std::move(metric));
  return out;
}

void describe(StageContext& context, const MeasureSettings& settings) {
  context.environment["path"] = context.execution.path;
  context.environment["hardware"] = describe_hardware(context.device);
  context.environment["fresh_process"] = context.stages_before == 0;
  context.environment["protocol"] = {{"rounds", settings.rounds},
                                     {"warmup", settings.warmup},
                                     {"round_ms", settings.round_ms},
                                     {"deterministic", at::globalContext().deterministicAlgorithms()},
                                     {"memory", MemoryWatch::source(context.device)},
                                     {"counted_operators", counted_operators()}};
}

// What the observer wishes, and what becomes of the stage by it.
bool measure_goes_on(StageContext& context) {
  const Wish wish = context.observer.wish();
  if (wish == Wish::kCancel) context.outcome = Outcome::kCancelled;
  if (wish == Wish::kCheckpointAndStop) context.outcome = Outcome::kStopped;  // nothing worth keeping: it starts again
  return wish == Wish::kContinue;
}

// How training is fed at each batch size, after `before` of `steps` are done. False where the stage is to end.
bool feed(StageContext& context, Dataset& dataset, const MeasureSettings& settings, std::int64_t before,
          std::int64_t steps) {
  std::set<std::int64_t> measured;
  for (const std::int64_t batch : context.options.integers("batch")) {
    const auto go_on = [&] {
      context.observer.progress(std::min(before++, steps), steps, "measure");
      return measure_goes_on(context);
    };
    const auto fed =
        measure_feeding(context.configuration, dataset, batch, settings, context.execution, context.device, go_on);
    if (!fed) return false;
    if (!measured.insert(fed->point.batch).second) continue;  // all images of a small set
    for (StageResult& result : feeding_results(*fed)) context.results.push_back(std::move(result));
  }
  return true;
}

void run_measure(StageContext& context) {
  const Options& options = context.options;
  const MeasureSettings settings{options.integer("rounds"), options.integer("warmup"), options.number("round_ms"),
                                 options.boolean("training")};
  std::vector<std::int64_t> resolutions = options.integers("resolution");
  if (resolutions.empty()) resolutions = {0};
  const std::vector<std::int64_t> batches = options.integers("batch");
  const std::vector<MeasuredModel> model = {measured_model(context.configuration)};
  const auto points = static_cast<std::int64_t>(resolutions.size() * batches.size());
  const std::shared_ptr<Dataset> data = options.boolean("data") ? open_data(context) : nullptr;
  const std::int64_t of_model = points * settings.rounds * (settings.training ? 2 : 1);
  const std::int64_t fed = static_cast<std::int64_t>(batches.size()) * (2 * settings.rounds + settings.warmup + 1);
  const std::int64_t steps = of_model + (data ? fed : 0);
  describe(context, settings);
  context.observer.started(context.environment, steps, 0);
  std::int64_t before = 0;
  std::string path;
  for (const std::int64_t resolution : resolutions) {
    for (const std::int64_t batch : batches) {
      const auto go_on = [&](std::int64_t done, std::int64_t) {
        const bool on = measure_goes_on(context);
        context.observer.progress(before + done, steps, "measure");
        return on;
      };
      const auto measured =
          measure_models(model, {batch, resolution}, settings, context.execution, context.device, go_on);
      if (!measured) {
        context.results.clear();
        return;
      }
      for (StageResult& result : measured_results(measured->front())) context.results.push_back(std::move(result));
      path = measured->front().path;
      before += of_model / points;
    }
  }
  if (data && !feed(context, *data, settings, before, steps)) {
    context.results.clear();
    return;
  }
  context.observer.progress(steps, steps, "measure");
  context.environment["path"] = path;
}

}  // namespace

StageItem measure() {
  Item item("stage", "measure", 1,
            "Measures parameters, operations, time and memory, alone on its device, with random weights");
  item.option(Option::list("resolution", "integer", Json::array(),
                           "shorter sides of the images, the model built for each; empty for the dataset's own")
                  .minimum(1)
                  .maximum(4096)
                  .unique()
                  .unit("pixels"));
  item.option(Option::list("batch", "integer", Json::array({1, 32}), "images a pass")
                  .minimum(1)
                  .maximum(65536)
                  .min_items(1)
                  .unique());
  item.option(
      Option::integer("rounds", 20, "timed rounds; the figures are quantiles over them").minimum(1).maximum(10000));
  item.option(Option::integer("warmup", 5, "passes before the first round").minimum(0).maximum(10000));
  item.option(Option::number("round_ms", 50.0, "a round repeats the pass until it takes about so long")
                  .minimum(0.0)
                  .maximum(60000.0)
                  .unit("ms"));
  item.option(Option::boolean("training", true, "measure training steps, too"));
  item.option(
      Option::boolean("data", false,
                      "measure how training is fed, too: reads the training split and reports how long steps wait "
                      "for their images and how many are prepared a second")
          .neutral(false));
  item.set("requires",
           Json::array(
               {{{"rule", "divides"}, {"of", "patch"}, {"into", "resolution"}, {"help", "patches tile the image"}}}));
  item.facts({{"inputs", Json::array()},
              {"outputs", Json::array()},
              {"exclusive", true},
              {"independent_of", {"init", "recipe"}},
              {"metrics", measure_stage_metrics()}});
  return {std::move(item), run_measure};
}

}  // namespace locus::engine::stages
