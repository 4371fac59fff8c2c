// What all backbones share: blocks and priors by stage, and the way from a stage configuration.
#include "engine/backbones/backbone.h"

#include <cmath>
#include <optional>
#include <span>

#include "engine/backbones/items.h"
#include "engine/backbones/requirements.h"

namespace locus::engine {
namespace {

// Hooks that live in a layer; the stem's, the pattern and the loss belong to the prior itself.
bool of_layer(Hook hook) { return hook != Hook::kEmbed && hook != Hook::kPattern && hook != Hook::kLoss; }

// Hooks that see the tokens the softmax sees.
bool of_softmax(Hook hook) {
  return hook == Hook::kTransformQk || hook == Hook::kBias || hook == Hook::kScale || hook == Hook::kProbabilities ||
         hook == Hook::kFromProbabilities;
}

bool any_of(const std::vector<Hook>& hooks, bool (*which)(Hook)) {
  return std::any_of(hooks.begin(), hooks.end(), which);
}

// The only stage a prior acts in, none where it acts in all: without hooks in layers the last one calls its loss, or
// the first one embeds.
std::optional<std::size_t> only_stage(const PriorItem& item, std::size_t stages) {
  const std::vector<Hook> hooks = item.hooks();
  if (any_of(hooks, of_layer)) return std::nullopt;
  return std::find(hooks.begin(), hooks.end(), Hook::kLoss) == hooks.end() ? 0 : stages - 1;
}

// Of each stage, what of a choice stands there; nothing where it is left out.
using SetInStages = std::vector<std::optional<SetPrior>>;

SetInStages set_in_stages(const PriorChoice& choice, std::size_t stages) {
  const PriorItem& item = prior_item(choice.id);
  const std::string who = "prior " + item.id();
  if (!choice.stages.is_array() || (!choice.stages.empty() && choice.stages.size() != stages)) {
    throw std::invalid_argument(who + ": its stages must be a list of one entry for each of the backbone's " +
                                std::to_string(stages));
  }
  const std::optional<std::size_t> only = only_stage(item, stages);
  SetInStages out(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    const Json differs = choice.stages.empty() ? Json::object() : choice.stages[s];
    if (differs.is_null()) continue;
    if (!differs.is_object())
      throw std::invalid_argument(who + ": what differs in stage " + std::to_string(s) + " must be options or null");
    if (only && *only != s) {
      if (differs.empty()) continue;
      throw std::invalid_argument(who + " acts in stage " + std::to_string(*only) + " alone; options in stage " +
                                  std::to_string(s) + " mean nothing");
    }
    Json options = choice.options;
    options.update(differs);
    out[s] = SetPrior{&item, Options(item.item.json(), options).json()};
  }
  if (std::none_of(out.begin(), out.end(), [](const auto& set) { return set.has_value(); }))
    throw std::invalid_argument(who + " is left out of every stage it acts in");
  return out;
}

PriorContext context_of(const StageInfo& stage, const PriorItem& item) {
  return {.layers = stage.layers,
          .width = stage.width,
          .reference = any_of(item.hooks(), of_softmax) ? stage.layers.at(0).reference : stage.grid};
}

// Attention hides what fills a sample up. These hooks reach other tokens without it, or lines of them.
bool passes_attention(Hook hook) {
  return hook == Hook::kBlockEmbed || hook == Hook::kAddOutput || hook == Hook::kFeedForward || hook == Hook::kLoss ||
         hook == Hook::kPattern;
}

std::vector<Hook> hooks_in_use(const PriorItem& item, const Prior& prior, const StageInfo& stage) {
  std::vector<Hook> hooks = item.hooks();
  std::erase_if(hooks, [&](Hook hook) { return !prior.uses(hook); });
  if (stage.windows && std::find(hooks.begin(), hooks.end(), Hook::kPattern) != hooks.end())
    throw std::invalid_argument(in_stage(stage) + "prior " + item.id() +
                                " sets the pattern of attention, which stays within windows here");
  for (const Hook hook : hooks) {
    if (!stage.padded || !passes_attention(hook)) continue;
    throw std::invalid_argument(in_stage(stage) + "prior " + item.id() + ": its hook " + std::string(to_string(hook)) +
                                " would reach the tokens that fill samples up to a common length");
  }
  return hooks;
}

// Of two choices those that meet in a stage, and everything of one that acts in one stage alone.
void check_together(const SetInStages& earlier, const SetInStages& later, const std::vector<StageInfo>& stages) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t t = 0; t < stages.size(); ++t) {
      if (!earlier[s] || !later[t]) continue;
      const bool alone = only_stage(*earlier[s]->item, stages.size()) || only_stage(*later[t]->item, stages.size());
      if (s == t || alone || earlier[s]->item == later[t]->item) check_pair(*earlier[s], *later[t], stages[t]);
    }
  }
}

