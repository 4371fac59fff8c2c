// The rules of a layout, read backwards.
#include "engine/weights/export.h"

#include <cmath>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

// [D, C p^2] -> [D, C, p, p]
Tensor patch_kernel(const Tensor& embed, std::int64_t channels) {
  for (const std::int64_t c : channels > 0 ? std::vector{channels} : std::vector<std::int64_t>{3, 1}) {
    const std::int64_t area = embed.size(1) % c == 0 ? embed.size(1) / c : 0;
    const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(area))));
    if (area > 0 && side * side == area) return embed.view({embed.size(0), c, side, side});
  }
  throw DataError("its patch embedding of " + std::to_string(embed.size(1)) +
                  " numbers a patch is of no square patches of that many channels: say how many with --channels");
}

using Weights = std::map<std::string, Tensor>;

// Writes canonical tensors by the rules of a layout, the first that fits.
class Writer {
 public:
  Writer(const WeightsLayout& layout, const Weights& weights, std::int64_t channels)
      : layout_(layout), weights_(weights), channels_(channels) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights) names.push_back(name);
    depths_ = stage_depths({"stages.{s}.blocks.{i}.**"}, names);
  }

  // Whether the layout has a place for it.
  bool write(const std::string& name, const Tensor& tensor) {
    for (const LayoutRule& rule : layout_.rules) {
      if (rule.read_only || rule.step == Step::kUnused || rule.step == Step::kRefused || rule.step == Step::kBinaryMask)
        continue;
      const std::string& to = !rule.second.empty() && !filled(rule.to, rule.from, name) ? rule.second : rule.to;
      const auto target = filled(to, rule.from, name);
      if (!target) continue;
      if (!rule.beside.empty() && !weights_.contains(filled(to, rule.beside, name).value_or(""))) continue;
      if (rule.step == Step::kHalves && !weights_.contains(other_half(rule, name))) continue;
      put(rule, name, tensor, *target);
      if (rule.step != Step::kQuery && rule.step != Step::kKey && rule.step != Step::kValue &&
          rule.step != Step::kQueryKey)
        return true;
      covered_[name] += rule.step == Step::kQueryKey ? 2 : 1;
      if (covered_[name] == 3) return true;
    }
    return false;
  }

  // The masks of biases whose part for the keys is 0.
  void write_masks() {
    for (const LayoutRule& rule : layout_.rules) {
      if (rule.step != Step::kBinaryMask) continue;
      for (const auto& [name, tensor] : weights_) {
        const auto target = filled(rule.to, rule.from, name);
        if (!target || tensor.size(0) % 3 != 0) continue;
        const std::int64_t part = tensor.size(0) / 3;
        if (tensor.slice(0, part, 2 * part).ne(0).any().item<bool>()) continue;
        Tensor mask = at::ones_like(tensor);
        mask.slice(0, part, 2 * part).zero_();
        out[*target] = mask;
      }
    }
  }

  Weights out;

 private:
  // The placeholders of a rule's `to`, filled in for a canonical name that fits it, put into another of its patterns.
  std::optional<std::string> filled(const std::string& to, const std::string& pattern,
                                    const std::string& canonical) const {
    return renamed({to, pattern}, canonical, depths_);
  }
  std::string other_half(const LayoutRule& rule, const std::string& name) const {
    const bool first = filled(rule.to, rule.from, name).has_value();
    return *filled(first ? rule.to : rule.second, first ? rule.second : rule.to, name);
  }
  void put(const LayoutRule& rule, const std::string& name, const Tensor& tensor, const std::string& target) {
    const auto third = [&](std::int64_t first, std::int64_t count) {
      const std::int64_t part = tensor.size(0) / 3;
      return tensor.slice(0, first * part, (first + count) * part).contiguous();
    };
    switch (rule.step) {
      case Step::kRows:
        out[target] = tensor.unsqueeze(0);
        return;
      case Step::kMap:
        out[target] = tensor.unsqueeze(-1).unsqueeze(-1);
        return;
      case Step::kFactors:
        out[target] = tensor.unsqueeze(-1).unsqueeze(-1);
        return;
      case Step::kTrailing:
        out[target] = tensor.view({1, 1, 1, -1});
        return;
      case Step::kUnfolded:
        out[target] = tensor.unflatten(-1, {2, 2, -1}).transpose(-3, -1).flatten(-3);
        return;
      case Step::kQuery:
        out[target] = third(0, 1);
        return;
      case Step::kKey:
        out[target] = third(1, 1);
        return;
      case Step::kValue:
        out[target] = third(2, 1);
        return;
      case Step::kQueryKey:
        out[target] = third(0, 2);
        return;
      case Step::kHalves: {
        const Tensor& other = weights_.at(other_half(rule, name));
        out[target] = filled(rule.to, rule.from, name) ? at::cat({tensor, other}) : at::cat({other, tensor});
        return;
      }
      default:
        out[target] = name == "embed.weight" ? patch_kernel(tensor, channels_) : tensor;
    }
  }

  const WeightsLayout& layout_;
  const Weights& weights_;
  std::int64_t channels_;
  std::vector<std::int64_t> depths_;    // blocks of each stage of a network that has several
  std::map<std::string, int> covered_;  // of maps that are written in parts, how many of three are
};

std::string writable_layouts() {
  std::string out;
  for (const WeightsLayout& one : weights_layouts()) {
    if (one.writes) out += (out.empty() ? "" : ", ") + one.id();
  }
  return out;
}

}  // namespace

std::map<std::string, Tensor> layout_tensors(const std::map<std::string, Tensor>& model, const std::string& layout,
                                             std::int64_t channels, bool drop_priors) {
  const WeightsLayout& target = layout_registry().find(layout);
  if (!target.writes)
    throw DataError("no models are written by the names of layout " + layout +
                    "; choose one of: " + writable_layouts());
  const CanonicalWeights weights = canonical_weights(model, "locus", "");
  Writer writer(target, weights.tensors, channels);
  std::vector<std::string> homeless;
  for (const auto& [name, tensor] : weights.tensors) {
    if (writer.write(name, tensor)) continue;
    if (!drop_priors || !name.starts_with("priors.")) homeless.push_back(name);
  }
  writer.write_masks();
  if (!homeless.empty())
    throw DataError("a model by the names of layout " + layout + " has no place for " + listed(homeless) +
                    "; leave parameters of priors out with --drop-priors, which changes what the model computes, or "
                    "name the layout of its network with --layout: " +
                    writable_layouts());
  return writer.out;
}

}  // namespace locus::engine
