// A backbone turns images into token features, in one stage or several. Tasks put heads on it; it knows its
// priors only by their hooks.
#pragma once

#include <algorithm>

#include "engine/adapters/adapter.h"
#include "engine/backbones/block.h"
#include "engine/base/registry.h"
#include "engine/layers/linear.h"
#include "engine/priors/prior.h"

namespace locus::engine {

// What a dataset's items look like to a model.
struct InputFacts {
  std::int64_t channels = 1;
  std::vector<std::int64_t> extent;  // of an image at training resolution: height, width
  // Above 0: there are no images, the tokens are points whose coordinates have that many axes. A network with the fact
  // "points" is then built of its blocks, which run on any points_layout(), of samples of several lengths, too.
  std::int64_t point_axes = 0;
};

struct PriorChoice {
  std::string id;
  Json options = Json::object();
  // What differs in each stage, objects laid over `options`; null leaves the prior out of the stage. Empty: nothing
  // differs.
  Json stages = Json::array();
};

struct BackboneContext {
  InputFacts input;
  std::vector<PriorChoice> priors;  // in the order they apply
  const RandomStreams& random;      // of the trial: initial weights
  std::string path = "auto";        // execution path, or "auto"; an execution field, never part of an identity
  LinearFactory linear = plain_linear();
};

// What a forward works on. Most tasks have an image and nothing else.
struct Inputs {
  Inputs(Tensor images) : image(std::move(images)) {}  // NOLINT(google-explicit-constructor): images are inputs
  // Bytes, of each of which `byte_values` float32 [C or 1, 256] says what it stands for, by channel.
  Inputs(Tensor bytes, Tensor byte_values) : image(std::move(bytes)), values(std::move(byte_values)) {}
  Tensor image;              // [B, C, H, W]
  Tensor values = {};        // undefined unless the image is of bytes
  Condition condition = {};  // what the blocks follow besides it
  Tensor hidden = {};        // bool [B, N]: the patches whose content is hidden; undefined: none
};

// The tokens of one stage after its last block, before what leads to the next one.
struct FeatureMap {
  Tensor tokens;  // [B, T, D of the stage]
  Layout layout;
  std::int64_t width() const { return tokens.size(-1); }
};

struct Features {
  Tensor tokens;  // [B, T, D] of the last stage after the final norm, prefix first
  Taps taps;
  Layout layout;  // of `tokens`
  std::vector<FeatureMap> stages = {};
  std::map<std::string, Layout, std::less<>> tap_layouts = {};  // one for each tap
};

// One instance of a prior: what it is in one stage.
struct NamedPrior {
  std::string id;
  std::string name;         // below "priors.": the id, or "<id>.stages.<s>" where there are several
  std::vector<Hook> hooks;  // in use
  std::shared_ptr<Prior> prior;
  const PriorItem* item;
  Json options;  // complete
  bool has(Hook hook) const { return std::find(hooks.begin(), hooks.end(), hook) != hooks.end(); }
};

// The patches of images [B, C, H, W] in raster order, each a row of its numbers, channels first: [B, N, C patch^2]. A
// convolution as wide as its stride is a linear map of these. `patch` must divide H and W.
Tensor patches_of(const Tensor& images, std::int64_t patch);
// The same of a forward's image, bytes included.
Tensor patches_of(const Inputs& inputs, std::int64_t patch);

// A module whose parameters are initialized from context.random by name. Not thread-safe.
class Backbone : public Module {
 public:
  // Images of any extent that layouts() takes; throws std::invalid_argument on others, and on inputs that the
  // network has no use for.
  virtual Features forward(const Inputs& inputs, const ForwardContext& context) = 0;
  // Whether forward() takes images as bytes, too.
  virtual bool takes_bytes() const { return false; }
  virtual Tensor pooled(const Features& features) const = 0;     // [B, pooled_width()]: what a head reads
  virtual std::int64_t width() const = 0;                        // D of Features::tokens
  virtual std::int64_t pooled_width() const { return width(); }  // of pooled()
  // Features whose tokens are those after block `layer` of the last stage, which must be tapped, through the final norm:
  // what pooled() takes of another block than the last. Throws std::invalid_argument where the network has no such norm.
  Features after_block(const Features& features, std::int64_t layer) const;
  // Where the tokens of each stage lie for images of that extent, the prefix included that the stage ends with.
  // Throws std::invalid_argument where the network takes no such images.
  virtual std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const = 0;
  // Operations of a forward pass over one image by the model's structure, a multiply-add counted as two: its
  // linear maps and its attention. What priors compute inside their hooks and what is element-wise is left
  // out.
  virtual std::int64_t flops(std::int64_t height, std::int64_t width) const = 0;
  // "pre-norm" and "post-norm" are always there; "block-<l>", l counted over the network, when asked for. Throws
  // std::invalid_argument if there is none of that name.
  void request_tap(std::string_view name);
  std::string path() const;  // execution paths its layers have taken so far: "explicit", "explicit+fused"