void check_stage(const StageInfo& stage) {
  for (const LayerInfo& info : stage.layers) {
    if (info.stage != stage.index || info.reference.extent != stage.layers[0].reference.extent)
      throw std::logic_error("the layers of stage " + std::to_string(stage.index) + " do not belong together");
  }
}

}  // namespace

void Backbone::build_priors(const BackboneContext& context, std::vector<StageInfo> stages) {
  stages_ = std::move(stages);
  std::for_each(stages_.begin(), stages_.end(), check_stage);
  priors_.resize(stages_.size());
  if (context.priors.empty()) return;
  const auto container = std::make_shared<Module>();
  std::vector<SetInStages> all;
  for (const PriorChoice& choice : context.priors) {
    const PriorItem& item = prior_item(choice.id);
    all.push_back(set_in_stages(choice, stages_.size()));
    const SetInStages& set = all.back();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (set[s]) check_requirements(*set[s], stages_[s]);
    }
    for (const SetInStages& earlier : std::span(all).first(all.size() - 1)) check_together(earlier, set, stages_);
    const auto of_stages = std::make_shared<Module>();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (!set[s]) continue;
      const auto prior = item.make(context_of(stages_[s], item), Options(item.item.json(), set[s]->options));
      prior->build_layers(stages_[s].layers);
      std::string name = item.id();
      if (stages_.size() > 1 && !only_stage(item, stages_.size())) {
        name += ".stages." + std::to_string(s);
        of_stages->register_module(std::to_string(s), prior);
      } else {
        container->register_module(name, prior);
      }
      priors_[s].push_back(
          {item.id(), std::move(name), hooks_in_use(item, *prior, stages_[s]), prior, &item, set[s]->options});
    }
    if (of_stages->named_modules().is_empty()) continue;
    container->register_module(item.id(), std::make_shared<Module>())->register_module("stages", of_stages);
  }
  register_module("priors", container);
  for (const NamedPrior& named : priors_.back()) {
    for (const std::string& tap : named.prior->taps()) request_tap(tap);
  }
}

void Backbone::begin_forward(const std::vector<Layout>& layouts, const ForwardContext& context) const {
  for (std::size_t s = 0; s < priors_.size(); ++s) {
    for (const NamedPrior& named : priors_[s]) named.prior->begin_forward(layouts.at(s), context);
  }
  for (const auto& [name, adapter] : adapters_) adapter->begin_forward(context.step, context.training, context.random);
}

std::int64_t Backbone::prefix_from(const std::vector<PriorChoice>& priors, std::int64_t depth) {
  std::int64_t from = 0;
  for (const PriorChoice& choice : priors) {
    const PriorItem& item = prior_item(choice.id);
    if (item.prefix_from != nullptr) from = std::max(from, item.prefix_from(Options(item.item.json(), choice.options)));
  }
  return std::min(from, depth - 1);
}

Pattern Backbone::pattern(const LayerInfo& info) const {
  for (const NamedPrior& named : priors(info.stage)) {
    if (named.has(Hook::kPattern)) return named.prior->pattern(info);
  }
  return Pattern::kGlobal;
}

std::vector<AttachedPrior> Backbone::attached(const LayerInfo& info) const {
  const auto place =
      static_cast<std::size_t>(info.layer - stages_.at(static_cast<std::size_t>(info.stage)).layers[0].layer);
  std::vector<AttachedPrior> out;
  for (const NamedPrior& named : priors(info.stage)) {
    const auto& layer = named.prior->layers()[place];
    if (!layer) continue;
    AttachedPrior attached{layer, named.hooks, named.prior->parameters()};
    std::erase_if(attached.hooks, [](Hook hook) { return !of_layer(hook); });
    for (const Tensor& buffer : named.prior->buffers()) attached.state.push_back(buffer);
    out.push_back(std::move(attached));
  }
  return out;
}

