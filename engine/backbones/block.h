// The parts transformers are made of: layer norm and the pre-norm residual block.
#pragma once

#include "engine/attention/attention.h"

namespace locus::engine {

// Layer norm over the last axis, eps 1e-6.
class Norm : public Module {
 public:
  explicit Norm(std::int64_t width);
  Tensor forward(const Tensor& x);
  void initialize();  // 1 and 0

  Tensor weight, bias;
};

struct BlockOptions {
  LayerInfo info;
  AttentionOptions attention = {};
  double drop_path = 0;    // probability that a sample, a whole image, skips a branch while training
  double dropout = 0;      // that a number of a branch, or inside the MLP, is 0 while training
  double layer_scale = 0;  // what the learned factors of a branch's channels start from; 0: there are none
};

// What the blocks of a network follow besides its tokens, made by the task that owns the embeddings.
struct Condition {
  Tensor vector;  // [B, D]; undefined: none
};

// x += drop(scale1 attention(norm1 x)); x += drop(scale2 mlp(norm2 x)), MLP = Linear - GELU (erf) - Linear. The factors of
// the channels (LayerScale, Touvron et al. 2021, arXiv:2103.17239, equation 4) are there where they are asked for. Not
// thread-safe.
class Block : public Module {
 public:
  // `name` is the block's full name, "blocks.0" or "stages.1.blocks.0".
  Block(const BlockOptions& options, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
        const std::string& name);

  // x [B, T, D]: the residual stream, laid out like this. Throws std::invalid_argument on a condition: this block
  // has nothing that follows one.
  Tensor forward(Tensor x, const Layout& layout, const ForwardContext& context, const Condition& condition = {});
  const std::string& name() const { return name_; }
  const LayerInfo& info() const { return options_.info; }
  void start_scales();  // layer scale as it starts, where there is any
  const Attention& attention() const { return *attention_; }
  Attention& attention() { return *attention_; }
  // Of a forward pass over one sample: Backbone::flops.
  std::int64_t flops(const Layout& layout) const;

 private:
  // Dropout (Srivastava et al. 2014): while training some numbers are 0 and the others that much larger.
  Tensor thinned(const Tensor& x, std::string_view which, const ForwardContext& context) const;
  Tensor dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const;
  // What is added after attention: by the MLP, or by the prior that replaces it.
  Tensor fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context);

  std::string name_;
  BlockOptions options_;
  HookTable hooks_;
  std::shared_ptr<Norm> norm1_, norm2_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Linear> in_, out_;
  Tensor scale1_, scale2_;                   // [D], undefined without layer scale
  FeedForward mlp_;                          // empty where a prior replaces it
  const ForwardContext* context_ = nullptr;  // of the forward that runs, for what is inside mlp_
};

}  // namespace locus::engine
