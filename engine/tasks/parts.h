// What tasks say of work that several devices divide: of a batch that is learned from, of a split that is scored.
#pragma once

#include "engine/base/peers.h"

namespace locus::engine {

// A task that may be trained on several devices at once. One that is not this trains on one alone.
class DividesBatches {
 public:
  virtual ~DividesBatches() = default;
  // Why the losses of equal parts of a batch are not on average that of the whole, as a sentence; empty, the default: they
  // are, up to rounding.
  virtual std::string undivided() const { return ""; }
};

// Scores (Accumulator) that are made of sums over samples, so that several devices may score a part of a split each. Where a
// task's are not this, each device scores the whole.
class SummedScores {
 public:
  virtual ~SummedScores() = default;
  // All sums so far, float64 in one row on the CPU; of the same length whatever was added. Waits for the device.
  virtual Tensor totals() const = 0;
  // Replaces them by such ones.
  virtual void load_totals(const Tensor& totals) = 0;
};

class Task;
// Why the gradients of equal parts of a batch are not on average those of the whole, as a sentence; empty where they are, up to
// rounding, once the parts share what is of the whole batch. `configuration`: the stage's, which `task` was made of;
// `accumulate`: passes that each part is computed in.
std::string undivided(const Task& task, const Json& configuration, std::int64_t accumulate = 1);
// From now on the model's batch norms normalize by the statistics of whole batches, of which each of the peers has a part
// (BatchNorm::share). `peers` must outlive the training.
void share_statistics(const Task& task, Peers& peers);

}  // namespace locus::engine
