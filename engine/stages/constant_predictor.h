// What one answer for every pixel scores, learned of the targets alone: what every trained model must beat.
#pragma once

#include "engine/tasks/dense_scores.h"

namespace locus::engine {

// The most frequent class of the pixels it learned from; of depths, the median over the images of their medians. Not thread-safe.
class ConstantPredictor {
 public:
  // `classes`: of masks. `max_depth`: as the task depth has it, 0 for none.
  ConstantPredictor(std::int64_t classes, double max_depth) : matrix_(classes), depths_(max_depth) {}

  // Of a batch with masks or depths. All learning comes before add(). Throws std::invalid_argument where the batch has neither.
  void learn(const Batch& batch);
  void add(const Batch& batch);
  // As the tasks name them, for all of the split: depths with their other alignments, single classes left out. Empty where no
  // target was known. Waits for the device.
  std::vector<Score> scores() const;

 private:
  std::int64_t frequent_class();
  double usual_depth();

  Tensor counts_;                // int64 [256], by the number in the mask; undefined before the first
  std::vector<Tensor> medians_;  // float64 [] each, of images with a known pixel; NaN of others
  std::int64_t class_ = -1;
  double depth_ = -1;
  ConfusionMatrix matrix_;
  DepthScores depths_;
};

}  // namespace locus::engine
