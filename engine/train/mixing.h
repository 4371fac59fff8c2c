// Mixup and CutMix: images and labels of a batch mixed with one another.
#pragma once

#include "engine/base/random.h"
#include "engine/train/hook.h"

namespace locus::engine {

inline constexpr std::string_view kMixing = "mixing";  // purpose of the draws

struct MixingSettings {
  // timm's Mixup, where image i of n meets image n - 1 - i, or torchvision's, where it meets image i - 1.
  bool torchvision = false;
  // What shares a draw: a whole chunk (timm's mode "batch"), an image ("elem"), or the two that meet, in which both are
  // changed alike ("pair"). The last two are timm's alone.
  enum class Mode { kBatch, kElement, kPair } mode = Mode::kBatch;
  double mixup = 0.8, cutmix = 1;   // a of Beta(a, a) for lambda; 0: not at all
  double probability = 1;           // of mixing at all
  double switch_probability = 0.5;  // of CutMix where both are on
  double smoothing = 0;             // share of the targets spread evenly over all classes
  std::int64_t chunk = 0;           // images of a draw; 0: 256 where the batch is a multiple of it and timm's, else all
  bool strided = false;             // chunk c of R has images c, c + R, ..., as process c of R that share a list
  bool odd_boxes = false;           // a box of odd extent keeps it (timm from 1.0.29 on)
};

// The random numbers of one step. Immutable.
class MixDraws {
 public:
  virtual ~MixDraws() = default;
  // In [0, 1); `element` counts chunks, images or pairs.
  virtual double unit(std::string_view name, std::int64_t element) const = 0;
  virtual double beta(std::string_view name, std::int64_t element, double a) const = 0;  // of Beta(a, a)
};

// From the trial's streams, with the step as index. `random` must outlive it.
class StreamMixDraws final : public MixDraws {
 public:
  StreamMixDraws(const RandomStreams& random, std::int64_t step)
      : random_(random), step_(static_cast<std::uint64_t>(step)) {}
  double unit(std::string_view name, std::int64_t element) const override;
  double beta(std::string_view name, std::int64_t element, double a) const override;

 private:
  const RandomStreams& random_;
  std::uint64_t step_;
};

// What becomes of one image: x share + partner (1 - share), or, with a box, x with that box of the partner in it, share
// then being what of the area is its own.
struct Mix {
  std::int64_t partner = 0;  // in the batch
  double share = 1;
  bool cut = false;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;  // of the box, ends excluded
};

// One for each of `images` images of this extent. By Zhang et al. 2018 (mixup) and Yun et al. 2019 (CutMix, algorithm 1).
// Throws std::invalid_argument where the chunks do not divide the batch, or pairs not a chunk.
std::vector<Mix> draw_mixes(const MixingSettings& settings, const MixDraws& draws, std::int64_t images,
                            std::int64_t height, std::int64_t width);

// float [B, C, H, W], mixed with the images as they were given.
Tensor mixed_images(const Tensor& images, const std::vector<Mix>& mixes);

// float [B, classes]: share times the target of the label, the rest the partner's, where the target of label y is
// (1 - smoothing) at y and smoothing / classes more everywhere. `labels` int64 [B].
Tensor mixed_targets(const Tensor& labels, std::int64_t classes, double smoothing, const std::vector<Mix>& mixes);

// Mixes every batch's "image" and gives it "target".
class MixBatches final : public TrainingHook {
 public:
  // Throws std::invalid_argument for a task without classes.
  MixBatches(const Task& task, MixingSettings settings);
  void before_step(Batch& batch, const StepView& step) override;

 private:
  MixingSettings settings_;
  std::int64_t classes_;
};

}  // namespace locus::engine
