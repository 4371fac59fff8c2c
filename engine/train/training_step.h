// One step of training: gradients, what hooks do to them, and the update.
#pragma once

#include "engine/train/backward.h"
#include "engine/train/hook.h"
#include "engine/train/step_recorder.h"

namespace locus::engine {

// Refers to what it is made of, which must outlive it. Not thread-safe.
class TrainingStep {
 public:
  TrainingStep(Task& task, BackwardPass& backward, Optimizer& optimizer, const TrainingHooks& hooks)
      : task_(task), backward_(backward), optimizer_(optimizer), hooks_(hooks) {}

  // From now on steps are recorded and replayed where they can be (StepRecorder). Not where losses are scaled or several
  // processes add gradients: the host waits for both.
  void replay_by(MakeDeviceGraph graphs, StepRecorder::Tell tell);

  // Of a batch that is on the device, at `rate`. Skips the update where the gradients of a scaled loss are not finite. The
  // row is good until the next call. Does not wait for the device, but where losses are scaled.
  StepRow run(const Batch& batch, const ForwardContext& forward, double rate);

 private:
  StepRow make(const Batch& batch, const ForwardContext& forward, std::optional<double> rate);
  std::vector<double> settings() const;

  Task& task_;
  BackwardPass& backward_;
  Optimizer& optimizer_;
  const TrainingHooks& hooks_;
  std::unique_ptr<StepRecorder> recorder_;  // null: each step is made
  std::vector<double> settings_;            // of the groups, as recorded
};

}  // namespace locus::engine
