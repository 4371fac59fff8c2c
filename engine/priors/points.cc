// Coordinates of tokens around the grid's center.
#include "engine/priors/points.h"

namespace locus::engine {

Measure measure_of(const Options& options) {
  if (options.text("coordinates") == "grids") return Measure::kGrids;
  return options.text("other_grids") == "interpolate" ? Measure::kInterpolated : Measure::kPatches;
}

std::string unit_of(Measure measure) { return measure == Measure::kGrids ? "grids" : "patches"; }

namespace {

// [B, T, rank]
Tensor centered(const Layout& layout, at::TensorOptions options) {
  const Tensor position = patch_positions(layout, options.dtype(at::kDouble));
  Tensor weight = at::ones({1, layout.patches(), 1}, position.options());
  if (layout.valid.defined()) weight = layout.valid.to(position.options()).unsqueeze(2);
  const Tensor middle = (position * weight).sum(1, /*keepdim=*/true) / weight.sum(1, /*keepdim=*/true).clamp_min(1);
  return (behind_origin(position, layout.prefix) - middle).to(options);
}

}  // namespace

Tensor centered_points(const Layout& layout, const Layout& reference, Measure measure, at::TensorOptions options) {
  if (layout.points) {
    if (measure != Measure::kPatches) throw std::invalid_argument("points have no sides to measure positions by");
    return centered(layout, options);
  }
  const auto rank = static_cast<std::int64_t>(layout.extent.size());
  const auto wide = options.dtype(at::kDouble);
  const Tensor patches = grid_positions(layout, wide) + 1;
  const Tensor points = at::cat({at::zeros({layout.prefix, rank}, wide), patches});
  std::vector<double> middle, stretch;
  for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) {
    const auto length = static_cast<double>(layout.extent[axis]);
    middle.push_back((length + 1) / 2);
    const double interpolated = static_cast<double>(reference.extent.at(axis)) / length;
    stretch.push_back(measure == Measure::kPatches        ? 1.0
                      : measure == Measure::kInterpolated ? interpolated
                                                          : 1 / length);
  }
  Tensor out = (points - at::tensor(middle, at::kDouble).to(wide)) * at::tensor(stretch, at::kDouble).to(wide);
  if (rank == 2) out = out.flip(1);
  return out.to(options);
}

}  // namespace locus::engine
