// The wait is read from the loader; where it is fast enough, the next batch lies ready when a step ends.
#include "engine/measure/feeding.h"

#include <algorithm>
#include <chrono>

#include "engine/inputs/input.h"
#include "engine/tasks/task.h"
#include "engine/train/evaluation.h"
#include "engine/train/recipe.h"
#include "engine/train/training_data.h"

namespace locus::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kFeedingRate = 1e-6;  // of the optimizer: steps cost the same at any

double seconds_since(SteadyClock::time_point start) {
  return std::max(1e-9, std::chrono::duration<double>(SteadyClock::now() - start).count());
}

// Calls `step` so often; false as soon as `go_on` says no.
bool repeat(std::int64_t times, const std::function<bool()>& go_on, const std::function<void()>& step) {
  for (std::int64_t i = 0; i < times; ++i) {
    if (!go_on()) return false;
    step();
  }
  return true;
}

}  // namespace

std::optional<Feeding> measure_feeding(const Json& configuration, Dataset& dataset, std::int64_t batch,
                                       const MeasureSettings& settings, const Execution& execution, at::Device device,
                                       const std::function<bool()>& go_on) {
  const RandomStreams random(configuration.value("seed", std::uint64_t{0}));
  const auto input = make_input(configuration, dataset.normalization());
  const Json facts = input_facts(configuration);
  const std::shared_ptr<Task> task = make_task({configuration, facts, random, execution.path});
  task->to(device);
  task->train();
  AdamW optimizer(decay_groups(*task, 0.05), AdamW::Settings{});
  LoopSettings loop;
  loop.batch = batch;
  const TrainingSet set = training_set(configuration, dataset, *input, *task, loop, random);
  const Extent extent = input->extent();
  Feeding out{.point = {std::min(batch, set.sampler ? set.sampler->samples() : set.source->size()),
                        std::min(extent[0], extent[1])}};
  {
    TrainingLoader loader(set, random, device, decoding_of(execution));
    std::int64_t done = 0;
    const auto step = [&] {
      const Batch fed = loader.next();
      task->train_step(fed, {done, done + 1, true, random}).loss.backward();
      optimizer.step(kFeedingRate);
      ++done;
      wait_for(device);
    };
    if (!repeat(settings.warmup + 1, go_on, step)) return std::nullopt;  // the first batch is always waited for
    const double before = loader.waited_seconds();
    const auto start = SteadyClock::now();
    if (!repeat(settings.rounds, go_on, step)) return std::nullopt;
    const double seconds = seconds_since(start);
    out.wait_percent = 100 * (loader.waited_seconds() - before) / seconds;
  }
  TrainingLoader loader(set, random, device, decoding_of(execution));
  std::int64_t images = 0;
  const auto start = SteadyClock::now();
  const auto take = [&] { images += loader.next().at(kImage).size(0); };
  if (!repeat(settings.rounds, go_on, take)) return std::nullopt;
  wait_for(device);
  out.images_per_second = static_cast<double>(images) / seconds_since(start);
  return out;
}

std::vector<StageResult> feeding_results(const Feeding& feeding) {
  const Json labels = {{"batch", feeding.point.batch}, {"resolution", feeding.point.resolution}};
  return {{{"data_wait_percent", "", labels}, "last", feeding.wait_percent, 0},
          {{"data_images_per_second", "", labels}, "last", feeding.images_per_second, 0}};
}

Json feeding_metrics() {
  return Json::array({{{"name", "data_wait_percent"},
                       {"unit", "%"},
                       {"direction", "min"},
                       {"help", "of the time of training steps, spent waiting for images that were not yet prepared"}},
                      {{"name", "data_images_per_second"},
                       {"unit", "1/s"},
                       {"direction", "max"},
                       {"help", "read, decoded, augmented and put together for training, the model idle"}}});
}

}  // namespace locus::engine
