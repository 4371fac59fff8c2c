// Coordinates of tokens around the grid's center.
#include "engine/priors/points.h"

#include "engine/priors/offsets.h"

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

// What a step from patch to patch is in `measure`, [rank] double.
Tensor step_of(const Layout& layout, const Layout& reference, Measure measure) {
  std::vector<double> step;
  for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) {
    const auto length = static_cast<double>(layout.extent[axis]);
    const double interpolated = static_cast<double>(reference.extent.at(axis)) / length;
    step.push_back(measure == Measure::kPatches ? 1.0 : measure == Measure::kInterpolated ? interpolated : 1 / length);
  }
  return at::tensor(step, at::kDouble);
}

// Coordinates by the axes of the extent, x before y where there are two.
Tensor in_order(const Tensor& places) { return places.size(-1) == 2 ? places.flip(-1) : places; }

}  // namespace

Tensor centered_points(const Layout& layout, const Layout& reference, Measure measure, at::TensorOptions options) {
  if (layout.points) {
    if (measure != Measure::kPatches) throw std::invalid_argument("points have no sides to measure positions by");
    return centered(layout, options);
  }
  const auto wide = options.dtype(at::kDouble);
  const Tensor points = behind_origin(grid_positions(layout, wide) + 1, layout.prefix);
  std::vector<double> middle;
  for (const std::int64_t length : layout.extent) middle.push_back((static_cast<double>(length) + 1) / 2);
  const Tensor step = step_of(layout, reference, measure).to(wide);
  return in_order((points - at::tensor(middle, at::kDouble).to(wide)) * step).to(options);
}

Tensor measured_offsets(const Layout& layout, const Layout& reference, Measure measure, bool origin,
                        at::TensorOptions options) {
  const auto wide = options.dtype(at::kDouble);
  const Tensor offset = offsets(origin ? with_origin(layout) : layout, wide);
  return in_order(-offset * step_of(layout, reference, measure).to(wide)).to(options);
}

}  // namespace locus::engine
