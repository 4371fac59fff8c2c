// Builds a task and fills it.
#include "engine/stages/trained_task.h"

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr const char* kLast = "last";
constexpr const char* kBest = "best";

std::shared_ptr<Task> filled(const StageContext& context, const Json& facts, const RandomStreams& random,
                             const Json& configuration, TrainingState& state) {
  const std::string slot = checkpoint_slot(context);
  const auto input = context.inputs.find(slot);
  if (input == context.inputs.end()) {
    throw DataError("stage " + context.configuration.at("kind").get<std::string>() + " needs the input '" + slot +
                    "', which was not given");
  }
  auto task = make_task({configuration, facts, random, context.execution.path});
  TensorFile file = read_safetensors(input->second);
  state = read_checkpoint_metadata(file, /*exported=*/true);
  const Json& expected = context.configuration.at("inputs").at(slot);
  if (expected != state.identity) {
    throw DataError("the checkpoint " + input->second.string() + " belongs to stage " + state.identity + ", not to " +
                    expected.get<std::string>());
  }
  load_model(*task, /*exported=*/true, file.tensors);
  if (!file.tensors.empty()) {
    throw DataError("the checkpoint holds the tensor '" + file.tensors.begin()->first + "', which the model lacks");
  }
  task->to(context.device);
  task->eval();
  return task;
}

}  // namespace

void add_checkpoint_option(Item& item) {
  item.option(Option::text("checkpoint", kLast, "which model of the training: the last, or the one that validated best")
                  .choices({kLast, kBest})
                  .neutral(kLast));
}

Json checkpoint_inputs() {
  const auto input = [](const char* slot, const char* when) {
    return Json{{"slot", slot},
                {"from", "train"},
                {"output", slot},
                {"when", {{"option", "checkpoint"}, {"values", Json::array({when})}}}};
  };
  return Json::array({input("checkpoint", kLast), input("best-checkpoint", kBest)});
}

std::string checkpoint_slot(const StageContext& context) {
  return context.options.text("checkpoint") == kBest ? "best-checkpoint" : "checkpoint";
}

std::shared_ptr<Task> trained_task(const StageContext& context, const Json& facts, const RandomStreams& random,
                                   const Json& configuration, TrainingState& state) {
  const auto input = context.inputs.find(checkpoint_slot(context));
  std::shared_ptr<Task> out;
  with_file_context(input == context.inputs.end() ? std::filesystem::path() : input->second,
                    [&] { out = filled(context, facts, random, configuration, state); });
  return out;
}

}  // namespace locus::engine
