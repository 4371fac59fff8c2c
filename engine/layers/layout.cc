// Grid layouts and their coordinates.
#include "engine/layers/layout.h"

namespace locus::engine {

std::int64_t Layout::patches() const {
  std::int64_t count = 1;
  for (const std::int64_t length : extent) count *= length;
  return count;
}

Tensor grid_positions(const Layout& layout, at::TensorOptions options) {
  std::vector<Tensor> axes;
  for (const std::int64_t length : layout.extent) axes.push_back(at::arange(length, options));
  if (axes.size() == 1) return axes[0].unsqueeze(1);
  std::vector<Tensor> columns;
  for (const Tensor& grid : at::meshgrid(axes, "ij")) columns.push_back(grid.reshape(-1));
  return at::stack(columns, 1);
}

}  // namespace locus::engine
