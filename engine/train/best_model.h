// The model that validated best so far: what the option `keep_best` of the stage "train" asks for.
#pragma once

#include <optional>

#include "engine/train/model_copy.h"

namespace locus::engine {

// Belongs to one training run, whose checkpoints carry it: a run that goes on elsewhere ends with the same best
// model. Not thread-safe.
class BestModel {
 public:
  // By a metric of the task's catalog item, in its direction; an empty name keeps nothing. Throws
  // std::invalid_argument for a metric the task does not declare.
  BestModel(std::string metric, const Json& task_item);

  bool wanted() const { return !metric_.empty(); }
  bool found() const { return value_.has_value(); }
  const std::string& metric() const { return metric_; }
  std::int64_t step() const { return model_.step; }

  // Keeps the task as it stands when the scores beat every one before; true then. Of equal ones the first
  // stays; what is no finite number never counts. `scores` must always be of the same images.
  bool offer(const std::vector<Score>& scores, const Task& task, const TrainingState& state);

  // Into a checkpoint of `step`, and out of one that stands at `state`. Weights that are the checkpoint's own are
  // not written twice: load() takes them from `task`, which the checkpoint has filled. Throws DataError on what
  // cannot be read.
  void save(std::int64_t step, TensorFile& checkpoint) const;
  void load(const Task& task, const TrainingState& state, TensorFile& checkpoint);

  TensorFile exported() const { return model_.exported(); }  // found() must hold

 private:
  std::string metric_;
  bool maximize_ = true;
  std::optional<double> value_;
  ModelCopy model_;
};

}  // namespace locus::engine
