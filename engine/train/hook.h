// What a recipe does beside the plain step: clipping, averages of the weights, mixing of batches.
#pragma once

#include "engine/tasks/task.h"
#include "engine/train/optimizer.h"

namespace locus::engine {

// One optimizer step, as a hook sees it. `forward.step` counts the steps before this one.
struct StepView {
  const ForwardContext& forward;
  Task& task;
  Optimizer& optimizer;
};

// Called by the training loop, in the order in which the recipe lists its hooks. A hook must not synchronize with
// the host, and whatever it draws comes from forward.random by name. Not thread-safe.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;

  virtual void before_step(Batch& batch, const StepView& step);  // may change the batch
  virtual void before_update(const StepView& step);              // the gradients are there
  virtual void after_step(const StepView& step);                 // the weights have changed

  // Exchanges the task's weights with those the hook wants scored and exported, where it has others. Called before
  // and again after every validation and export, so that two calls leave everything as it was, to the bit.
  virtual void exchange_weights(Task& task);

  // What the next step depends on, as "hook.<name>", into a checkpoint and out of it. load() takes what it uses out
  // of `tensors` and throws DataError on what is missing or misshapen.
  virtual void save(std::map<std::string, Tensor>& tensors) const;
  virtual void load(std::map<std::string, Tensor>& tensors);
};

using TrainingHooks = std::vector<std::unique_ptr<TrainingHook>>;

// While it lives the task has the weights that its hooks want scored and exported.
class ReportedWeights {
 public:
  ReportedWeights(const TrainingHooks& hooks, Task& task);
  ~ReportedWeights();
  ReportedWeights(const ReportedWeights&) = delete;
  ReportedWeights& operator=(const ReportedWeights&) = delete;

 private:
  const TrainingHooks& hooks_;
  Task& task_;
};

// Limits the joint norm of the gradients of everything that learns.
class ClipJointNorm final : public TrainingHook {
 public:
  ClipJointNorm(const Task& task, double norm);
  void before_update(const StepView& step) override;

 private:
  std::vector<Tensor> parameters_;  // in the task's order, by which the sum is taken
  double norm_;
};

// An exponential moving average of every parameter and floating buffer, e = d e + (1 - d) x after every step, from a
// copy of the initial weights; other buffers are copied. The average is what is scored and exported
// (Polyak and Juditsky 1992; timm's ModelEma).
class AverageWeights final : public TrainingHook {
 public:
  // The task must be initialized; the averages are made on its device.
  AverageWeights(const Task& task, double decay);
  void after_step(const StepView& step) override;
  void exchange_weights(Task& task) override;
  void save(std::map<std::string, Tensor>& tensors) const override;
  void load(std::map<std::string, Tensor>& tensors) override;

 private:
  std::map<std::string, Tensor> averages_;  // by full name
  double decay_;
};

}  // namespace locus::engine
