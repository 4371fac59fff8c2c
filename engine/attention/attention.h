// The one attention layer: projections, the fixed algebra of engine/priors/prior.h, and the hooks of its
// priors.
#pragma once

#include <array>
#include <deque>
#include <set>

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

// Not thread-safe.
class Attention : public torch::nn::Module {
 public:
  // `name` is the layer's full name for the linear factory ("blocks.0.attention"); `path` an execution path
  // or "auto".
  Attention(const LayerInfo& info, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
            const std::string& name, std::string path, Pattern pattern = Pattern::kGlobal, bool qkv_bias = true);

  // x: the normed tokens [B, T, D]; returns what is added to the residual stream, [B, T, D].
  Tensor forward(const Tensor& x, const Layout& layout, const ForwardContext& context);
  const std::set<std::string, std::less<>>& paths() const { return paths_; }  // taken so far
  // Lets its priors overwrite the initial weight of the map to values.
  void start_values();

  // Called with what every execution path is about to run and the raw inputs it was made from, once for each
  // pass of an axial pattern; for tools that look inside. A null function ends it.
  using Watcher = std::function<void(const Scores& scores, const AttentionInputs& inputs)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

 private:
  Tensor attend(const AttentionInputs& inputs, const ForwardContext& context);
  Tensor attend_along_axes(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                           const ForwardContext& context);
  // The softmax part, [B, H, T, d], for transformed q and k and the values of `inputs`.
  Tensor attend_within(const Tensor& q, const Tensor& k, const AttentionInputs& inputs, const ForwardContext& context);

  LayerInfo info_;
  Pattern pattern_;
  HookTable hooks_;
  std::vector<AttachedPrior> priors_;
  std::vector<TermSource> biases_, scales_, sum_scales_;
  std::string path_;
  std::set<std::string, std::less<>> paths_;
  Watcher watcher_;
  std::shared_ptr<Linear> qkv_, out_;
};

}  // namespace locus::engine