  const std::vector<StageInfo>& stages() const { return stages_; }
  const std::vector<std::shared_ptr<Block>>& blocks() const { return blocks_; }  // of the network, in order
  // The priors that act in a stage, in prior order. A prior without hooks in layers acts in the one stage that calls
  // it, the first or, for a loss, the last.
  const std::vector<NamedPrior>& priors(std::int64_t stage) const {
    return priors_.at(static_cast<std::size_t>(stage));
  }
  // Tells every prior that a forward begins; `layouts` has one for each stage.
  void begin_forward(const std::vector<Layout>& layouts, const ForwardContext& context) const;

  // The losses of the priors that have one, in prior order. Training only.
  std::vector<AuxLoss> auxiliary_losses(const Features& features, const ForwardContext& context) const;
  // By full parameter name ("blocks.0.attention.qkv.weight", "priors.violin.layers.0.alpha").
  Decay decay(std::string_view name, const Tensor& parameter) const;
  bool training_only(std::string_view name) const;
  std::string prior_of(std::string_view name) const;  // the id of the prior whose parameter it is; or empty
  // The adapter that has it beside weight and bias; or null.
  const Adapter* adapter_of(std::string_view name) const;

 protected:
  // Makes the priors, one instance for each stage they act in, and registers them under "priors.<id>", in a network
  // of several stages under "priors.<id>.stages.<s>". Refuses with std::invalid_argument, naming the stage, what the
  // catalog excludes, what a prior requires and the stage has not, and options that fit no stage. Call first.
  void build_priors(const BackboneContext& context, std::vector<StageInfo> stages);
  // Makes the block of a layer with its priors and their pattern, and registers it as "<index>" in `container`, whose
  // full name is `name`. Call in the order of the network.
  void add_block(Module& container, const std::string& name, std::int64_t index, BlockOptions options,
                 const LinearFactory& linear);
  // How a linear layer of that full name starts, its bias included.
  using LinearStart = std::function<void(const Initializer& whole, const std::string& name, Linear& linear)>;
  // Weights truncated normal, cut at -2 and 2; biases 0.
  static LinearStart truncated_normal(double deviation);
  // Weights uniform within sqrt(6 / (in + out)) (Glorot and Bengio 2010); biases 0.
  static LinearStart xavier_uniform();
  // Every linear layer, self-starting part and prior by its full name, so that models with other priors start from the
  // same common weights. Call last.
  void initialize(const RandomStreams& random, const LinearStart& start);
  // Whether weight decay pulls on a parameter that is no prior's and no adapter's.
  virtual Decay own_decay(std::string_view name, const Tensor& parameter) const {
    return default_decay(name, parameter);
  }
  // What the priors make of the tokens of the stem.
  Tensor embedded(Site site, Tensor tokens, const Layout& layout, const ForwardContext& context) const;
  // Runs a block and keeps what was asked for of it.
  Tensor run_block(std::int64_t layer, const Tensor& x, const Layout& layout, const Inputs& inputs,
                   const ForwardContext& context, Features& features) const;
  // The final norm of tokens [B, T, D] of the last stage.
  virtual Tensor final_norm(const Tensor& tokens) const;
  // Ends a forward: `normed` is the last stage after the final norm.
  static void finish(Features& features, Tensor normed);
  // Throws std::invalid_argument where the inputs hide patches.
  void refuse_hidden(const Inputs& inputs) const;
  // The block before which the prefix tokens join, of `depth` blocks: what the priors say, else 0.
  static std::int64_t prefix_from(const std::vector<PriorChoice>& priors, std::int64_t depth);

 private:
  Pattern pattern(const LayerInfo& info) const;  // what the priors make of it; global where none does
  std::vector<AttachedPrior> attached(const LayerInfo& info) const;
  const NamedPrior* owner(std::string_view name, std::string_view& rest) const;

  std::vector<StageInfo> stages_;
  std::vector<std::vector<NamedPrior>> priors_;  // by stage
  std::vector<std::shared_ptr<Block>> blocks_;
  std::map<std::string, std::shared_ptr<Adapter>, std::less<>> adapters_;  // by full name
  std::set<std::int64_t> tapped_;
};

struct BackboneItem {
  Item item;  // kind "backbone"
  std::shared_ptr<Backbone> (*make)(const BackboneContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<BackboneItem>& backbone_registry();  // first, every line of backbones.def
inline const std::deque<BackboneItem>& backbone_items() { return backbone_registry().all(); }
inline const BackboneItem& backbone_item(std::string_view id) { return backbone_registry().find(id); }

// From a stage configuration (docs/formats/catalog.md): reads "model", "priors" and "adapter". Adapters are not started
// (Adapter::start). Throws std::invalid_argument naming what is wrong.
std::shared_ptr<Backbone> make_backbone(const Json& stage_configuration, const InputFacts& input,
                                        const RandomStreams& random, const std::string& path = "auto");

}  // namespace locus::engine
