// A task: what is learned and how it is scored. It owns its modules; the training loop knows none of them.
#pragma once

#include "engine/backbones/backbone.h"
#include "engine/base/registry.h"
#include "engine/data/loader.h"

namespace locus::engine {

struct TaskContext {
  const Json& configuration;  // the stage configuration (docs/formats/catalog.md)
  const Json& dataset_facts;
  const RandomStreams& random;  // of the trial: initial weights
  std::string path = "auto";    // execution path of attention
};

struct StepLosses {
  Tensor loss;  // scalar to differentiate, everything included
  std::vector<std::pair<std::string, Tensor>>
      fields;  // detached scalars to log, "loss" first; the same names every step
};

struct Score {
  std::string metric;
  double value;
};

// Sums of one pass over a split, kept on the device: only scores() waits for it.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual std::vector<Score> scores() const = 0;
};

// Parameters are initialized from context.random by name, on the CPU; the caller moves the module. Not
// thread-safe.
class Task : public Module {
 public:
  // The forward pass alone: what the task says of images [B, C, H, W]. Call without gradients.
  virtual Tensor predict(const Tensor& images, const ForwardContext& context) = 0;
  // Operations of predict() for one image, by the structure: as Backbone::flops.
  virtual std::int64_t flops(std::int64_t height, std::int64_t width) const = 0;
  virtual StepLosses train_step(const Batch& batch, const ForwardContext& context) = 0;
  virtual std::unique_ptr<Accumulator> accumulator() const = 0;
  // Adds a batch's scores; `accumulator` must come from this task. Call without gradients.
  virtual void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) = 0;

  // By full parameter name.
  virtual Decay decay(std::string_view name, const Tensor& parameter) const = 0;
  virtual bool training_only(std::string_view name) const = 0;  // absent from the exported model
  virtual std::string path() const = 0;                         // attention's execution path, as taken
};

struct TaskItem {
  Item item;  // kind "task"; facts: metrics, default_metric
  std::shared_ptr<Task> (*make)(const TaskContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<TaskItem>& task_registry();  // first, every line of tasks.def
inline const std::deque<TaskItem>& task_items() { return task_registry().all(); }
inline const TaskItem& task_item(std::string_view id) { return task_registry().find(id); }

// Reads the configuration's "task". Throws std::invalid_argument naming what is wrong.
std::shared_ptr<Task> make_task(const TaskContext& context);

}  // namespace locus::engine
