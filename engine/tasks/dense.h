// Tasks that make a map of every image: a backbone, the maps that a decoder reads of it, the decoder.
#pragma once

#include "engine/decoders/host_maps.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// Parts "backbone", "maps" (of networks of several stages) and "decoder". The configuration's "decoder" names the decoder;
// without one it is the linear one. Not thread-safe.
class DenseTask : public Task {
 public:
  Tensor predict(const Batch& batch, const ForwardContext& context) override;
  std::int64_t flops(std::int64_t height, std::int64_t width) const override;
  Collate collate() const override;
  void look(const Views& views) override { views_ = views; }

  Decay decay(std::string_view name, const Tensor& parameter) const override;
  bool training_only(std::string_view name) const override;
  std::string path() const override { return backbone_->path(); }

 protected:
  // `target`: of batches, kMask or kDepth; `outputs`: numbers of a pixel. Throws std::invalid_argument naming what does not fit.
  DenseTask(const TaskContext& context, const char* target, std::int64_t outputs);

  struct Seen {
    Features features;
    Decoded decoded;
  };
  // Of images [B, C, H, W]. What the backbone does not take is filled up with zeros on the right and below; the maps stand for
  // what is filled up, and are stretched to the images by who enlarges them (mmsegmentation). Where nothing of the backbone
  // learns it runs without gradients and as when it is scored.
  Seen see(const Tensor& image, const ForwardContext& context);
  // What see() decodes, for each of the views that look() asked for. Call without gradients.
  std::vector<Tensor> looks(const Tensor& image, const ForwardContext& context);
  // Adds what the priors say of a training step.
  void add_prior_losses(const Seen& seen, const ForwardContext& context, StepLosses& losses) const;
  Tensor example_images(std::int64_t size, const Extent& extent, const RandomStreams& random) const;
  // What the network says of a pixel, of a map [B, outputs, H, W] as it was decoded.
  virtual Tensor said(const Tensor& map) const { return map; }

  const char* target() const { return target_; }

 private:
  bool backbone_learns() const;
  Tensor filled(const Tensor& image) const;

  const char* target_;
  std::int64_t channels_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<HostMaps> maps_;
  std::shared_ptr<Decoder> decoder_;
  Views views_;
};

}  // namespace locus::engine
