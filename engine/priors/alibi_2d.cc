// ALiBi on a grid: logits fall off linearly with the Euclidean distance of the patches, each head with its
// own slope.
//
//   b[n, i, j] = -m_n |r_i - r_j|_2, added after the scaling, the same in every layer
//
// Papers: Press et al. 2022, arXiv:2108.12409 (slopes); Fuller et al. 2023 (CROMA), arXiv:2311.00566 (2-D).
//
// Prefix tokens: "zero" gives their pairs no bias (CROMA); "origin" puts them at (0, 0) and the patches from
// (1, 1) on, as in the PaPE paper's baseline. Positions go on counting on larger grids, or are squeezed to
// the range seen in training. On boxes the distance is that of (t, y, x); points have the distance of their coordinates,
// and "origin" puts prefix tokens at 0, wherever the points lie.
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

// m_n = 2^(-8 (n + 1) / h) for a power of two; otherwise the slopes of the power below, then every second of
// the power above.
std::vector<double> slopes(std::int64_t heads) {
  const auto geometric = [](std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t n = 1; n <= count; ++n)
      values.push_back(std::exp2(-8.0 * static_cast<double>(n) / static_cast<double>(count)));
    return values;
  };
  std::int64_t below = 1;
  while (below * 2 <= heads) below *= 2;
  std::vector<double> values = geometric(below);
  const std::vector<double> above = geometric(2 * below);
  for (std::size_t i = 0; values.size() < static_cast<std::size_t>(heads); i += 2) values.push_back(above[i]);
  return values;
}

// The distance of every offset, [R], and which of them every pair reads.
struct OffsetDistances {
  Tensor distance;
  PairIndex index;
};

// Distances shared by the layers, per layout and, where attention runs along one axis, per axis.
struct Alibi2dDistances {
  bool origin = false, interpolate = false;
  Layout reference;
  std::map<std::int64_t, PerLayout<OffsetDistances>> kept;  // by the axis of a line, -1 for the whole grid

  // Of a grid, where the distance is a function of the offset: for prefix tokens at the origin too.
  const OffsetDistances& get(const Layout& layout, std::int64_t line, at::TensorOptions options) {
    return kept[line].get(layout, options.device(), options.dtype().toScalarType(), [&] {
      const bool placed = origin && layout.prefix > 0;
      Tensor offset = offsets(placed ? with_origin(layout) : layout, at::kDouble);
      if (interpolate) offset = offset * squeeze(layout, line);
      return OffsetDistances{offset.square().sum(1).sqrt().to(options),
                             placed ? origin_rule(layout, options.device()) : offset_rule(layout, options.device())};
    });
  }

 private:
  // Reference over present side of each axis, [axes].
  Tensor squeeze(const Layout& layout, std::int64_t line) const {
    std::vector<double> factor;
    for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) {
      const std::size_t of = line < 0 ? axis : static_cast<std::size_t>(line);
      factor.push_back(static_cast<double>(reference.extent.at(of)) / static_cast<double>(layout.extent[axis]));
    }
    return at::tensor(factor, at::kDouble);
  }
};

class Alibi2dLayer final : public PriorLayer {
 public:
  Alibi2dLayer(const LayerInfo& info, std::shared_ptr<Alibi2dDistances> distances) : distances_(std::move(distances)) {
    slope_ = register_buffer("slope", at::tensor(slopes(info.heads)).to(at::kFloat));
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const c10::InferenceMode normal_tensors(false);  // the term is kept, and may meet a training step later
    const Layout& layout = inputs.layout;
    const at::ScalarType type = inputs.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto options = inputs.q.options().dtype(type);
    const Tensor slope = slope_.to(type);
    if (layout.points) {
      const bool placed = distances_->origin && layout.prefix > 0;
      const Tensor points = patch_positions(layout, options);
      return {Depends::kLayout, DistanceDecay{.positions = placed ? behind_origin(points, layout.prefix) : points,
                                              .slope = slope,
                                              .prefix = placed ? 0 : layout.prefix}};
    }
    const OffsetDistances& of = distances_->get(layout, inputs.axis, options);
    return {Depends::kLayout, offset_bias(of.distance * slope.neg().unsqueeze(1), of.index)};
  }

 private:
  std::shared_ptr<Alibi2dDistances> distances_;
  Tensor slope_;  // [H]
};

class Alibi2d final : public Prior {
 public:
  Alibi2d(bool origin, bool interpolate, const Layout& reference) : distances_(std::make_shared<Alibi2dDistances>()) {
    distances_->origin = origin;
    distances_->interpolate = interpolate;
    distances_->reference = reference;
  }
  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<Alibi2dLayer>(info, distances_);
  }

 private:
  std::shared_ptr<Alibi2dDistances> distances_;
};

}  // namespace

PriorItem alibi_2d() {
  Item item = prior_entry("alibi-2d", 1, "Linear bias with the distance of patches",
                          "Press et al. 2022, arXiv:2108.12409", "L = c q k^T - m |r_i - r_j|", {"bias"}, {1, 2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a lookup by the offset in every pair a layer; no T x T tensor"});
  takes_points(item);
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  item.option(Option::text("prefix", "zero",
                           "bias of class and register tokens: none (zero), or by distance from a corner (origin)")
                  .choices({"zero", "origin"}));
  item.option(Option::text("other_grids", "extrapolate",
                           "positions on other grids than at training: go on counting, or squeeze them")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate"));
  return {item, [](const PriorContext& context, const Options& options) -> std::shared_ptr<Prior> {
            return std::make_shared<Alibi2d>(options.text("prefix") == "origin",
                                             options.text("other_grids") == "interpolate", context.reference);
          }};
}

}  // namespace locus::engine::priors
