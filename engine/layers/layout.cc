// Layouts and coordinates.
#include "engine/layers/layout.h"

namespace locus::engine {

std::int64_t Layout::patches() const {
  std::int64_t count = 1;
  for (const std::int64_t length : extent) count *= length;
  return count;
}

std::int64_t Layout::rank() const {
  return points ? points->position.size(2) : static_cast<std::int64_t>(extent.size());
}

bool Layout::operator==(const Layout& other) const {
  if (extent != other.extent || prefix != other.prefix || points != other.points) return false;
  return !points || valid.is_same(other.valid);
}

Layout points_layout(std::int64_t axes, std::int64_t prefix) {
  return points_layout(at::empty({1, 0, axes}), {}, prefix);
}

Layout points_layout(const Tensor& position, const Tensor& valid, std::int64_t prefix) {
  if (position.dim() != 3 || !at::isFloatingType(position.scalar_type())) {
    throw std::invalid_argument("points need floating coordinates [batch, points, axes], not " +
                                c10::str(position.sizes()) + " of " + c10::str(position.scalar_type()));
  }
  if (valid.defined() && (valid.scalar_type() != at::kBool || valid.sizes() != position.sizes().slice(0, 2))) {
    throw std::invalid_argument("which of " + c10::str(position.sizes().slice(0, 2)) +
                                " points are valid is told by as many booleans, not " + c10::str(valid.sizes()) +
                                " of " + c10::str(valid.scalar_type()));
  }
  return {{position.size(1)}, prefix, std::make_shared<const Points>(Points{position}), valid};
}

Tensor grid_positions(const Layout& layout, at::TensorOptions options) {
  if (layout.points) throw std::invalid_argument("points lie on no grid");
  std::vector<Tensor> axes;
  for (const std::int64_t length : layout.extent) axes.push_back(at::arange(length, options));
  if (axes.size() == 1) return axes[0].unsqueeze(1);
  std::vector<Tensor> columns;
  for (const Tensor& grid : at::meshgrid(axes, "ij")) columns.push_back(grid.reshape(-1));
  return at::stack(columns, 1);
}

Tensor patch_positions(const Layout& layout, at::TensorOptions options, std::int64_t first) {
  if (layout.points) return layout.points->position.detach().to(options.dtype().toScalarType());
  const Tensor grid = grid_positions(layout, options);
  return first == 0 ? grid : grid + first;
}

Tensor behind_origin(const Tensor& positions, std::int64_t prefix) {
  return at::constant_pad_nd(positions, {0, 0, prefix, 0}, 0);
}

}  // namespace locus::engine
