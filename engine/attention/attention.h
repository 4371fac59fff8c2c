// The one attention layer: projections, the fixed algebra of engine/priors/prior.h, and the hooks of its
// priors.
#pragma once

#include <array>
#include <deque>
#include <set>

#include "engine/attention/partition.h"
#include "engine/attention/path.h"
#include "engine/layers/linear.h"
#include "engine/priors/prior.h"

namespace locus::engine {

// A prior's part in one layer, with the hooks its catalog entry declares.
struct AttachedPrior {
  std::shared_ptr<PriorLayer> layer;
  std::vector<Hook> hooks;
  std::vector<Tensor> state;  // parameters and buffers its terms may depend on, those shared by layers included
};

// Which attached layers have a hook, in prior order.
class HookTable {
 public:
  explicit HookTable(const std::vector<AttachedPrior>& priors);
  const std::vector<AttachedPrior>& of(Hook hook) const { return table_[static_cast<std::size_t>(hook)]; }
  bool any(Hook hook) const { return !of(hook).empty(); }

 private:
  std::array<std::vector<AttachedPrior>, kHookCount> table_;
};

// The terms of one hook, called again only when what they depend on has changed: layout terms are kept per
// layout; parameter terms are kept between forwards without gradients until the prior's state changes;
// content terms never are.
class TermSource {
 public:
  using Call = BiasTerm (PriorLayer::*)(const AttentionInputs&, const ForwardContext&);
  TermSource(AttachedPrior prior, Call call) : prior_(std::move(prior)), call_(call) {}
  const BiasTerm& get(const AttentionInputs& inputs, const ForwardContext& context);

 private:
  struct Kept {
    Layout layout;
    std::int64_t axis;
    at::Device device;
    at::ScalarType type;
    std::uint64_t version;
    BiasTerm term;
  };
  std::uint64_t version() const;
  AttachedPrior prior_;
  Call call_;
  std::deque<Kept> kept_;
  std::optional<BiasTerm> current_;
};

// Which of the maps to queries, keys and values have a bias.
enum class QkvBias {
  kAll,  // "qkv.bias" [3 D]
  kNone,
  kQueryValue,  // "q_bias" and "v_bias" [D] (Swin V2, EVA)
  kMaskedKey,   // "qkv.bias" [3 D] whose middle third counts as 0 and gets no gradient (DINOv3)
};

struct AttentionOptions {
  std::string path = "auto";           // execution path, or "auto"
  Pattern pattern = Pattern::kGlobal;  // within windows global
  Partition partition = {};
  QkvBias qkv_bias = QkvBias::kAll;
};

// Not thread-safe.
//
// Within windows every window is a sample to the softmax and to the hooks from transform_qk to from_probabilities:
// they see its tokens and its layout, neither shift nor border. A place that holds no token has x = 0, and the q, k
// and v that the projection makes of that; it is a key like any other. What is added to the output and gates it sees
// the whole grid.
class Attention : public Module {
 public:
  // `name` is the layer's full name for the linear factory ("blocks.0.attention"). Throws std::invalid_argument on
  // windows together with a pattern that is not global.
  Attention(const LayerInfo& info, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
            const std::string& name, AttentionOptions options = {});

  // x: the normed tokens [B, T, D]; returns what is added to the residual stream, [B, T, D].
  Tensor forward(const Tensor& x, const Layout& layout, const ForwardContext& context);
  // The same before the map of its output, out().
  Tensor mixed(const Tensor& x, const Layout& layout, const ForwardContext& context);
  Linear& out() const { return *out_; }
  const std::set<std::string, std::less<>>& paths() const { return paths_; }  // taken so far
  // Biases of its own to 0, and lets its priors overwrite the initial weight of the map to values.
  void start_values();

  // Called with what every execution path is about to run and the raw inputs it was made from, once for each
  // pass of an axial pattern and once for all windows; for tools that look inside. A null function ends it.
  using Watcher = std::function<void(const Scores& scores, const AttentionInputs& inputs)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

 private:
  // What the softmax is made of: [B, T, 3 D] of x [B, T, D].
  Tensor project(const Tensor& x) const;
  // The heads' queries, keys and values of tokens [B, T, D], and of projected ones [B, T, 3 D]: each [B, H, T, d].
  std::vector<Tensor> heads_from(const Tensor& x) const;
  std::vector<Tensor> heads_of(const Tensor& projected) const;
  Tensor attend(const AttentionInputs& inputs, const ForwardContext& context, const Tensor& region = {});
  // [B, T, D], the heads side by side.
  Tensor attend_in_parts(const Tensor& x, const Tensor& projected, const Layout& layout, const ForwardContext& context);
  Tensor attend_along_axes(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                           const ForwardContext& context);
  // The softmax part, [B, H, T, d], for transformed q and k and the values of `inputs`.
  Tensor attend_within(const Tensor& q, const Tensor& k, const AttentionInputs& inputs, const ForwardContext& context,
                       const Tensor& region = {});
  // The lambdas that it puts into `scores` hold on to `inputs` and `context`.
  void add_hooks_on_probabilities(Scores& scores, const AttentionInputs& inputs, const ForwardContext& context) const;

  LayerInfo info_;
  AttentionOptions options_;
  HookTable hooks_;
  std::vector<AttachedPrior> priors_;
  std::vector<TermSource> biases_, scales_, sum_scales_;
  PerLayout<Parts> parts_;
  std::set<std::string, std::less<>> paths_;
  Watcher watcher_;
  std::shared_ptr<Linear> qkv_, out_;
  Tensor query_bias_, value_bias_;  // [D]; undefined unless only these have one
};

}  // namespace locus::engine
