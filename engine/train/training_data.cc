// Puts input, augmentation and batches together.
#include "engine/train/training_data.h"

#include "engine/augmentation/augmentation.h"
#include "engine/train/evaluation.h"
#include "engine/train/prepared_data.h"

namespace locus::engine {
namespace {

// What a training image of `extent` goes through.
Augmentation steps_of(const Json& configuration, const Input& input, std::int64_t channels, const Extent& extent) {
  auto augmented = make_augmentation(configuration, {.extent = extent,
                                                     .channels = channels,
                                                     .normalization = input.normalization(),
                                                     .interpolation = input.interpolation()});
  if (augmented) return *std::move(augmented);
  return {.transforms = input.preparation(extent), .normalizes = false};
}

std::shared_ptr<const Sampler> sampler_of(const std::string& dataset, const Source& split, const Task& task,
                                          const LoopSettings& settings, const RandomStreams& random) {
  std::shared_ptr<const Sampler> order = task.sampler(dataset, split.size(), settings.limit, random);
  if (settings.repeats <= 1) return order;
  if (!order) order = std::make_shared<TrainingOrder>(dataset, split.size(), settings.limit, random);
  return std::make_shared<RepeatedOrder>(std::move(order), settings.repeats);
}

}  // namespace

std::shared_ptr<Dataset> open_data(StageContext& context) {
  const Json& dataset = context.configuration.at("dataset");
  return prepared(
      open_dataset(dataset.at("id").get<std::string>(), dataset.value("options", Json::object()),
                   {context.execution.data_root, context.execution.data_cache(), context.execution.decoded_bytes}),
      context);
}

TrainingSet training_set(const Json& configuration, Dataset& dataset, const Input& input, const Task& task,
                         const LoopSettings& settings, const RandomStreams& random) {
  const auto id = configuration.at("dataset").at("id").get<std::string>();
  const auto channels = dataset_facts(configuration.at("dataset")).at("channels").get<std::int64_t>();
  const std::shared_ptr<const Source> split = dataset.split("train");
  const Augmentation usual = steps_of(configuration, input, channels, input.extent());
  TrainingSet out{.source = split,
                  .preparation = {.normalization = usual.normalizes ? Normalization{} : input.normalization(),
                                  .transforms = usual.transforms,
                                  .collate = task.collate()},
                  .dataset = id,
                  .batch = settings.batch,
                  .limit = settings.limit,
                  .sampler = sampler_of(id, *split, task, settings, random),
                  .rule = {.keep_last = settings.keep_last, .sizes = input.sizes(), .size = input.extent()[0]}};
  for (const std::int64_t side : out.rule.sizes)
    out.by_size.push_back(steps_of(configuration, input, channels, {side, side}).transforms);
  return out;
}

EvaluationSet scored_set(std::shared_ptr<const Source> split, const Input& input, const ViewRequest& request,
                         const Task& task, const Execution& execution) {
  InputView view = input.view(request);
  return {.source = std::move(split),
          .normalization = input.normalization(),
          .view = std::move(view.view),
          .collate = task.collate(),
          .decoding = decoding_of(execution),
          .transforms = std::move(view.transforms)};
}

}  // namespace locus::engine
