// Norms: of tokens over their channels, and of images over a batch.
#pragma once

#include "engine/base/peers.h"
#include "engine/layers/initializer.h"
#include "engine/layers/module.h"

namespace locus::engine {

// Layer norm over the last axis. Not thread-safe.
class Norm : public Module, public SelfStarting {
 public:
  // `affine`: with a learned factor and summand for each channel.
  explicit Norm(std::int64_t width, double eps = 1e-6, bool affine = true);
  Tensor forward(const Tensor& x) const;
  void start(const Initializer& own) override;  // 1 and 0
  double eps() const { return eps_; }

  Tensor weight, bias;  // [width]; undefined where it is not affine

 private:
  std::int64_t width_;
  double eps_;
};

// Group norm of images [B, C, rows, columns] (Wu and He 2018, arXiv:1803.08494), eps 1e-5, in `groups` groups or, where these
// do not divide the channels, in the most below that do. Not thread-safe.
class GroupNorm final : public Module, public SelfStarting {
 public:
  explicit GroupNorm(std::int64_t channels, std::int64_t groups = 32);
  Tensor forward(const Tensor& x) const;
  void start(const Initializer& own) override;  // 1 and 0

 private:
  std::int64_t groups_;
  Tensor weight_, bias_;  // [C]: "weight", "bias"
};

// Batch norm of images [B, C, rows, columns] (Ioffe and Szegedy 2015, arXiv:1502.03167), eps 1e-5. Training normalizes by
// the batch, with its biased variance, and moves the running statistics a tenth of the way, to the unbiased one; otherwise
// these normalize. Not thread-safe.
class BatchNorm final : public Module, public SelfStarting {
 public:
  explicit BatchNorm(std::int64_t channels);
  Tensor forward(const Tensor& x, bool training);
  void start(const Initializer& own) override;  // 1 and 0; the running mean 0 and variance 1

  // From now on forward() in training is given this process's part of each batch, of any size, and normalizes by the statistics
  // of the whole; gradients are those of the sum of all processes' losses. Every process must call forward() and backward alike.
  // `peers` must outlive all graphs; null: back to whole batches.
  void share(Peers* peers) { peers_ = peers; }

 private:
  Tensor normalized_over_all(const Tensor& x);

  Peers* peers_ = nullptr;
  Tensor weight_, bias_, mean_, variance_;  // [C]: "weight", "bias", "running_mean", "running_var"
};

}  // namespace locus::engine
