// Rules by name.
#include "engine/train/groups.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace locus::engine {
namespace {

constexpr std::string_view kPriors = "priors.";

// The part of a full name behind its last dot.
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Prefix tokens and positions, by our names and by timm's. Tables of positions that are priors of ours say it themselves.
bool listed_by_models(std::string_view name) {
  static constexpr std::string_view kTokens[] = {"class_token", "registers", "cls_token",
                                                 "dist_token",  "reg_token", "pos_embed"};
  return std::find(std::begin(kTokens), std::end(kTokens), last_part(name)) != std::end(kTokens);
}

bool contains_norm(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small.find("norm") != std::string::npos;
}

// "backbone.blocks.3" of "backbone.blocks.3.norm1.weight"; empty without a block.
std::string_view block_of(std::string_view name) {
  constexpr std::string_view kBlocks = "blocks.";
  const std::size_t at = name.find(kBlocks);
  if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) return {};
  const std::size_t end = name.find('.', at + kBlocks.size());
  return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

// Whether a comes before b, runs of digits counting as numbers: blocks.2 before blocks.10.
bool before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of("0123456789", at), text.size()) - at;
  };
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::size_t m = digits(a, i), n = digits(b, j);
    if (m > 0 && n > 0) {
      if (m != n) return m < n;  // no leading zeros
      const int order = a.substr(i, m).compare(b.substr(j, n));
      if (order != 0) return order < 0;
      i += m;
      j += n;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() < b.size();
}

// 3 of "backbone.priors.violin.layers.3.alpha": layers of priors count over the network. -1 where there is none.
std::int64_t layer_of_prior(std::string_view name) {
  constexpr std::string_view kLayers = ".layers.";
  const std::size_t prior = name.find(kPriors), at = name.find(kLayers);
  if (prior == std::string_view::npos || at == std::string_view::npos || at < prior) return -1;
  const std::string number(name.substr(at + kLayers.size(), name.find('.', at + kLayers.size()) - at - kLayers.size()));
  return std::stoll(number);
}

// Without the network's own name.
std::string_view plain(std::string_view name) {
  constexpr std::string_view kBackbone = "backbone.";
  return name.starts_with(kBackbone) ? name.substr(kBackbone.size()) : name;
}

}  // namespace

DecayRule decay_rule_of(std::string_view name) {
  static constexpr std::pair<std::string_view, DecayRule> kRules[] = {
      {"task", DecayRule::kTask}, {"timm", DecayRule::kTimm},   {"matrices", DecayRule::kMatrices},
      {"none", DecayRule::kNone}, {"names", DecayRule::kNames}, {"mmseg", DecayRule::kMmseg}};
  for (const auto& [known, rule] : kRules) {
    if (known == name) return rule;
  }
  throw std::invalid_argument("there is no rule '" + std::string(name) +
                              "' of what weight decay spares; choose task, timm, matrices, none, names or mmseg");
}

bool decays(DecayRule rule, std::string_view name, std::int64_t axes, Decay own) {
  const bool matrix = axes > 1 && !name.ends_with(".bias");
  switch (rule) {
    case DecayRule::kTask:
      return own == Decay::kDecayed;
    case DecayRule::kTimm:
      return own == Decay::kDecayed && matrix && !listed_by_models(name);
    case DecayRule::kMatrices:
      return matrix && (own == Decay::kDecayed || layer_of_prior(name) < 0);
    case DecayRule::kNone:
      return true;
    case DecayRule::kMmseg:
      return name.find(kPriors) == std::string_view::npos ? !listed_by_models(name) : own == Decay::kDecayed;
    case DecayRule::kNames:
      return !name.ends_with(".bias") && !contains_norm(name);
  }
  return true;
}

LayerDecay::LayerDecay(const std::vector<std::string>& names, double decay, bool norm_with_last_block)
    : decay_(decay), norm_with_last_block_(norm_with_last_block) {
  for (const std::string& name : names) {
    const std::string_view block = block_of(name);
    if (!block.empty() && std::find(blocks_.begin(), blocks_.end(), block) == blocks_.end())
      blocks_.emplace_back(block);
  }
  std::sort(blocks_.begin(), blocks_.end(), before);
}

std::int64_t LayerDecay::layer(std::string_view name) const {
  const std::int64_t last = layers() - 1;
  if (const std::int64_t of_prior = layer_of_prior(name); of_prior >= 0) return std::min(of_prior + 1, last);
  const auto block = std::find(blocks_.begin(), blocks_.end(), block_of(name));
  if (block != blocks_.end()) return 1 + (block - blocks_.begin());
  const std::string_view rest = plain(name);
  if (rest.starts_with("norm.") || rest.starts_with("fc_norm.") || rest.starts_with("cls_norm."))
    return norm_with_last_block_ ? last - 1 : last;
  return rest.starts_with("head") ? last : 0;
}

double LayerDecay::scale(std::string_view name) const {
  return std::pow(decay_, static_cast<double>(layers() - 1 - layer(name)));
}

std::vector<ParameterGroup> parameter_groups(const Task& task, const GroupRules& rules) {
  std::vector<std::string> names;
  for (const auto& item : task.named_parameters()) names.push_back(item.key());
  const LayerDecay by_layer(names, rules.layer_decay, rules.norm_with_last_block);
  const bool layered = rules.layer_decay != 1;
  const auto layers = static_cast<std::size_t>(layered ? by_layer.layers() : 1);
  std::vector<ParameterGroup> out(2 * layers);
  for (const auto& item : task.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const Decay own = task.decay(item.key(), item.value());
    const bool left_alone = own == Decay::kExempt && task.training_only(item.key());
    const bool decayed = !left_alone && decays(rules.decay, item.key(), item.value().dim(), own);
    const std::size_t layer = layered ? static_cast<std::size_t>(by_layer.layer(item.key())) : 0;
    ParameterGroup& group = out[(decayed ? 0 : layers) + layer];
    group.weight_decay = decayed ? rules.weight_decay : 0;
    if (layered) group.lr_scale = by_layer.scale(item.key());
    group.parameters.push_back({item.key(), item.value()});
  }
  std::erase_if(out, [](const ParameterGroup& group) { return group.parameters.empty(); });
  return out;
}

}  // namespace locus::engine
