// A copy of a model's weights as they were at some step, which checkpoints can carry.
#pragma once

#include <set>

#include "engine/files/safetensors.h"
#include "engine/train/checkpoint.h"

namespace locus::engine {

// On the CPU and without what only training needs, as an exported model. A value: sharing it shares the tensors,
// which nobody changes.
struct ModelCopy {
  std::int64_t step = 0;
  std::string place;  // the exported model's metadata
  std::map<std::string, Tensor> weights;
  std::set<std::string> constant = {};  // of these, those that no step of the training changes

  TensorFile exported() const;  // as a training's last model is
  // The weights that change as tensors `prefix` + name, into a checkpoint and out of it. take() wants a copy of the same
  // model, whose weights it replaces, and throws DataError on a tensor that is missing or misshapen.
  void put(const std::string& prefix, TensorFile& checkpoint) const;
  void take(const std::string& prefix, TensorFile& checkpoint);
};

ModelCopy copy_model(const Task& task, const TrainingState& state);

}  // namespace locus::engine
