// Runs one attention layer, block, stage or model on tensors from outside, to compare a prior with published code.
#pragma once

#include "engine/probe/host.h"

namespace locus::engine {

using NamedTensors = std::map<std::string, Tensor>;

enum class ProbeLevel { kAttention, kBlock, kStage, kModel };
ProbeLevel parse_probe_level(std::string_view name);  // "attention"; throws std::invalid_argument

struct ProbeRequest {
  HostRequest host;
  ProbeLevel level = ProbeLevel::kAttention;
  // Attention and block: which layer, counted over the network or, where `stage` is given, within that. Stage: which one,
  // the first where none is given.
  std::int64_t layer = 0;
  std::optional<std::int64_t> stage = {};
  at::ScalarType type = at::kDouble;
  std::int64_t step = 0;  // optimizer steps done
  bool training = false;  // normalizes by the batch, draws what training draws
};

// Level attention takes x [B, T, D], the normed input, and writes logits and probabilities [B, H, T, T] and
// output [B, T, D]. Where attention runs along axes, logits and probabilities end in ".axis-<a>" and hold a
// sample for each line; within windows they hold one for each window. Level block takes x, the residual stream, and writes
// output; level stage runs all blocks of a stage. Where they follow a condition both take "condition" [B, D]. Level model
// takes image [B, C, H, W] and, optionally, "hidden" bool [B, N]. It writes tokens [B, T, D] after the final norm,
// logits [B, classes], and for each prior with a loss "loss.<prior>", weighted. A denoiser takes image, "time" [B] and
// "label" int64 [B], optionally "dropped" bool [B], and writes condition, tokens and output [B, channels, H, W].
//
// Where the tokens are points (HostRequest::point_axes) every level but that of models also takes "positions" [B, N, axes]
// or, the same in every sample, [N, axes], and optionally "valid" bool of their shape without the axes: points that fill a
// sample up. T is then the prefix and N; positions get no gradient.
//
// With "cotangent" of output's (tokens') shape, and at level model "cotangent.<name>" of any other output, gradients of
// the sum of products are written as "grad.<name>" for the inputs of real numbers and every parameter; 0 where none flows.
//
// In evaluation mode unless the request says training: then "draws.<purpose>.<name>" are the numbers that were drawn,
// float32, which may be given, too; and "after.<name>" the buffers that the pass changed. A loss is always as in training.
//
// Parameters go by their names: of attention qkv.weight, qkv.bias, proj.weight, proj.bias; of a block and of
// a model those of a checkpoint within the block or the task ("norm1.weight", "backbone.embed.weight"), of a stage those
// within the backbone; of priors "priors.<id>.<name>", below the level of models those of the layer or stage and those all
// layers share. Parameters are on the CPU; the class is neither thread-safe nor to be moved.
class Probe {
 public:
  // Throws std::invalid_argument on what the catalog refuses.
  explicit Probe(const ProbeRequest& request);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Every parameter and buffer run() takes, as initialized from the seed.
  NamedTensors initial() const;

  // `given`: the inputs, every parameter, buffers (else as initialized), draws and cotangents; cast to the type asked
  // for. Throws std::invalid_argument naming what is missing, extra or misshapen.
  NamedTensors run(const NamedTensors& given);

  std::string path() const { return host_.backbone().path(); }  // execution paths taken so far

 private:
  // A tensor that run() takes beside parameters and buffers.
  struct Input {
    std::string name;
    std::vector<std::int64_t> shape;          // of a sample
    std::optional<at::ScalarType> type = {};  // none: that of the request, with a gradient
    bool optional = false;
  };
  std::vector<Input> asked() const;
  NamedTensors inputs(const NamedTensors& given) const;
  void place(const NamedTensors& given);                              // the points of the run at hand
  std::optional<std::string> name_of(const std::string& full) const;  // none: it has no part at the level
  void load(const NamedTensors& given);
  void check_names(const NamedTensors& given) const;
  void check_draws(const NamedTensors& given) const;
  NamedTensors run_attention(const Tensor& x, const ForwardContext& context);
  NamedTensors run_blocks(const NamedTensors& in, const ForwardContext& context);
  NamedTensors run_model(const NamedTensors& in, const ForwardContext& context);
  NamedTensors run_denoiser(const NamedTensors& in, const ForwardContext& context);
  Tensor objective(const NamedTensors& given, const NamedTensors& out) const;
  Tensor drawn(const std::string& name, const Tensor& own);
  bool whole() const { return request_.level == ProbeLevel::kModel; }
  const char* output_name() const { return whole() ? "tokens" : "output"; }

  ProbeRequest request_;
  Host host_;
  std::int64_t first_ = 0, last_ = 0;  // layers of the network that run, below the level of models
  RandomStreams random_;
  const NamedTensors* given_ = nullptr;  // of the run at hand
  NamedTensors drawn_;                   // in it, by the names above
  NamedTensors parameters_, buffers_;    // the model's own, by the names above
};

// What the probe can be asked about, as JSON: every prior of the catalog (or of `specification`, where given)
// with options, hooks, the execution paths it can take, and its parameters' and buffers' names and shapes in
// the host that the document describes.
Json probe_listing(const Json& specification);

}  // namespace locus::engine
