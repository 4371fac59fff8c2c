// The parts transformers are made of: layer norm and the pre-norm residual block.
#pragma once

#include "engine/attention/attention.h"

namespace locus::engine {

// Layer norm over the last axis, eps 1e-6.
class Norm : public torch::nn::Module {
 public:
  explicit Norm(std::int64_t width);
  Tensor forward(const Tensor& x);
  void initialize();  // 1 and 0

  Tensor weight, bias;
};

struct BlockOptions {
  LayerInfo info;
  Pattern pattern = Pattern::kGlobal;
  double drop_path = 0;  // probability that a sample skips a branch while training
  std::string path = "auto";
  bool qkv_bias = true;  // whether the maps to queries, keys and values have biases
};

// x += drop(attention(norm1 x)); x += drop(mlp(norm2 x)), MLP = Linear - GELU (erf) - Linear. Not
// thread-safe.
class Block : public torch::nn::Module {
 public:
  // `name` is the block's full name, "blocks.0".
  Block(const BlockOptions& options, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
        const std::string& name);

  Tensor forward(Tensor x, const Layout& layout, const ForwardContext& context);
  const Attention& attention() const { return *attention_; }
  Attention& attention() { return *attention_; }
  // Of a forward pass over one sample: Backbone::flops.
  std::int64_t flops(const Layout& layout) const;

 private:
  Tensor dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const;
  // What is added after attention: by the MLP, or by the prior that replaces it.
  Tensor fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context);

  std::string name_;
  LayerInfo info_;
  Pattern pattern_;
  double drop_path_;
  HookTable hooks_;
  std::shared_ptr<Norm> norm1_, norm2_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Linear> in_, out_;
  FeedForward mlp_;  // empty where a prior replaces it
};

}  // namespace locus::engine
