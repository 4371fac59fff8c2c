// A task: what is learned and how it is scored. It owns its modules, of which there may be several models, its losses
// and its way to score; the training loop knows none of them.
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

// Scalars to log, detached.
using LossFields = std::vector<std::pair<std::string, Tensor>>;

// The losses of one step.
struct StepLosses {
  Tensor loss;        // scalar to differentiate: their sum
  LossFields fields;  // "loss" first; the same names every step

  // Adds a loss, its weight included, and what to log of it.
  void add(const Tensor& value, const LossFields& more);
};

struct Score {
  std::string metric;
  double value;
  Json labels = Json::object();  // of a part of what the metric says, as one class: text and numbers by name
};

// How evaluate() looks at images beyond one look at the whole of each.
struct Views {
  std::vector<double> scales = {1};  // of the sides of images
  bool mirrored = false;             // left and right exchanged as well
  std::int64_t window = 0;           // side of the windows that are looked at in their turn; 0: the whole image
  std::int64_t stride = 0;           // from one to the next; 0: as far as `window`
  bool operator==(const Views&) const = default;
};

// Sums of one pass over a split, kept on the device: only scores() waits for it.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual std::vector<Score> scores() const = 0;
};

// Parameters are initialized from context.random by name, on the CPU; the caller moves the module. What shall not
// learn (a teacher's weights) does not require gradients. Not thread-safe.
class Task : public Module {
 public:
  // A made-up batch of images of `extent`, with everything train_step() reads, on the CPU: what the
  // task's cost is measured with. Drawn from `random` by name.
  virtual Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const = 0;
  // Which samples an epoch shows, of a split of `size` samples or `limit` of them (TrainingOrder); null, the default: each
  // once, shuffled.
  virtual std::shared_ptr<const Sampler> sampler(std::string_view dataset, std::int64_t size, std::int64_t limit,
                                                 const RandomStreams& random) const;
  // Classes that the batch's "label" counts, where a batch may bring "target" float [B, classes] in its place; 0, the
  // default: the task learns from no such thing.
  virtual std::int64_t classes() const;
  // Whether a batch's "image" may be bytes beside "values" (kByteValues) where it is to be float32; no by default.
  virtual bool takes_bytes() const;
  // How samples of a dataset become a batch: stacked by default, which the empty function says. What it returns may
  // outlive the task.
  virtual Collate collate() const;
  // The forward pass alone: what the task says of a batch's inputs. Call without gradients.
  virtual Tensor predict(const Batch& batch, const ForwardContext& context) = 0;
  // [B, D]: what is read of each image of a batch, as neighbors of images are looked for by. Call without gradients.
  // Throws std::invalid_argument where the task has no such thing, by default.
  virtual Tensor features(const Batch& batch, const ForwardContext& context);
  // Operations of predict() for one image, by the structure: as Backbone::flops.
  virtual std::int64_t flops(std::int64_t height, std::int64_t width) const = 0;
  virtual StepLosses train_step(const Batch& batch, const ForwardContext& context) = 0;
  // After the optimizer's step: where a model follows another one. Call without gradients. Nothing by default.
  virtual void after_step(const ForwardContext& context);
  virtual std::unique_ptr<Accumulator> accumulator() const = 0;
  // Adds a batch's scores; `accumulator` must come from this task. Call without gradients.
  virtual void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) = 0;
  // What evaluate() and answer() do from now on. Throws std::invalid_argument where the task knows one way alone, by default,
  // and another one is asked for.
  virtual void look(const Views& views);
  // What the task says of a batch's images in the form of its target: classes uint8 or depths float [B, H, W] where that lies.
  // Call without gradients. Throws std::invalid_argument where it makes no maps, by default.
  virtual Tensor answer(const Batch& batch, const ForwardContext& context);

  // By full parameter name.
  virtual Decay decay(std::string_view name, const Tensor& parameter) const = 0;
  virtual bool training_only(std::string_view name) const = 0;  // absent from the exported model; buffers, too
  virtual std::string path() const = 0;                         // attention's execution path, as taken

  // Takes those parameters that learn and that `which` names out of what learns, for good: neither gradients nor the
  // task change them, so they stay as make_task(), and whatever gave the network its first weights, left them.
  // Checkpoints of a training do without them.
  void hold(const std::function<bool(const std::string& name)>& which);
  bool holds(std::string_view name) const { return held_.contains(name); }
  bool holds_any() const { return !held_.empty(); }

 private:
  std::set<std::string, std::less<>> held_;
};

struct TaskItem {
  Item item;  // kind "task"; facts: metrics, default_metric
  std::shared_ptr<Task> (*make)(const TaskContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<TaskItem>& task_registry();  // first, every line of tasks.def
inline const std::deque<TaskItem>& task_items() { return task_registry().all(); }
inline const TaskItem& task_item(std::string_view id) { return task_registry().find(id); }

// Reads the configuration's "task" and, for its networks, "model", "priors" and "adapter". Adapters are started and their
// base is held (engine/tasks/tuning.h). Throws std::invalid_argument naming what is wrong.
std::shared_ptr<Task> make_task(const TaskContext& context);

}  // namespace locus::engine
