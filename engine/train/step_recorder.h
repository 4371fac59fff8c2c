// Steps that only their inputs tell apart: recorded once on the device, and then done again by one call each.
#pragma once

#include "engine/kernels/device_graph.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// What is kept of a step for its curves, on the device.
struct StepRow {
  std::vector<std::string> fields;
  Tensor values;  // float [fields + 1]: each field's, and the whole loss last
};

// The first steps of a shape are made one by one, as on a CPU. Then one is made both ways from the same state: as before, and
// recorded and played. Only where the two agree, and nothing of the step depends on its number but by draws of
// RandomStreams::uniform, are the steps that follow played, with new inputs and draws in the places of those recorded.
// Otherwise they are made one by one for ever, and `tell` hears why. Memory: a recording keeps what a step takes at most.
// Not thread-safe.
class StepRecorder {
 public:
  struct Step {
    // Makes a step of the batch, on the device. It must do the same whenever it is called, but for what the two say.
    std::function<StepRow(const Batch& batch, const ForwardContext& forward)> make;
    std::function<void()> drop;    // what one that broke off has left
    std::function<void()> played;  // tells whoever keeps values derived from the weights that they changed
    // What it changes and later ones read, in place. `sums` are smooth in gradients and samples, as moments are; weights need
    // not be: where a gradient is zero but for rounding, an optimizer makes steps of it.
    std::vector<Tensor> weights, sums;
  };
  using Tell = std::function<void(const std::string& line)>;  // for people

  StepRecorder(MakeDeviceGraph graphs, Step step, Tell tell);

  // The row is good until the next call. Throws what the step throws.
  StepRow run(const Batch& batch, const ForwardContext& forward);
  // Whatever was recorded holds no longer, as a number that it was made with has changed.
  void forget() { recordings_.clear(); }

 private:
  struct Draw {
    std::string purpose, name;
    Tensor place;  // where the recording reads it
  };
  struct Recording {
    std::unique_ptr<DeviceGraph> graph;  // null: none yet
    Batch inputs;
    std::vector<Draw> draws;
    StepRow row;
    std::int64_t seen = 0, next_try = 4;  // steps of the shape made one by one
  };

  StepRow play(Recording& of, const Batch& batch, const ForwardContext& forward) const;
  StepRow make_both_ways(Recording& to, const Batch& batch, const ForwardContext& forward);
  void record(Recording& to, const ForwardContext& forward) const;
  std::string difference(const StepRow& made, const StepRow& played, const std::vector<Tensor>& before,
                         const std::vector<Tensor>& after) const;
  std::vector<Tensor> state() const;
  void refuse(const std::string& why);

  MakeDeviceGraph graphs_;
  Step step_;
  Tell tell_;
  bool refused_ = false;
  std::map<std::string, Recording> recordings_;  // by shape
};

}  // namespace locus::engine
