// Offsets of patches and their rows.
#include "engine/priors/offsets.h"

namespace locus::engine {

std::int64_t offset_count(const Layout& layout) {
  return (2 * layout.extent.at(0) - 1) * (2 * layout.extent.at(1) - 1);
}

Tensor offsets(const Layout& layout, at::TensorOptions options) {
  const std::int64_t rows = layout.extent.at(0), columns = layout.extent.at(1);
  const Layout wide{{2 * rows - 1, 2 * columns - 1}, 0};
  const Tensor first = at::tensor({rows - 1, columns - 1}, at::kLong).to(options);
  return grid_positions(wide, options) - first;
}

Tensor offset_index(const Layout& layout, const PrefixRows& prefix) {
  const std::int64_t rows = layout.extent.at(0), columns = layout.extent.at(1), count = offset_count(layout);
  const Tensor at_patch = grid_positions(layout, at::kLong);
  const Tensor offset = at_patch.unsqueeze(1) - at_patch.unsqueeze(0);  // [N, N, 2]
  const Tensor patches = (offset.select(2, 0) + (rows - 1)) * (2 * columns - 1) + offset.select(2, 1) + (columns - 1);
  if (layout.prefix == 0) return patches;
  Tensor index = at::full({layout.tokens(), layout.tokens()}, count + prefix.within, at::kLong);
  index.slice(0, 0, layout.prefix).slice(1, layout.prefix).fill_(count + prefix.from_prefix);
  index.slice(0, layout.prefix).slice(1, 0, layout.prefix).fill_(count + prefix.to_prefix);
  index.slice(0, layout.prefix).slice(1, layout.prefix).copy_(patches);
  return index;
}

}  // namespace locus::engine
