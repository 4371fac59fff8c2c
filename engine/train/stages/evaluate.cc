// Stage "evaluate": scores a trained model on a split, at each of several resolutions.
#include "engine/base/failure.h"
#include "engine/data/dataset.h"
#include "engine/train/checkpoint.h"
#include "engine/train/evaluation.h"
#include "engine/train/stage.h"

namespace locus::stages {
namespace {

// The task of the configuration, filled from the input checkpoint; and the step that checkpoint stands at.
std::shared_ptr<Task> load_task(const StageContext& context, const Json& facts, const RandomStreams& random,
                                TrainingState& state) {
  const auto input = context.inputs.find("checkpoint");
  if (input == context.inputs.end())
    throw DataError("stage evaluate needs the input 'checkpoint', which was not given");
  auto task = make_task({context.configuration, facts, random, context.execution.path});
  TensorFile file = read_safetensors(input->second);
  state = read_checkpoint_metadata(file, /*exported=*/true);
  const Json& expected = context.configuration.at("inputs").at("checkpoint");
  if (expected != state.identity) {
    throw DataError("the checkpoint " + input->second.string() + " belongs to stage " + state.identity +
                    ", not to " + expected.get<std::string>());
  }
  load_model(*task, /*exported=*/true, file.tensors);
  if (!file.tensors.empty()) {
    throw DataError("the checkpoint holds the tensor '" + file.tensors.begin()->first +
                    "', which the model lacks");
  }
  task->to(context.device);
  task->eval();
  return task;
}

void run(StageContext& context) {
  const Json& configured = context.configuration.at("dataset");
  const auto id = configured.at("id").get<std::string>();
  const Json& facts = dataset_item(id).item.json().at("facts");
  const auto dataset = open_dataset(id, configured.value("options", Json::object()),
                                    {context.execution.data_root, context.execution.work});
  const RandomStreams random(context.configuration.at("seed").get<std::uint64_t>());
  TrainingState state;
  std::shared_ptr<Task> task;
  const auto input = context.inputs.find("checkpoint");
  naming(input == context.inputs.end() ? std::filesystem::path() : input->second,
         [&] { task = load_task(context, facts, random, state); });
  const auto split_name = context.options.text("split");
  const ImageSplit& split = dataset->split(split_name);
  std::vector<std::int64_t> resolutions = context.options.integers("resolution");
  if (resolutions.empty()) resolutions = {facts.at("extent").at(0).get<std::int64_t>()};
  const auto steps = static_cast<std::int64_t>(resolutions.size()) * split.size();
  context.environment["path"] = context.execution.path;
  context.observer.started(context.environment, steps, 0);
  std::int64_t done = 0;
  for (const std::int64_t resolution : resolutions) {
    const auto accumulator = task->accumulator();
    const auto go_on = [&](std::int64_t images) {
      const Wish wish = context.observer.wish();
      if (wish == Wish::kCancel) context.outcome = Outcome::kCancelled;
      if (wish == Wish::kCheckpointAndStop)
        context.outcome = Outcome::kStopped;  // nothing worth keeping: it starts anew
      context.observer.progress(done + images, steps, "evaluate");
      return wish == Wish::kContinue;
    };
    const Moment moment{state.step, state.steps, false, random};
    if (!evaluate_range(*task, split, dataset->normalization(),
                        {resolution, context.options.text("interpolation")}, 0, split.size(), context.device,
                        moment, *accumulator, go_on)) {
      return;
    }
    done += split.size();
    for (const Score& score : accumulator->scores()) {
      context.results.push_back(
          {{score.metric, split_name, {{"resolution", resolution}}}, "last", score.value, state.step});
    }
  }
  context.observer.progress(done, steps, "evaluate");
  context.environment["path"] = task->path();
}

}  // namespace

StageItem evaluate() {
  Item item("stage", "evaluate", 1, "Scores a trained model on a split, at each of several resolutions");
  item.option(Option::list("resolution", "integer", Json::array(),
                           "image extents, height and width alike; empty for the "
                           "dataset's own")
                  .minimum(1)
                  .maximum(4096)
                  .unique()
                  .unit("pixels"));
  item.option(
      Option::text("split", "test", "which part of the data").choices({"train", "validation", "test"}));
  item.option(
      Option::text("interpolation", "bilinear", "how images are resized: half-pixel centers, no antialiasing")
          .choices({"bilinear", "bicubic"}));
  item.set("requires", Json::array({{{"rule", "divides"},
                                     {"of", "patch"},
                                     {"into", "resolution"},
                                     {"help", "patches tile the image"}}}));
  item.facts({{"inputs", {{{"slot", "checkpoint"}, {"from", "train"}, {"output", "checkpoint"}}}},
              {"outputs", Json::array()}});
  return {std::move(item), run};
}

}  // namespace locus::stages
