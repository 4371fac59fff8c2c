// Which samples an epoch shows, in which order, and how they are cut into batches: functions of the seed alone.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/torch.h"

namespace locus::engine {

// Where training stands in its data: saved in checkpoints and sufficient to go on.
struct SamplerPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // within the epoch
};

// Which samples an epoch shows, and in which order: a function of the seed and the epoch alone, so trials that differ in
// the model see the same samples in the same order. Immutable; thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::int64_t samples() const = 0;           // of every epoch, those shown again included
  virtual Tensor rows(std::int64_t epoch) const = 0;  // int64 [samples], rows of the split
  // int64 [samples]: what the draws of each are named by (StreamDraws). The rows, where an epoch shows each once.
  virtual Tensor visits(std::int64_t epoch) const { return rows(epoch); }
};

// Every sample once an epoch, shuffled anew for each.
class TrainingOrder final : public Sampler {
 public:
  // Of a split of `size` samples, `limit` of them where that is above 0 and less: the first of one fixed permutation of
  // the split, the same for every seed.
  TrainingOrder(std::string_view dataset, std::int64_t size, std::int64_t limit, const RandomStreams& random);

  std::int64_t samples() const override { return kept_.size(0); }
  Tensor rows(std::int64_t epoch) const override;

 private:
  RandomStreams random_;
  Tensor kept_;
};

// Repeated augmentation (Hoffer et al. 2020, arXiv:1901.09335) as DeiT's sampler has it: every sample of `order`
// `repeats` times, the copies adjacent, and of that list the first floor(N / 256) 256 for N samples, so that an epoch is as
// long as without repeats and shows one in `repeats` of the samples. Fewer than 256 samples: the first N.
// Copy r of a row visits as row `repeats` + r.
class RepeatedOrder final : public Sampler {
 public:
  // Throws std::invalid_argument unless repeats is positive.
  RepeatedOrder(std::shared_ptr<const Sampler> order, std::int64_t repeats);

  std::int64_t samples() const override;
  Tensor rows(std::int64_t epoch) const override;
  Tensor visits(std::int64_t epoch) const override;

 private:
  std::shared_ptr<const Sampler> order_;
  std::int64_t repeats_;
};

// How an epoch is cut into batches.
struct BatchRule {
  bool keep_last = false;  // the last, incomplete batch of an epoch is one, too; otherwise it is left out
  // Sides of the images, one drawn for each batch; none: all are alike. A batch of images of side s has
  // trunc(batch size^2 / s^2) samples, at least one (the multi-resolution batches of ASG).
  std::vector<std::int64_t> sizes = {};
  std::int64_t size = 0;  // the side that `batch` is meant for
};

// One batch: samples [first, first + count) of its epoch, of sizes[size].
struct BatchPlace {
  std::int64_t first = 0, count = 0;
  std::size_t size = 0;
  bool operator==(const BatchPlace&) const = default;
};

// The batches of every epoch. A size is drawn by purpose `resolution`, name `size`, index the step counted over the
// training, uniform over the sizes. An epoch too short for its only batch is one batch of all its samples. Not
// thread-safe: it remembers what it has listed; copies are independent.
class BatchCuts {
 public:
  // Of epochs of `samples` samples, `batch` of them a step. Throws std::invalid_argument on sizes that are not positive.
  BatchCuts(std::int64_t samples, std::int64_t batch, BatchRule rule, const RandomStreams& random);

  // Batches an epoch, what schedules and intervals go by: the number itself, or where sizes are drawn
  // ceil(samples / mean batch).
  std::int64_t typical() const;
  std::int64_t count(std::int64_t epoch);                 // batches of this epoch
  BatchPlace at(SamplerPosition position);                // of a batch that is there
  std::int64_t steps(std::int64_t epochs);                // batches of the first `epochs` epochs
  std::int64_t samples_before(SamplerPosition position);  // shown before it since the start of training

 private:
  struct Start {
    std::int64_t step = 0, samples = 0;
  };
  std::int64_t batch_of(std::size_t size) const;
  std::vector<BatchPlace> drawn(std::int64_t first_step) const;
  Start start(std::int64_t epoch);
  const std::vector<BatchPlace>& listed(std::int64_t epoch);

  std::int64_t samples_, batch_;
  BatchRule rule_;
  RandomStreams random_;
  std::vector<Start> starts_ = {{}};  // of the epochs from 0 on, where sizes are drawn
  std::int64_t listed_epoch_ = -1;
  std::vector<BatchPlace> listed_;
};

}  // namespace locus::engine