void Backbone::add_block(Module& container, const std::string& name, std::int64_t index, BlockOptions options,
                         const LinearFactory& linear) {
  options.attention.pattern = pattern(options.info);
  const std::string number = std::to_string(index);
  blocks_.push_back(container.register_module(
      number, std::make_shared<Block>(options, attached(options.info), linear, name + "." + number)));
}

Backbone::LinearStart Backbone::truncated_normal(double deviation) {
  return [deviation](const Initializer& whole, const std::string& name, Linear& linear) {
    const at::NoGradGuard no_grad;
    whole.truncated_normal(linear.weight, name + ".weight", deviation);
    if (linear.bias.defined()) linear.bias.zero_();
  };
}

Backbone::LinearStart Backbone::xavier_uniform() {
  return [](const Initializer& whole, const std::string& name, Linear& linear) {
    const at::NoGradGuard no_grad;
    const double bound = std::sqrt(6 / static_cast<double>(linear.weight.size(0) + linear.weight.size(1)));
    whole.uniform(linear.weight, name + ".weight", -bound, bound);
    if (linear.bias.defined()) linear.bias.zero_();
  };
}

void Backbone::initialize(const RandomStreams& random, const LinearStart& start) {
  const Initializer whole(random, "");
  for (const auto& entry : named_modules()) {
    if (entry.key().starts_with("priors.")) continue;  // they start by themselves
    if (const auto part = std::dynamic_pointer_cast<SelfStarting>(entry.value()))
      part->start(whole.within(entry.key()));
    if (auto adapter = std::dynamic_pointer_cast<Adapter>(entry.value()))
      adapters_.emplace(entry.key(), std::move(adapter));
    if (const auto linear = std::dynamic_pointer_cast<Linear>(entry.value())) start(whole, entry.key(), *linear);
  }
  for (const auto& stage : priors_) {
    for (const NamedPrior& named : stage) named.prior->initialize(Initializer(random, "priors." + named.name + "."));
  }
  for (const auto& block : blocks_) {
    block->attention().start_values();
    block->start_scales();
  }
}

Tensor Backbone::embedded(Site site, Tensor tokens, const Layout& layout, const ForwardContext& context) const {
  for (const NamedPrior& named : priors_.at(0)) {
    if (named.has(Hook::kEmbed)) tokens = named.prior->embed(site, tokens, layout, context);
  }
  return tokens;
}

Tensor Backbone::run_block(std::int64_t layer, const Tensor& x, const Layout& layout, const Inputs& inputs,
                           const ForwardContext& context, Features& features) const {
  Tensor out = blocks_.at(static_cast<std::size_t>(layer))->forward(x, layout, context, inputs.condition);
  if (tapped_.contains(layer)) {
    const std::string name = "block-" + std::to_string(layer);
    features.taps[name] = out;
    features.tap_layouts[name] = layout;
  }
  return out;
}

void Backbone::finish(Features& features, Tensor normed) {
  const FeatureMap& last = features.stages.back();
  features.tokens = std::move(normed);
  features.layout = last.layout;
  features.taps["pre-norm"] = last.tokens;
  features.taps["post-norm"] = features.tokens;
  features.tap_layouts["pre-norm"] = features.tap_layouts["post-norm"] = last.layout;
}

Tensor Backbone::final_norm(const Tensor&) const {
  throw std::invalid_argument("the backbone has no final norm for the tokens of other blocks than the last");
}

Features Backbone::after_block(const Features& features, std::int64_t layer) const {
  const std::string tap = "block-" + std::to_string(layer);
  Features out;
  out.tokens = final_norm(features.taps.at(tap));
  out.layout = features.tap_layouts.at(tap);
  return out;
}

void Backbone::refuse_hidden(const Inputs& inputs) const {
  if (inputs.hidden.defined())
    throw std::invalid_argument("the backbone has no token to put in place of hidden patches");
}

void Backbone::request_tap(std::string_view name) {
  if (name == "pre-norm" || name == "post-norm") return;
  const std::int64_t layers = stages_.back().layers.back().layer + 1;
  for (std::int64_t l = 0; l < layers; ++l) {
    if (name == "block-" + std::to_string(l)) {
      tapped_.insert(l);
      return;
    }
  }
  throw std::invalid_argument("the backbone has no tap '" + std::string(name) +
                              "'; it has pre-norm, post-norm and, of " + std::to_string(layers) +
                              " blocks counted from 0, block-<number>");
}

