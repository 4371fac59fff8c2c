// The seam every position encoding plugs into: a model carries an ordered list of priors, each a set of hooks
// on one fixed algebra.
//
//   L = prod(scale) * (c q' k'^T) + sum(bias)        q', k' = transform_qk (width kept);  c = 1 / sqrt(d)
//   P = prod(probabilities)(softmax L)
//   O = (P V + sum(from_probabilities) + sum(add_output)) * prod(gate_output), then the output projection
//
// A scale of a prior that scales_biases() multiplies the sum instead: L = scale * (the right side above).
//
// Shape letters: B batch, T tokens (P prefix first, then N patches), D width, H heads, d = D / H, C curves.
#pragma once

#include "engine/base/item.h"
#include "engine/base/random.h"
#include "engine/base/registry.h"
#include "engine/base/step_number.h"
#include "engine/base/torch.h"
#include "engine/layers/forms.h"
#include "engine/layers/initializer.h"
#include "engine/layers/layout.h"
#include "engine/layers/module.h"
#include "engine/layers/probability.h"

namespace locus::engine {

enum class Hook {
  kEmbed,
  kBlockEmbed,
  kTransformQk,
  kBias,
  kScale,
  kProbabilities,
  kFromProbabilities,
  kAddOutput,
  kGateOutput,
  kFeedForward,
  kPattern,
  kLoss
};
std::string_view to_string(Hook hook);   // "transform-qk", as in the catalog
Hook parse_hook(std::string_view name);  // throws std::invalid_argument
inline constexpr int kHookCount = 12;

enum class Site { kBeforePrefix, kAfterPrefix, kBlockStart, kBlockEnd };

// Who attends to whom. Global: all tokens to all. Axial: one pass within the lines of each axis, the last
// axis (the rows' columns) first; all passes share the transformed q and k, each takes the one before as its
// v. No prefix token has a place in a line, so axial takes none.
enum class Pattern { kGlobal, kAxial };

// What a prior may know of one layer when it is built. `reference` is what the softmax of the layer sees at
// construction: the grid of its stage, or a window of it. The actual layout comes with each forward.
struct LayerInfo {
  std::int64_t layer = 0, layers = 1;  // counted over the whole network
  std::int64_t stage = 0;
  std::int64_t width = 0, heads = 1;
  std::int64_t hidden = 0;  // width inside the MLP
  double scale = 1;         // c of the algebra
  Layout reference;
  std::int64_t head_width() const { return width / heads; }
};

// A stage of a network: layers whose tokens lie on one grid and have one width. A plain network is one stage.
struct StageInfo {
  std::int64_t index = 0, stages = 1;
  std::int64_t width = 0;         // of its tokens
  Layout grid;                    // at construction, as the stage gets it, undivided
  std::vector<LayerInfo> layers;  // at least one; the extents of their references agree
  bool windows = false;           // attention stays within windows, so that no prior may set its pattern
  bool masked = false;            // some pairs of a window are hidden, so that probabilities of 0 must stay 0
  bool padded = false;            // samples may be filled up to a common length (Layout::valid)
  bool condition = false;  // blocks follow a condition that a task gives, which scales, shifts and gates their MLPs
};

// When a forward happens. `random` outlives the call.
struct ForwardContext {
  // Optimizer steps done, and planned. What a forward of training draws takes step.draw() for its index; a step whose number is
  // asked for in another way is not replayed on GPUs.
  StepNumber step = 0;
  std::int64_t steps = 1;
  bool training = false;
  const RandomStreams& random;
  std::int64_t first_sample = 0;  // of the step's batch, where a pass sees a part of it
};

// The inputs of one attention layer. x is its normed input [B, T, D]; q, k, v [B, H, T, d] are raw: unscaled,
// unrotated. In a pass of an axial pattern every line is a sample of its own: B counts lines, `layout` is the
// line (rank 1, no prefix) and `axis` says which axis of the grid it follows; otherwise `axis` is -1.
struct AttentionInputs {
  const Tensor &x, &q, &k, &v;
  const Layout& layout;
  std::int64_t axis = -1;
};

// A block's MLP in parts, for priors that reach inside: out(in(norm(x))).
struct FeedForward {
  using Map = std::function<Tensor(const Tensor&)>;
  Map norm;  // [B, T, D] -> same
  Map in;    // GELU(fc1 x): [B, T, D] -> [B, T, hidden]
  Map out;   // fc2: [B, T, hidden] -> [B, T, D]
  Tensor operator()(const Tensor& residual) const { return out(in(norm(residual))); }
};

// One prior's part in one layer. Hooks named in the catalog entry are called, others never; a hook that is
// not overridden throws std::logic_error. Hooks must not synchronize with the host. Not thread-safe.
class PriorLayer : public Module {
 public:
  virtual Tensor embed(Site site, const Tensor& tokens, const Layout& layout,
                       const ForwardContext& context);  // block-embed; start and end
  virtual std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                                 const ForwardContext& context);
  virtual BiasTerm bias(const AttentionInputs& inputs, const ForwardContext& context);
  virtual BiasTerm scale(const AttentionInputs& inputs, const ForwardContext& context);
  // Hook probabilities, as a term: then no path needs all of P. Nothing where it takes a function of P, by default.
  virtual std::optional<ProbabilityTerm> probability_term(const AttentionInputs& inputs, const ForwardContext& context);
  // Hook probabilities, [B, H, T, T] -> same: what the term makes of p, unless overridden.
  virtual Tensor probabilities(const Tensor& p, const AttentionInputs& inputs, const ForwardContext& context);
  // Hook from-probabilities, as tables whose sums are added. Nothing where it takes a function of P, by default.
  virtual std::optional<std::vector<ValueTable>> value_tables(const AttentionInputs& inputs,
                                                              const ForwardContext& context);
  // Hook from-probabilities, -> [B, H, T, d]: the sum of the tables, unless overridden.
  virtual Tensor from_probabilities(const Tensor& p, const AttentionInputs& inputs, const ForwardContext& context);
  virtual Tensor add_output(const AttentionInputs& inputs, const ForwardContext& context);   // -> [B, T, D]
  virtual Tensor gate_output(const AttentionInputs& inputs, const ForwardContext& context);  // -> [B, T, D]
  // Replaces the residual MLP: gets the residual stream [B, T, D] and the block's MLP, returns what is added
  // to the stream.
  virtual Tensor feed_forward(const Tensor& residual, const FeedForward& mlp, const Layout& layout,
                              const ForwardContext& context);
  // Whether feed_forward has no use for the block's MLP: then the block has none (`mlp` is empty, and no path
  // is dropped).
  virtual bool replaces_mlp() const { return false; }
  // Whether its scale multiplies the biases too, not the content alone.
  virtual bool scales_biases() const { return false; }
  // Overwrites the initial weight [D, D] of the host's map to values, and says so; false: leaves it.
  virtual bool start_values(const Tensor& weight) const;
};

