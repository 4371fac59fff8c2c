// Batches on the device: in the order of training, and in the order of a split for scoring.
#pragma once

#include "engine/base/random.h"
#include "engine/data/batch_stream.h"
#include "engine/data/sampler.h"

namespace locus::engine {

struct TrainingSet {
  std::shared_ptr<const Source> source;
  Preparation preparation = {};
  std::string dataset;                          // its id
  std::int64_t batch = 1;                       // samples; of a smaller set all
  std::int64_t limit = 0;                       // as in TrainingOrder
  std::shared_ptr<const Sampler> sampler = {};  // null: the TrainingOrder of these
  BatchRule rule = {};
  // What samples go through in place of preparation.transforms, for each of rule.sizes; empty where there are none.
  std::vector<Transforms> by_size = {};
};

// Serves training batches, cut by the set's rule. Samples in memory that nothing transforms are gathered on the device;
// all others come from a BatchStream, ahead of their use, with the same bits. Not thread-safe.
class TrainingLoader {
 public:
  // Samples in memory are copied to `device` once (on the CPU they are shared), where they are gathered there. Throws
  // std::invalid_argument unless there are transforms for each size of the rule.
  TrainingLoader(TrainingSet set, const RandomStreams& random, at::Device device, const Decoding& decoding = {});

  // From now on batches are samples [part n / parts, (part + 1) n / parts) of their n. The parts must divide them all.
  void take_part(std::int64_t part, std::int64_t parts);
  // Why that cannot be, as a sentence; empty where it can.
  std::string undivided(std::int64_t parts);
  // Of the part that next() gave last: where it begins in its batch.
  std::int64_t first_sample() const { return first_sample_; }

  // From now on images of bytes on the CPU are served as such, beside kByteValues.
  void leave_bytes() { bytes_ = true; }

  std::int64_t images() const { return set_.sampler->samples(); }
  std::int64_t batch_size() const { return set_.batch; }  // of a complete batch of images of the usual size
  // BatchCuts::typical: exact but where sizes are drawn.
  std::int64_t batches_per_epoch() const { return cuts_.typical(); }
  std::int64_t batches_in(std::int64_t epoch) { return cuts_.count(epoch); }
  std::int64_t steps(std::int64_t epochs) { return cuts_.steps(epochs); }   // in that many epochs
  std::int64_t images_before() { return cuts_.samples_before(position_); }  // shown since the start of training

  SamplerPosition position() const { return position_; }
  // What was prepared for another position is dropped. Throws std::invalid_argument outside the epoch.
  void seek(SamplerPosition position);
  // The batch at the position, on the device, images normalized; and moves on. Throws as BatchStream::next.
  Batch next();
  // How long next() has waited for data that was not yet prepared, seeks included.
  double waited_seconds() const { return waited_ + (stream_ ? stream_->waited_seconds() : 0); }

 private:
  Batch gathered();
  std::unique_ptr<BatchStream> stream_from(SamplerPosition position) const;

  TrainingSet set_;
  RandomStreams random_;
  at::Device device_;
  Decoding decoding_;
  BatchCuts cuts_;
  Batch resident_;  // on the device; empty: streamed
  Tensor rows_;     // of epoch rows_epoch_, on the device
  std::int64_t rows_epoch_ = -1;
  SamplerPosition position_;
  std::unique_ptr<BatchStream> stream_;  // stands at position_; null until the first batch after a seek
  double waited_ = 0;                    // of streams that are gone
  bool bytes_ = false;
  std::int64_t part_ = 0, parts_ = 1, first_sample_ = 0;
  Tensor values_;  // of bytes, once some were served
};

// Part of a split for scoring: the first `images` of one fixed permutation, which depends on the ids of dataset
// and split alone, so every model is scored on the same images, and a smaller part lies within a larger one. The
// split itself for 0 or when it has no more than that.
std::shared_ptr<const Source> scored_part(std::shared_ptr<const Source> split, std::string_view dataset,
                                          std::string_view name, std::int64_t images);

struct EvaluationView {
  // Of all images; 0, 0: as in the files, which then must agree within a batch. Where there are transforms, what these
  // give.
  Extent extent{0, 0};
  std::string interpolation = "bilinear";
  bool apart = false;  // images keep extents of their own, so that each is a batch
};

struct EvaluationSet {
  std::shared_ptr<const Source> source;
  Normalization normalization = {};
  EvaluationView view = {};
  Collate collate = {};  // empty: stack_samples
  Decoding decoding = {};
  Transforms transforms = {};  // of images as they were decoded, before they are normalized
  bool bytes = false;          // images in memory that need no resizing stay bytes on the CPU, beside kByteValues
};

// Serves samples [first, end) in the source's order, `batch` at a time: transformed and normalized, or without transforms
// normalized and then resized. Not thread-safe.
class EvaluationLoader {
 public:
  EvaluationLoader(EvaluationSet set, std::int64_t first, std::int64_t end, std::int64_t batch, at::Device device);

  // On the device; nothing after the last. Throws as BatchStream::next.
  std::optional<Batch> next();
  double waited_seconds() const { return stream_ ? stream_->waited_seconds() : 0; }

 private:
  EvaluationSet set_;
  std::int64_t row_, end_, batch_;
  at::Device device_;
  std::unique_ptr<BatchStream> stream_;  // null: the samples are in memory
  Tensor values_;                        // of bytes, once some were served
};

}  // namespace locus::engine
