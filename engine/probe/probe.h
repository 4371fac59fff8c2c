// Runs one attention layer, block or model on tensors from outside, to compare a prior with published code.
#pragma once

#include "engine/probe/host.h"

namespace locus::engine {

using NamedTensors = std::map<std::string, Tensor>;

enum class ProbeLevel { kAttention, kBlock, kModel };
ProbeLevel parse_probe_level(std::string_view name);  // "attention"; throws std::invalid_argument

struct ProbeRequest {
  HostRequest host;
  ProbeLevel level = ProbeLevel::kAttention;
  std::int64_t layer = 0;  // of host.layers; attention and block
  at::ScalarType type = at::kDouble;
};

// Level attention takes x [B, T, D], the normed input, and writes logits and probabilities [B, H, T, T] and
// output [B, T, D]. Where attention runs along axes, logits and probabilities end in ".axis-<a>" and hold a
// sample for each line; within windows they hold one for each window. Level block takes x, the residual stream, and writes output. Level model takes image
// [B, C, H, W] and writes tokens [B, T, D] after the final norm, logits [B, classes], and for each prior with
// a loss "loss.<prior>", weighted, in training step 0. Everything else is in evaluation mode.
//
// With "cotangent" of output's (tokens') shape, and at level model "cotangent.logits" too, gradients of the
// sum of products are written as "grad.<name>" for the input and every parameter; 0 where none flows.
//
// Parameters go by their names: of attention qkv.weight, qkv.bias, proj.weight, proj.bias; of a block and of
// a model those of a checkpoint within the block or the task ("norm1.weight", "backbone.embed.weight"); of
// priors "priors.<id>.<name>", at levels attention and block those of the layer and those all layers share.
// Parameters are on the CPU; the class is not thread-safe.
class Probe {
 public:
  // Throws std::invalid_argument on what the catalog refuses.
  explicit Probe(const ProbeRequest& request);

  // Every parameter and buffer run() takes, as initialized from the seed.
  NamedTensors initial() const;

  // `given`: the input, every parameter, buffers (else as initialized) and cotangents; cast to the type asked
  // for. Throws std::invalid_argument naming what is missing, extra or misshapen.
  NamedTensors run(const NamedTensors& given);

  std::string path() const { return host_.backbone().path(); }  // execution paths taken so far

 private:
  Tensor input(const NamedTensors& given) const;
  void load(const NamedTensors& given);
  void check_names(const NamedTensors& given) const;
  NamedTensors run_attention(const Tensor& x);
  NamedTensors run_block(const Tensor& x);
  NamedTensors run_model(const Tensor& image);
  Tensor objective(const NamedTensors& given, const NamedTensors& out) const;
  const char* input_name() const { return request_.level == ProbeLevel::kModel ? "image" : "x"; }
  const char* output_name() const { return request_.level == ProbeLevel::kModel ? "tokens" : "output"; }

  ProbeRequest request_;
  Host host_;
  RandomStreams random_;
  NamedTensors parameters_, buffers_;  // the model's own, by the names above
};

// What the probe can be asked about, as JSON: every prior of the catalog (or of `specification`, where given)
// with options, hooks, the execution paths it can take, and its parameters' and buffers' names and shapes in
// the host that the document describes.
Json probe_listing(const Json& specification);

}  // namespace locus::engine
