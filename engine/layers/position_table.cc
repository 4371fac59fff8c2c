// The three manners differ in kernel and sampling factor alone.
#include "engine/layers/position_table.h"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/upsample_bicubic2d.h>

namespace locus::engine {
namespace {

constexpr double kDinoOffset = 0.1;

Tensor scaled(const Tensor& image, const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to,
              std::string_view manner) {
  if (manner == "timm") return at::_upsample_bicubic2d_aa(image, to, /*align_corners=*/false);
  if (manner == "deit") return at::upsample_bicubic2d(image, to, /*align_corners=*/false);
  if (manner != "dino") {
    throw std::invalid_argument("position tables are resized as in deit, dino or timm, not '" + std::string(manner) +
                                "'");
  }
  const auto factor = [&](std::size_t axis) {
    return (static_cast<double>(to[axis]) + kDinoOffset) / static_cast<double>(from[axis]);
  };
  return at::upsample_bicubic2d(image, to, /*align_corners=*/false, factor(0), factor(1));
}

}  // namespace

Tensor resized_positions(const Tensor& patches, const std::vector<std::int64_t>& from,
                         const std::vector<std::int64_t>& to, std::string_view manner) {
  if (from.size() != 2 || to.size() != 2 || patches.dim() != 2 || patches.size(0) != from[0] * from[1]) {
    throw std::invalid_argument("a table of shape " + c10::str(patches.sizes()) + " is not one of a grid of " +
                                c10::str(from) + " patches");
  }
  const at::ScalarType type = patches.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor image = patches.to(type).view({1, from[0], from[1], -1}).permute({0, 3, 1, 2});
  return scaled(image, from, to, manner).permute({0, 2, 3, 1}).reshape({to[0] * to[1], -1}).to(patches.scalar_type());
}

}  // namespace locus::engine
