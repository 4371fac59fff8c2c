// Hook names, default hooks.
#include "engine/priors/prior.h"

#include <array>

namespace locus::engine {
namespace {

constexpr std::array<std::string_view, kHookCount> kHookNames = {
    "embed",      "block-embed", "transform-qk", "bias",    "scale", "probabilities", "from-probabilities",
    "add-output", "gate-output", "feed-forward", "pattern", "loss"};

[[noreturn]] void missing(Hook hook) {
  throw std::logic_error("hook '" + std::string(to_string(hook)) +
                         "' is declared in the catalog entry but not overridden");
}

}  // namespace

std::string_view to_string(Hook hook) { return kHookNames.at(static_cast<std::size_t>(hook)); }

Hook parse_hook(std::string_view name) {
  for (std::size_t i = 0; i < kHookNames.size(); ++i) {
    if (kHookNames[i] == name) return static_cast<Hook>(i);
  }
  throw std::invalid_argument("no hook is called '" + std::string(name) + "'");
}

Tensor PriorLayer::embed(Site, const Tensor&, const Layout&, const ForwardContext&) { missing(Hook::kBlockEmbed); }
std::pair<Tensor, Tensor> PriorLayer::transform_qk(const Tensor&, const Tensor&, const AttentionInputs&,
                                                   const ForwardContext&) {
  missing(Hook::kTransformQk);
}
BiasTerm PriorLayer::bias(const AttentionInputs&, const ForwardContext&) { missing(Hook::kBias); }
BiasTerm PriorLayer::scale(const AttentionInputs&, const ForwardContext&) { missing(Hook::kScale); }
std::optional<ProbabilityTerm> PriorLayer::probability_term(const AttentionInputs&, const ForwardContext&) {
  return std::nullopt;
}
Tensor PriorLayer::probabilities(const Tensor& p, const AttentionInputs& inputs, const ForwardContext& context) {
  const auto term = probability_term(inputs, context);
  if (!term) missing(Hook::kProbabilities);
  return apply_term(*term, p);
}
std::optional<std::vector<ValueTable>> PriorLayer::value_tables(const AttentionInputs&, const ForwardContext&) {
  return std::nullopt;
}
Tensor PriorLayer::from_probabilities(const Tensor& p, const AttentionInputs& inputs, const ForwardContext& context) {
  const auto tables = value_tables(inputs, context);
  if (!tables || tables->empty()) missing(Hook::kFromProbabilities);
  Tensor sum = tables->front().of(p);
  for (std::size_t t = 1; t < tables->size(); ++t) sum = sum + (*tables)[t].of(p);
  return sum;
}
Tensor PriorLayer::add_output(const AttentionInputs&, const ForwardContext&) { missing(Hook::kAddOutput); }
Tensor PriorLayer::gate_output(const AttentionInputs&, const ForwardContext&) { missing(Hook::kGateOutput); }
Tensor PriorLayer::feed_forward(const Tensor&, const FeedForward&, const Layout&, const ForwardContext&) {
  missing(Hook::kFeedForward);
}
bool PriorLayer::start_values(const Tensor&) const { return false; }

std::shared_ptr<PriorLayer> Prior::layer(const LayerInfo&) { return nullptr; }
void Prior::initialize(const Initializer&) {}
bool Prior::uses(Hook) const { return true; }
Pattern Prior::pattern(const LayerInfo&) const { missing(Hook::kPattern); }
void Prior::begin_forward(const Layout&, const ForwardContext&) {}
Tensor Prior::embed(Site, const Tensor&, const Layout&, const ForwardContext&) { missing(Hook::kEmbed); }
AuxLoss Prior::loss(const Taps&, const Layout&, const ForwardContext&) { missing(Hook::kLoss); }
std::vector<std::string> Prior::taps() const { return {}; }
Decay Prior::decay(std::string_view name, const Tensor& parameter) const { return default_decay(name, parameter); }
bool Prior::training_only(std::string_view) const { return false; }

void Prior::build_layers(const std::vector<LayerInfo>& infos) {
  const auto container = std::make_shared<Module>();
  bool any = false;
  for (const LayerInfo& info : infos) {
    layers_.push_back(layer(info));
    if (!layers_.back()) continue;
    container->register_module(std::to_string(info.layer), layers_.back());
    any = true;
  }
  if (any) register_module("layers", container);
}

Decay default_decay(std::string_view name, const Tensor& parameter) {
  return parameter.dim() <= 1 || name.ends_with("bias") ? Decay::kExempt : Decay::kDecayed;
}

std::vector<Hook> PriorItem::hooks() const {
  std::vector<Hook> hooks;
  for (const Json& name : item.json().at("hooks")) hooks.push_back(parse_hook(name.get<std::string>()));
  return hooks;
}

}  // namespace locus::engine
