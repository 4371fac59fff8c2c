// Models kept on the way: what the option `snapshots` of a recipe asks for.
#pragma once

#include <vector>

#include "engine/train/model_copy.h"

namespace locus::engine {

// The steps after which `count` models are kept of a training of `steps`: they divide it into equal parts,
// i * steps / (count + 1) rounded down. The initialization and the end are none of them; fewer where there are
// not that many steps between.
std::vector<std::int64_t> snapshot_steps(std::int64_t count, std::int64_t steps);

// Holds the copies in memory until the end. Belongs to one training run, whose checkpoints carry them: a run that
// goes on elsewhere ends with the same ones. Not thread-safe.
class Snapshots {
 public:
  Snapshots(std::int64_t count, std::int64_t steps) : steps_(snapshot_steps(count, steps)) {}

  bool due(std::int64_t step) const;  // to be kept after this step
  void keep(const Task& task, const TrainingState& state);

  // Into a checkpoint, and out of one that stands at `state`, for the model of `task`. Throws DataError where one of
  // an earlier step is missing.
  void save(TensorFile& checkpoint) const;
  void load(const Task& task, const TrainingState& state, TensorFile& checkpoint);

  const std::vector<ModelCopy>& kept() const { return kept_; }  // by step

 private:
  std::vector<std::int64_t> steps_;
  std::vector<ModelCopy> kept_;
};

}  // namespace locus::engine
