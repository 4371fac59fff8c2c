// Classification by the nearest neighbors of features.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Looks for the nearest references of every query, of which it holds no more than asked for, so that memory does not grow
// with the references. Nearness is the product of features divided by their length (or 1e-12, where that is more). Of
// equally near references the one that came first is nearer. Not thread-safe.
class Neighbors {
 public:
  // For queries [Q, D], floating, on any device; up to `most` neighbors are kept of each.
  Neighbors(const Tensor& queries, std::int64_t most);

  // References [R, D] of the queries' type, on their device, with labels int64 [R] there. Throws std::invalid_argument on
  // features that are no finite numbers.
  void add(const Tensor& features, const Tensor& labels);
  std::int64_t references() const { return references_; }

  // The vote of each class, float64 [Q, classes], by the k nearest: the sum of exp(product / temperature) over those of
  // that class (Wu et al. 2018, arXiv:1805.01978, section 3.4; the evaluation of DINO, Caron et al. 2021). Throws
  // std::invalid_argument on more neighbors than there are or are kept. Q x classes numbers.
  Tensor votes(std::int64_t k, double temperature, std::int64_t classes);

  struct Right {
    std::int64_t k = 0, top1 = 0, top5 = 0;  // queries whose label has the largest vote, one of the min(5, k) largest
  };
  // Of every k, for queries with labels int64 [Q] on their device. Of equal votes that for the lower class counts as the
  // larger.
  std::vector<Right> right(const std::vector<std::int64_t>& k, double temperature, std::int64_t classes,
                           const Tensor& labels);

 private:
  void flush();
  void check(std::int64_t k) const;
  // Votes of the queries [first, end), those of earlier neighbors first, told after each neighbor of `k`, ascending.
  void count(std::int64_t first, std::int64_t end, const std::vector<std::int64_t>& k, double temperature,
             std::int64_t classes, const std::function<void(std::int64_t k, const Tensor& votes)>& told) const;

  std::int64_t most_, references_ = 0, waiting_ = 0;
  Tensor queries_;                         // of length 1
  Tensor nearest_, kind_;                  // [Q, up to most]: products, the largest first, and labels
  std::vector<Tensor> features_, labels_;  // added and not yet looked at
};

}  // namespace locus::engine
