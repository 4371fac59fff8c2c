// The rules of a layout, read backwards.
#include "engine/weights/denoiser_export.h"

#include <cmath>
#include <set>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr std::string_view kEach = "{i}";  // in a name that a tensor has in every block

// [D, C p^2] -> [D, C, p, p]
Tensor denoiser_kernel_of(const Tensor& embed, std::int64_t channels) {
  const std::int64_t area = channels > 0 && embed.size(1) % channels == 0 ? embed.size(1) / channels : 0;
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(area))));
  if (area > 0 && side * side == area) return embed.view({embed.size(0), channels, side, side});
  throw DataError("its patch embedding of " + std::to_string(embed.size(1)) +
                  " numbers a patch is of no square patches of " + std::to_string(channels) + " channels");
}

Tensor part_of(const std::string& name, const Tensor& tensor, Step step, std::int64_t channels) {
  if (name == "embed.weight") return denoiser_kernel_of(tensor, channels);
  if (step != Step::kQuery && step != Step::kKey && step != Step::kValue) return tensor;
  return tensor.chunk(3)[step == Step::kQuery ? 0 : step == Step::kKey ? 1 : 2].contiguous();
}

std::set<std::string> blocks_of(const std::map<std::string, Tensor>& tensors) {
  constexpr std::string_view kBlocks = "blocks.";
  std::set<std::string> out;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(kBlocks))
      out.insert(name.substr(kBlocks.size(), name.find('.', kBlocks.size()) - kBlocks.size()));
  }
  return out;
}

}  // namespace

std::map<std::string, Tensor> denoiser_tensors(const std::map<std::string, Tensor>& model, const std::string& layout,
                                               std::int64_t channels) {
  const WeightsLayout& target = layout_registry().find(layout);
  const CanonicalWeights weights = canonical_weights(model, "locus", "");
  const std::set<std::string> blocks = blocks_of(weights.tensors);
  std::map<std::string, Tensor> out;
  std::vector<std::string> homeless;
  for (const auto& [name, tensor] : weights.tensors) {
    bool placed = false;
    for (const LayoutRule& rule : target.rules) {
      if (rule.step == Step::kUnused || rule.step == Step::kRefused) continue;
      const auto to = renamed({rule.to, rule.from}, name);
      if (!to) continue;
      placed = true;
      const Tensor part = part_of(name, tensor, rule.step, channels);
      const std::size_t each = to->find(kEach);
      if (each == std::string::npos) {
        out[*to] = part;
        continue;
      }
      for (const std::string& block : blocks) out[std::string(*to).replace(each, kEach.size(), block)] = part;
    }
    if (!placed) homeless.push_back(name);
  }
  if (!homeless.empty()) throw DataError("layout " + layout + " has no place for " + listed(homeless));
  return out;
}

}  // namespace locus::engine
