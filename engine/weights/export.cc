// The rules of layout timm, read backwards.
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

std::string timm_name(const std::string& canonical) {
  for (const LayoutRule& rule : layout_registry().find("timm").rules) {
    if (rule.step != Step::kCopy && rule.step != Step::kRows) continue;
    if (rule.from == "dist_token") continue;  // the same as a register, which goes by reg_token
    if (auto name = renamed({rule.to, rule.from}, canonical)) return *name;
  }
  return "";
}

}  // namespace

std::map<std::string, Tensor> timm_tensors(const std::map<std::string, Tensor>& model, std::int64_t channels,
                                           bool drop_priors) {
  const CanonicalWeights weights = canonical_weights(model, "locus", "");
  std::map<std::string, Tensor> out;
  std::vector<std::string> homeless;
  for (const auto& [name, tensor] : weights.tensors) {
    if (drop_priors && name.starts_with("priors.")) continue;
    const std::string target = timm_name(name);
    if (target.empty()) {
      homeless.push_back(name);
    } else if (name == "embed.weight") {
      out[target] = kernel_of(tensor, channels);
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
