// The residual block that transformers are made of.
#pragma once

#include "engine/attention/attention.h"
#include "engine/backbones/mlp.h"
#include "engine/layers/norm.h"

namespace locus::engine {

// How it is drawn which samples skip a branch.
enum class DropRule {
  kEach,  // each by itself, with the probability; what stays is divided by that of staying
  // max(floor(B (1 - p)), 1) of the B that are there stay, chosen without replacement, times B over their number (DINOv2
  // and DINOv3).
  kExactly,
};

struct BlockOptions {
  LayerInfo info;
  AttentionOptions attention = {};
  double drop_path = 0;  // probability that a sample, a whole image, skips a branch while training
  DropRule drop_rule = DropRule::kEach;
  double dropout = 0;      // that a number of a branch, or inside the MLP, is 0 while training
  double layer_scale = 0;  // what the learned factors of a branch's channels start from; 0: there are none
  double norm_eps = 1e-6;
  MlpKind mlp = MlpKind::kGelu;
  bool post_norm = false;  // norms stand behind attention and MLP, within the branches (Swin V2)
  bool modulated = false;  // what the block follows scales and shifts its norms and gates its branches (DiT)
};

// What the blocks of a network follow besides its tokens, made by the task that owns the embeddings.
struct Condition {
  Tensor vector;  // [B, D]; undefined: none
};

// The rate of drop path in a block of `layers`, growing linearly from 0 in the first to `rate` in the last (Huang et al.
// 2016, arXiv:1603.09382, equation 4); 0 where there is but one.
double linear_drop_path(double rate, std::int64_t layer, std::int64_t layers);

//   x += drop(scale1 attention(norm1 x));  x += drop(scale2 mlp(norm2 x))
//   post-norm: x += drop(scale1 norm1(attention x)); ...
//   modulated: x += drop(gate1 attention(m1)), m1 = (1 + factor1) norm1(x) + shift1; the MLP likewise. Shift, factor and
//     gate of both branches, in that order, are the six parts of modulation = Linear(SiLU(condition)); the norms have no
//     parameters (adaLN-Zero, Peebles and Xie 2023, arXiv:2212.09748, section 3.2).
//
// The factors of the channels (LayerScale, Touvron et al. 2021, arXiv:2103.17239, equation 4) are there where they are
// asked for. Not thread-safe.
class Block : public Module {
 public:
  // `name` is the block's full name, "blocks.0" or "stages.1.blocks.0". Throws std::invalid_argument where a prior
  // replaces the MLP of a modulated block, which would lose its modulation.
  Block(const BlockOptions& options, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
        const std::string& name);

  // x [B, T, D]: the residual stream, laid out like this. Throws std::invalid_argument on a condition where the block is
  // not modulated, and without one where it is.
  Tensor forward(Tensor x, const Layout& layout, const ForwardContext& context, const Condition& condition = {});
  const std::string& name() const { return name_; }
  const LayerInfo& info() const { return options_.info; }
  const BlockOptions& options() const { return options_; }
  void start_scales();  // layer scale as it starts, where there is any
  const Attention& attention() const { return *attention_; }
  Attention& attention() { return *attention_; }
  // Of a forward pass over one sample: Backbone::flops.
  std::int64_t flops(const Layout& layout) const;

 private:
  // How a condition changes one branch: each [B, 1, D], undefined where it does not.
  struct Modulation {
    Tensor shift, factor, gate;
  };
  std::array<Modulation, 2> modulation_of(const Condition& condition) const;
  // What a branch reads of the stream.
  Tensor read(const Norm& norm, const Tensor& x, const Modulation& modulation) const;
  // What of a branch's result is added to the stream.
  Tensor scaled(const Tensor& branch, const Tensor& scale, const Modulation& modulation) const;
  // Dropout (Srivastava et al. 2014): while training some numbers are 0 and the others that much larger.
  Tensor thinned(const Tensor& x, std::string_view which, const ForwardContext& context) const;
  Tensor dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const;
  // The factors [B, 1, 1] of a branch's samples by drop path, in the type and on the device of x; undefined where all
  // are 1.
  Tensor kept(const Tensor& x, std::string_view which, const ForwardContext& context) const;
  void build_mlp(const LinearFactory& linear);
  // Whether fused passes do what the block's single operations would, in value and gradient.
  bool fuses(const Tensor& x, const ForwardContext& context) const;
  // The stream behind attention, and behind what comes after: the MLP, or the prior that replaces it.
  Tensor with_attention(const Tensor& x, const Layout& layout, const ForwardContext& context,
                        const Modulation& modulation);
  Tensor with_mlp(const Tensor& x, const Layout& layout, const ForwardContext& context);
  Tensor fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context);  // what is added there

  std::string name_;
  BlockOptions options_;
  HookTable hooks_;
  std::shared_ptr<Norm> norm1_, norm2_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Mlp> layers_;         // of the MLP; null where a prior replaces it
  std::shared_ptr<Linear> modulation_;  // null unless modulated
  Tensor scale1_, scale2_;              // [D], undefined without layer scale
  FeedForward mlp_;                     // empty where a prior replaces it
  // Of the forward that runs, for what is inside mlp_.
  const ForwardContext* context_ = nullptr;
  const Layout* layout_ = nullptr;
  Modulation mlp_modulation_;
};

}  // namespace locus::engine
