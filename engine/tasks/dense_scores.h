// How maps are scored: classes of pixels by what was taken for what, depths image by image.
#pragma once

#include "engine/tasks/task.h"

namespace locus::engine {

// How often each class was taken for each: exact counts, on the device of what is added. Sums of parts are those of the
// whole, in any order. Not thread-safe.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int64_t classes);

  // `truth` uint8 and `said` int64, of one shape; pixels whose truth is kIgnored do not count. `said` may be `classes`: no class
  // at all, which is wrong of every pixel (a prediction that is no number).
  void add(const Tensor& truth, const Tensor& said);
  void merge(const ConfusionMatrix& other);

  // int64 [classes, classes + 1] on the CPU: truth, then what was said. Waits for the device.
  Tensor counts() const;
  // Of a matrix saved as counts(). Throws std::invalid_argument on another shape or type.
  void load(const Tensor& counts);

 private:
  std::int64_t classes_;
  Tensor sums_;  // int64 [classes (classes + 1) + 1], the last of pixels that do not count; undefined before the first
};

// In percent, of int64 counts [C, C + 1]; hit_c = M[c, c], t_c the sum of row c, p_c that of column c:
//   miou            mean of IoU_c = hit_c / (t_c + p_c - hit_c) over the classes where that is defined
//   mean-accuracy   mean of hit_c / t_c over the classes that occur
//   pixel-accuracy  sum of hit over sum of t
//   iou             of each class, labeled by its name
// What is undefined (a class that neither occurs nor is said, nothing labeled) is left out. One division each, in double.
std::vector<Score> segmentation_scores(const Tensor& counts, const std::vector<std::string>& names);

// Depths image by image, each pixel's prediction brought to the image's scale first:
//   least-squares   s p + b of fit_depth, in float64; the numbers without a label
//   median          p median(t) / median(p), where that is positive, else p; labeled {"alignment": "median"}
//   none            p; labeled {"alignment": "none"}
// then p' = max(s p + b, 1e-3), at most `most` where that is above 0. Pixels count whose depth is finite, above 1e-3 and at most
// `most`, and whose prediction is finite. abs-rel is 100 mean |p' - t| / t, a1 to a3 the percentage whose max(p' / t, t / p') is
// below 1.25, 1.25^2 and 1.25^3, rmse and l1 meters. Means over the images that have a pixel, added up in the order of the
// split, so that batches change no bit. Not thread-safe.
class DepthScores {
 public:
  explicit DepthScores(double most = 0) : most_(most) {}

  // prediction and depth [H, W] of one image.
  void add(const Tensor& prediction, const Tensor& depth);
  // Rows of images after those here.
  void merge(const DepthScores& other);
  // None where no image had a pixel. Waits for the device.
  std::vector<Score> scores() const;

  // float64 [images, 18] on the CPU, NaN for an image without pixels; and back. Throws std::invalid_argument on another shape.
  Tensor rows() const;
  void load(const Tensor& rows);

 private:
  double most_;
  std::vector<Tensor> rows_;
};

// What an image's prediction is compared as: s p + b by least squares, cut as above, [H, W] float64; pixels that do not count are
// NaN. For pictures.
Tensor aligned_depth(const Tensor& prediction, const Tensor& depth, double most);

}  // namespace locus::engine
