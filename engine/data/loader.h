// From resident bytes to batches: order, gathering, normalization, resizing.
#pragma once

#include "engine/base/random.h"
#include "engine/data/dataset.h"

namespace locus::engine {

// Named tensors; classification uses "image" (float32 [B, C, H, W]) and "label" (int64 [B]).
using Batch = std::map<std::string, Tensor>;

// Where training stands in its data: saved in checkpoints and sufficient to go on.
struct SamplerPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // within the epoch
};

// Serves training batches in an order that depends on the seed and the epoch alone, so trials that differ in
// the model see the same images in the same order. The last, incomplete batch of an epoch is left out.
// Thread-compatible.
class TrainingLoader {
 public:
  // The split's bytes are copied to `device` once (on the CPU they are shared).
  // `limit` > 0 keeps that many images: the first of one fixed permutation of the split, the same for every
  // seed.
  TrainingLoader(const ImageSplit& split, const Normalization& normalization, std::string_view dataset,
                 std::int64_t batch, std::int64_t limit, const RandomStreams& random, at::Device device);

  std::int64_t images() const { return images_; }
  std::int64_t batch_size() const { return batch_; }
  std::int64_t batches_per_epoch() const { return images_ / batch_; }

  SamplerPosition position() const { return position_; }
  void seek(SamplerPosition position);
  Batch next();  // and moves on

 private:
  ImageSplit split_;
  Normalization normalization_;
  RandomStreams random_;
  at::Device device_;
  Tensor kept_, order_;  // rows of the split; order_ is kept_ shuffled for the current epoch
  std::int64_t batch_, images_;
  std::int64_t order_epoch_ = -1;
  SamplerPosition position_;
};

// Part of a split for scoring: the first `images` of one fixed permutation, which depends on the ids of dataset
// and split alone, so every model is scored on the same images, and a smaller part lies within a larger one. The
// split itself, its bytes shared, for 0 or when it has no more than that.
ImageSplit scored_part(const ImageSplit& split, std::string_view dataset, std::string_view name, std::int64_t images);

// Rows [first, end) of a split in file order, for scoring. `resolution` > 0 resizes both extents to it by
// `interpolation` (bilinear or bicubic, half-pixel centers, no antialiasing).
Batch evaluation_batch(const ImageSplit& split, const Normalization& normalization, std::int64_t first,
                       std::int64_t end, std::int64_t resolution, std::string_view interpolation, at::Device device);

}  // namespace locus::engine
