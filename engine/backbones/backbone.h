// A backbone turns images into token features. Tasks put heads on it; it knows its priors only by their
// hooks.
#pragma once

#include <algorithm>

#include "engine/base/registry.h"
#include "engine/layers/linear.h"
#include "engine/priors/prior.h"

namespace locus::engine {

// What a dataset's items look like to a model.
struct InputFacts {
  std::int64_t channels = 1;
  std::vector<std::int64_t> extent;  // of an image at training resolution: height, width
};

struct PriorChoice {
  std::string id;
  Json options = Json::object();
};

struct BackboneContext {
  InputFacts input;
  std::vector<PriorChoice> priors;  // in the order they apply
  const RandomStreams& random;      // of the trial: initial weights
  std::string path = "auto";        // execution path, or "auto"; an execution field, never part of an identity
  LinearFactory linear = plain_linear();
};

struct Features {
  Tensor tokens;  // [B, T, D] after the final norm, prefix first
  Taps taps;
  Layout layout;
};

// A module whose parameters are initialized from context.random by name. Not thread-safe.
class Backbone : public torch::nn::Module {
 public:
  // images [B, C, H, W] of any extent the patches divide; throws std::invalid_argument otherwise.
  virtual Features forward(const Tensor& images, const ForwardContext& context) = 0;
  virtual Tensor pooled(const Features& features) const = 0;  // [B, D]: what a classification head reads
  virtual std::int64_t width() const = 0;                     // D of tokens and pooled
  // Operations of a forward pass over one image by the model's structure, a multiply-add counted as two: its
  // linear maps and its attention. What priors compute inside their hooks and what is element-wise is left
  // out.
  virtual std::int64_t flops(std::int64_t height, std::int64_t width) const = 0;
  virtual void request_tap(std::string_view name) = 0;  // throws std::invalid_argument if there is none of that name
  virtual std::string path() const = 0;  // execution paths its layers have taken so far: "explicit", "explicit+fused"

  // The losses of the priors that have one, in prior order. Training only.
  std::vector<AuxLoss> auxiliary_losses(const Features& features, const ForwardContext& context) const;
  // By full parameter name ("blocks.0.attention.qkv.weight", "priors.violin.layers.0.alpha").
  Decay decay(std::string_view name, const Tensor& parameter) const;
  bool training_only(std::string_view name) const;

  struct NamedPrior {
    std::string id;
    std::vector<Hook> hooks;
    std::shared_ptr<Prior> prior;
    const PriorItem* item;
    Json options;  // complete
    bool has(Hook hook) const { return std::find(hooks.begin(), hooks.end(), hook) != hooks.end(); }
  };
  const std::vector<NamedPrior>& priors() const { return priors_; }

 protected:
  // Makes and registers the priors under "priors.<id>"; refuses combinations the catalog excludes
  // (std::invalid_argument).
  void build_priors(const BackboneContext& context, const PriorContext& prior_context);
  void initialize_priors(const RandomStreams& random);
  Pattern pattern(const LayerInfo& info) const;  // what the priors make of it; global where none does
  // The block before which the prefix tokens join, of `depth` blocks: what the priors say, else 0.
  static std::int64_t prefix_from(const std::vector<PriorChoice>& priors, std::int64_t depth);

 private:
  std::vector<NamedPrior> priors_;
};

struct BackboneItem {
  Item item;  // kind "backbone"
  std::shared_ptr<Backbone> (*make)(const BackboneContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<BackboneItem>& backbone_registry();  // first, every line of backbones.def
inline const std::deque<BackboneItem>& backbone_items() { return backbone_registry().all(); }
inline const BackboneItem& backbone_item(std::string_view id) { return backbone_registry().find(id); }

// From a stage configuration (docs/formats/catalog.md): reads "model" and "priors". Throws
// std::invalid_argument naming what is wrong.
std::shared_ptr<Backbone> make_backbone(const Json& stage_configuration, const InputFacts& input,
                                        const RandomStreams& random, const std::string& path = "auto");

}  // namespace locus::engine
