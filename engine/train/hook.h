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
  // Whether before_step() leaves batches alone, whose images may then be bytes (kByteValues). No by default.
  virtual bool leaves_batches() const { return false; }
  // The gradients are there. On a GPU it may be recorded, so it does the same each step, for what the view says.
  virtual void before_update(const StepView& step);
  virtual void after_step(const StepView& step);  // the weights have changed

  // Exchanges the task's weights with those the hook wants scored and exported, where it has others. Called before
  // and again after every validation and export, so that two calls leave everything as it was, to the bit.
  virtual void exchange_weights(Task& task);
  // Between these two calls: exchanges the weights that are scored with others that the hook keeps beside them, and says
  // which they are, "raw" or "ema". Empty: it keeps none, and nothing changed. A second call takes it back, to the bit.
  virtual std::string exchange_others(Task& task);

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

// How gradients are limited: by the joint norm of all, tensor by tensor, or unit by unit as a share of the weights
// (clipping.h).
enum class ClipRule { kJoint, kTensor, kUnit };
// By its name, "joint", "tensor" or "unit". Throws std::invalid_argument on another.
ClipRule clip_rule_of(std::string_view name);

// Limits the gradients of everything that learns.
class ClipGradients final : public TrainingHook {
 public:
  ClipGradients(const Task& task, ClipRule rule, double limit);
  void before_update(const StepView& step) override;
  bool leaves_batches() const override { return true; }

 private:
  std::vector<Tensor> parameters_;  // in the task's order, by which sums are taken
  ClipRule rule_;
  double limit_;
};

struct AveragingSettings {
  double decay = 0.9999;
  // timm's ModelEmaV3: e += (1 - d) (x - e), where d is 0 in update 1 and those up to `after`; otherwise, as in ModelEma
  // and ModelEmaV2, e = d e + (1 - d) x.
  bool third = false;
  std::int64_t after = 0;  // updates that only copy the weights; of the third form alone
  bool warmup = false;  // d grows, 1 - (1 + s)^(-2/3), s = update - after - 1, up to the decay; of the third form alone
  bool reported = true;  // the average is what is scored and exported
  // Of update number `update`, counted from 1.
  double decay_at(std::int64_t update) const;
};

// One step of an average, in place: floating tensors of `averages` follow those of `weights`, others are copied. The two
// are parallel. No host synchronization.
void follow(const std::vector<Tensor>& averages, const std::vector<Tensor>& weights, const AveragingSettings& settings,
            std::int64_t update);

// An exponential moving average of every parameter and buffer after every step, from a copy of the initial weights
// (Polyak and Juditsky 1992; timm's ModelEma, ModelEmaV2 and ModelEmaV3).
class AverageWeights final : public TrainingHook {
 public:
  // The task must be initialized; the averages are made on its device.
  AverageWeights(const Task& task, AveragingSettings settings);
  // With the first form and this decay.
  AverageWeights(const Task& task, double decay) : AverageWeights(task, AveragingSettings{.decay = decay}) {}
  void after_step(const StepView& step) override;
  bool leaves_batches() const override { return true; }
  void exchange_weights(Task& task) override;
  std::string exchange_others(Task& task) override;
  void save(std::map<std::string, Tensor>& tensors) const override;
  void load(std::map<std::string, Tensor>& tensors) override;

 private:
  void exchange(Task& task);

  std::map<std::string, Tensor> averages_;  // by full name
  AveragingSettings settings_;
};

}  // namespace locus::engine
