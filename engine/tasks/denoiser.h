// A network that tells the noise of a noisy image, given how noisy it is and of which class: a backbone that follows a
// condition, what embeds time and label, and what makes an image of its tokens.
#pragma once

#include "engine/backbones/backbone.h"
#include "engine/tasks/conditions.h"

namespace locus::engine {

// Linear((1 + factor) norm(x) + shift), [shift, factor] = modulation = Linear(SiLU(condition)), and the numbers of each
// token put where its patch lies, ordered by row and column of the patch, then channel (Peebles and Xie 2023,
// arXiv:2212.09748, section 3.2). Parts "modulation" and "map". Not thread-safe.
class FinalLayer : public Module {
 public:
  FinalLayer(std::int64_t width, std::int64_t patch, std::int64_t channels);
  // tokens [B, N, width] of a layout without prefix, condition [B, width] -> [B, channels, rows patch, columns patch].
  Tensor forward(const Tensor& tokens, const Tensor& condition, const Layout& layout) const;
  void initialize();                               // all 0
  std::int64_t flops(const Layout& layout) const;  // of one sample: Backbone::flops

 private:
  std::int64_t patch_, channels_;
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<Linear> modulation_, map_;
};

struct DenoiserOptions {
  std::int64_t classes = 1000;
  double label_drop = 0.1;       // LabelEmbedding
  bool learned_variance = true;  // twice the channels: noise first, then what the variance of a step is made of
};

// Parts "backbone", "time", "label", "final". With backbone dit and prior sincos-2d it is the published DiT. Parameters
// are initialized from the random streams by name, on the CPU. Not thread-safe.
class Denoiser : public Module {
 public:
  // `configuration` as make_backbone() reads it. Throws std::invalid_argument, too, where its backbone follows no
  // condition or does not have square patches.
  Denoiser(const Json& configuration, const InputFacts& input, const DenoiserOptions& options,
           const RandomStreams& random, const std::string& path = "auto");

  struct Given {
    Tensor image;         // [B, C, H, W]
    Tensor time;          // [B], steps of the process, 0 .. 999 in the published one
    Tensor label;         // int64 [B]
    Tensor dropped = {};  // LabelEmbedding::forward
  };
  // [B, width]: what the blocks follow, the sum of both embeddings.
  Tensor condition(const Given& given, const ForwardContext& context) const;
  // The features before the final layer.
  Features features(const Given& given, const Tensor& condition, const ForwardContext& context) const;
  // [B, C or 2 C, H, W] of these.
  Tensor out(const Features& features, const Tensor& condition) const;
  // All three in one.
  Tensor forward(const Given& given, const ForwardContext& context) const;
  // Classifier-free guidance (Ho and Salimans 2022, arXiv:2207.12598): forward() with the labels, whose first
  // `channels` become u + scale (c - u), u being those without a label. The published DiT guides the first 3 of the 4 of
  // a latent's noise. A scale of 1 is forward(). Throws std::invalid_argument where there is no null class or are not so
  // many channels of noise.
  Tensor guided(const Given& given, double scale, std::int64_t channels, const ForwardContext& context) const;

  Backbone& backbone() const { return *backbone_; }
  std::int64_t flops(std::int64_t height, std::int64_t width) const;  // of forward(): Backbone::flops

 private:
  std::int64_t channels_;  // of images
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<TimeEmbedding> time_;
  std::shared_ptr<LabelEmbedding> label_;
  std::shared_ptr<FinalLayer> final_;
};

}  // namespace locus::engine
