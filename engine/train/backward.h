// The gradients of one training step: in the recipe's precision, and in parts where a whole batch would not fit.
#pragma once

#include "engine/base/precision.h"
#include "engine/distributed/reducer.h"
#include "engine/tasks/task.h"
#include "engine/train/loss_scaler.h"
#include "engine/train/optimizer.h"

namespace locus::engine {

// `parts` parts of a batch, one after another in its order and as equal as can be. Throws std::invalid_argument where
// there are fewer samples than parts, and where a tensor does not have one row for each sample.
std::vector<Batch> parts_of(const Batch& batch, std::int64_t parts);

// Belongs to one training run. Not thread-safe.
class BackwardPass {
 public:
  // float16 brings a loss scaler. `parts`: forward and backward passes a step, whose gradients are added.
  BackwardPass(Precision precision, std::int64_t parts, at::Device device);

  // From now on run() is given equal parts of batches, one by each process of the reducer's gang, and leaves the gradients of
  // the whole; the losses it returns stay those of its part. The reducer, of the task's parameters, must outlive this.
  void reduce_by(GradientReducer& reducer) { reducer_ = &reducer; }

  // Leaves in the task's parameters the gradients of the mean loss over the batch, times the scale where losses are
  // scaled. What is returned is detached.
  StepLosses run(Task& task, const Batch& batch, const ForwardContext& context) const;
  // Takes the scale out of the gradients. False where some are not finite: then the step must be skipped. Waits for the
  // device where losses are scaled, and only then.
  bool unscale(const std::vector<ParameterGroup>& groups);

  // Whether run() or unscale() wait for the device or for others, so that a step cannot be recorded.
  bool waits() const { return scaler_.has_value() || reducer_ != nullptr; }

  // The scaler's state, if there is one, into a checkpoint and out of one (LossScaler::load).
  void save(std::map<std::string, Tensor>& tensors) const;
  void load(std::map<std::string, Tensor>& tensors);

 private:
  StepLosses run_part(Task& task, const Batch& batch, const ForwardContext& context, double share, bool last) const;
  StepLosses run_parts(Task& task, const Batch& batch, const ForwardContext& context) const;

  Precision precision_;
  std::int64_t parts_;
  at::Device device_;
  std::optional<LossScaler> scaler_;
  GradientReducer* reducer_ = nullptr;  // null: it has whole batches
};

}  // namespace locus::engine