std::string Backbone::path() const {
  std::set<std::string> taken;
  for (const auto& block : blocks_) taken.insert(block->attention().paths().begin(), block->attention().paths().end());
  std::string joined;
  for (const std::string& path : taken) joined += (joined.empty() ? "" : "+") + path;
  return joined;
}

std::vector<AuxLoss> Backbone::auxiliary_losses(const Features& features, const ForwardContext& context) const {
  std::vector<AuxLoss> losses;
  for (const NamedPrior& named : priors_.back()) {
    if (!named.has(Hook::kLoss)) continue;
    losses.push_back(named.prior->loss(features.taps, features.layout, context));
    losses.back().prior = named.id;
  }
  return losses;
}

// Whose parameter "priors.violin.layers.0.alpha" is, and `rest` of the name: "layers.0.alpha". Null: no prior's.
const NamedPrior* Backbone::owner(std::string_view name, std::string_view& rest) const {
  for (const auto& stage : priors_) {
    for (const NamedPrior& named : stage) {
      const std::string start = "priors." + named.name + ".";
      if (!name.starts_with(start)) continue;
      rest = name.substr(start.size());
      return &named;
    }
  }
  return nullptr;
}

const Adapter* Backbone::adapter_of(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.ends_with(".weight") || name.ends_with(".bias")) return nullptr;
  const auto found = adapters_.find(name.substr(0, dot));
  return found == adapters_.end() ? nullptr : found->second.get();
}

std::string Backbone::prior_of(std::string_view name) const {
  std::string_view rest;
  const NamedPrior* named = owner(name, rest);
  return named == nullptr ? "" : named->id;
}

Decay Backbone::decay(std::string_view name, const Tensor& parameter) const {
  const Adapter* adapter = adapter_of(name);
  if (adapter != nullptr && !adapter->decays(name.substr(name.rfind('.') + 1))) return Decay::kExempt;
  std::string_view rest;
  const NamedPrior* named = owner(name, rest);
  return named == nullptr ? own_decay(name, parameter) : named->prior->decay(rest, parameter);
}

bool Backbone::training_only(std::string_view name) const {
  if (const Adapter* adapter = adapter_of(name)) return adapter->exports_merged;
  std::string_view rest;
  const NamedPrior* named = owner(name, rest);
  return named != nullptr && named->prior->training_only(rest);
}

Json backbones::linear_maps_of_blocks(const std::string& blocks) {
  const auto map = [&](const char* name, const char* in, const char* out, int joint) {
    return Json({{"name", blocks + "." + name}, {"count", "depth"}, {"in", in}, {"out", out}, {"joint", joint}});
  };
  return Json::array({map("attention.qkv", "dim", "3 * dim", 3), map("attention.out", "dim", "dim", 1),
                      map("mlp.in", "dim", "hidden", 1), map("mlp.out", "hidden", "dim", 1)});
}

Registry<BackboneItem>& backbone_registry() {
  static Registry<BackboneItem> entries("backbone", {
#define LOCUS_BACKBONE(file) backbones::file(),
#include "engine/backbones/backbones.def"
#undef LOCUS_BACKBONE
                                                    });
  return entries;
}

std::shared_ptr<Backbone> make_backbone(const Json& stage_configuration, const InputFacts& input,
                                        const RandomStreams& random, const std::string& path) {
  BackboneContext context{.input = input, .priors = {}, .random = random, .path = path};
  for (const Json& prior : stage_configuration.at("priors")) {
    context.priors.push_back({prior.at("id").get<std::string>(), prior.value("options", Json::object()),
                              prior.value("stages", Json::array())});
  }
  const std::optional<AdapterChoice> adapter = adapter_choice(stage_configuration);
  std::set<std::string> layers;
  if (adapter) {
    context.linear = [&](std::string_view name, std::int64_t in, std::int64_t out, bool with_bias) {
      layers.emplace(name);
      return adapter->linear(name, in, out, with_bias);
    };
  }
  const Json& model = stage_configuration.at("model");
  const BackboneItem& item = backbone_item(model.at("id").get<std::string>());
  auto backbone = item.make(context, Options(item.item.json(), model.value("options", Json::object())));
  if (adapter) adapter->check_targets(layers);
  return backbone;
}

}  // namespace locus::engine