// Features by name: "post-norm" and "pre-norm" always, "block-0", "block-1", ... when asked for; each [B, T,
// D].
using Taps = std::map<std::string, Tensor, std::less<>>;

struct AuxLoss {
  std::string prior;                                   // id, filled by the backbone
  Tensor value;                                        // scalar, weight included: add it to the task's loss
  std::vector<std::pair<std::string, Tensor>> fields;  // scalars to log, detached
};

enum class Decay { kDecayed, kExempt };  // whether weight decay pulls on a parameter
// The rule where no prior says otherwise: one-dimensional parameters and biases are exempt.
Decay default_decay(std::string_view name, const Tensor& parameter);

// One prior in one stage of a model. Parameters shared by the layers live here. Not thread-safe.
class Prior : public Module {
 public:
  // The prior's part in a layer, or null if it has none there. Called once per layer; the backbone registers
  // what it returns.
  virtual std::shared_ptr<PriorLayer> layer(const LayerInfo& info);
  // Sets every parameter of its own; those of its layers too. Called once, on the CPU, before the model
  // moves.
  virtual void initialize(const Initializer& initializer);
  // Whether a hook of the catalog entry is in use under the options at hand. Others are never called.
  virtual bool uses(Hook hook) const;
  // The attention pattern of a layer; hook "pattern". At most one prior of a model sets it.
  virtual Pattern pattern(const LayerInfo& info) const;
  virtual void begin_forward(const Layout& layout, const ForwardContext& context);  // the layout of the stage
  virtual Tensor embed(Site site, const Tensor& tokens, const Layout& layout,
                       const ForwardContext& context);  // stem: before and after the prefix
  // Training only. The taps and the layout of the last stage.
  virtual AuxLoss loss(const Taps& taps, const Layout& layout, const ForwardContext& context);
  virtual std::vector<std::string> taps() const;  // block outputs that loss() reads
  // By parameter name relative to the prior ("layers.0.alpha").
  virtual Decay decay(std::string_view name, const Tensor& parameter) const;
  virtual bool training_only(std::string_view name) const;  // absent from the exported model

  // Layers of the stage in order, null where layer() gave none; registered as "layers.<l>", l counted over the
  // whole network.
  const std::vector<std::shared_ptr<PriorLayer>>& layers() const { return layers_; }
  void build_layers(const std::vector<LayerInfo>& infos);

 private:
  std::vector<std::shared_ptr<PriorLayer>> layers_;
};

// What a prior is built from: one stage of the network.
struct PriorContext {
  std::vector<LayerInfo> layers;
  std::int64_t width = 0;  // of the token stream
  Layout reference;        // what its hooks see at construction: those of the softmax a window, the others the grid
};

// A prior as the catalog lists it: engine/priors/<id with underscores>.cc defines one function that returns
// it.
struct PriorItem {
  Item item;  // kind "prior"
  std::shared_ptr<Prior> (*make)(const PriorContext& context, const Options& options);
  // The block before which the prefix tokens join the patches; the stem and the blocks before it have none.
  // Null: the first. Where the model has fewer blocks they join before the last.
  std::int64_t (*prefix_from)(const Options& options) = nullptr;

  std::string id() const { return item.json().at("id"); }
  std::vector<Hook> hooks() const;
};

Registry<PriorItem>& prior_registry();  // first, every line of priors.def
inline const std::deque<PriorItem>& prior_items() { return prior_registry().all(); }
inline const PriorItem& prior_item(std::string_view id) { return prior_registry().find(id); }

}  // namespace locus::engine
