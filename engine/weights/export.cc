// The rules of layouts timm and swin-timm, read backwards.
#include "engine/weights/export.h"

#include <cmath>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

// [D, C p^2] -> [D, C, p, p]
Tensor kernel_of(const Tensor& embed, std::int64_t channels) {
  for (const std::int64_t c : channels > 0 ? std::vector{channels} : std::vector<std::int64_t>{3, 1}) {
    const std::int64_t area = embed.size(1) % c == 0 ? embed.size(1) / c : 0;
    const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(area))));
    if (area > 0 && side * side == area) return embed.view({embed.size(0), c, side, side});
  }
  throw DataError("its patch embedding of " + std::to_string(embed.size(1)) +
                  " numbers a patch is of no square patches of that many channels: say how many with --channels");
}

// timm's names for the tensors of a network, by canonical ones.
class TimmNames {
 public:
  explicit TimmNames(const std::map<std::string, Tensor>& tensors) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    depths_ = stage_depths({"stages.{s}.blocks.{i}.**"}, names);
    layout_ = &layout_registry().find(depths_.empty() ? "timm" : "swin-timm");
  }

  // The rule that leads to a tensor and the name that it begins with; null where there is none.
  std::pair<const LayoutRule*, std::string> of(const std::string& canonical) const {
    for (const LayoutRule& rule : layout_->rules) {
      if (rule.step != Step::kCopy && rule.step != Step::kRows && rule.step != Step::kFactors) continue;
      if (rule.from == "dist_token") continue;  // the same as a register, which goes by reg_token
      if (auto name = renamed({rule.to, rule.from}, canonical, depths_)) return {&rule, *name};
    }
    return {nullptr, ""};
  }

 private:
  std::vector<std::int64_t> depths_;  // blocks of each stage; empty: one stage
  const WeightsLayout* layout_;
};

}  // namespace

std::map<std::string, Tensor> timm_tensors(const std::map<std::string, Tensor>& model, std::int64_t channels,
                                           bool drop_priors) {
  const CanonicalWeights weights = canonical_weights(model, "locus", "");
  std::map<std::string, Tensor> out;
  std::vector<std::string> homeless;
  const TimmNames names(weights.tensors);
  for (const auto& [name, tensor] : weights.tensors) {
    const auto [rule, target] = names.of(name);
    if (drop_priors && name.starts_with("priors.") && rule == nullptr) continue;
    if (rule == nullptr) {
      homeless.push_back(name);
    } else if (name == "embed.weight") {
      out[target] = kernel_of(tensor, channels);
    } else if (rule->step == Step::kFactors) {
      out[target] = tensor.view({-1, 1, 1});
    } else {
      const bool rows = name == "class_token" || name == "registers" || name == "position";
      out[target] = rows ? tensor.unsqueeze(0) : tensor;
    }
  }
  if (!homeless.empty())
    throw DataError("timm's model has no place for " + listed(homeless) +
                    "; leave parameters of priors out with --drop-priors, which changes what the model computes");
  return out;
}

}  // namespace locus::engine
