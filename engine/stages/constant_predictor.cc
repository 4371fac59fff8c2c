// Counts of classes, medians of depths.
#include "engine/stages/constant_predictor.h"

#include <cmath>
#include <limits>

namespace locus::engine {
namespace {

constexpr std::int64_t kMaskValues = 256;

void refuse_without_map(const Batch& batch) {
  if (batch.contains(kMask) || batch.contains(kDepth)) return;
  throw std::invalid_argument("a constant is compared with masks and depths, and the batch has neither");
}

}  // namespace

void ConstantPredictor::learn(const Batch& batch) {
  refuse_without_map(batch);
  if (batch.contains(kMask)) {
    const Tensor counts = at::bincount(batch.at(kMask).flatten().to(at::kLong), {}, kMaskValues);
    counts_ = counts_.defined() ? counts_ + counts : counts;
    return;
  }
  for (const Tensor& depth : batch.at(kDepth).to(at::kDouble).unbind(0)) {
    const Tensor unknown = depth.isfinite().logical_and(depth.gt(0)).logical_not();
    medians_.push_back(depth.masked_fill(unknown, std::numeric_limits<double>::quiet_NaN()).nanmedian());
  }
}

void ConstantPredictor::add(const Batch& batch) {
  refuse_without_map(batch);
  if (batch.contains(kMask)) {
    const Tensor& mask = batch.at(kMask);
    matrix_.add(mask, at::full_like(mask, frequent_class(), mask.options().dtype(at::kLong)));
    return;
  }
  for (const Tensor& depth : batch.at(kDepth).unbind(0)) depths_.add(at::full_like(depth, usual_depth()), depth);
}

std::vector<Score> ConstantPredictor::scores() const {
  std::vector<Score> out;
  for (const Score& score : segmentation_scores(matrix_.counts(), {})) {
    if (score.labels.empty()) out.push_back(score);
  }
  for (const Score& score : depths_.scores()) out.push_back(score);
  return out;
}

std::int64_t ConstantPredictor::frequent_class() {
  if (class_ >= 0) return class_;
  if (!counts_.defined()) throw std::logic_error("a constant predictor scores masks and has learned from none");
  class_ = counts_.slice(0, 0, kIgnored).argmax().item<std::int64_t>();
  return class_;
}

double ConstantPredictor::usual_depth() {
  if (depth_ >= 0) return depth_;
  if (medians_.empty()) throw std::logic_error("a constant predictor scores depths and has learned from none");
  depth_ = at::stack(medians_).nanmedian().item<double>();
  if (std::isnan(depth_)) depth_ = 1;  // nothing was known of any image
  return depth_;
}

}  // namespace locus::engine
