// ALiBi on a grid: logits fall off linearly with the Euclidean distance of the patches, each head with its
// own slope.
//
//   b[n, i, j] = -m_n |r_i - r_j|_2, added after the scaling, the same in every layer
//
// Papers: Press et al. 2022, arXiv:2108.12409 (slopes); Fuller et al. 2023 (CROMA), arXiv:2311.00566 (2-D).
//
// Prefix tokens: "zero" gives their pairs no bias (CROMA); "origin" puts them at (0, 0) and the patches from
// (1, 1) on, as in the PaPE paper's baseline.
#include <cmath>

#include "engine/priors/items.h"

namespace locus::priors {
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

// Coordinates shared by the layers, per layout.
struct Positions {
  bool origin = false;
  PerLayout<Tensor> kept;

  const Tensor& get(const Layout& layout, const Tensor& like) {
    return kept.get(layout, like.device(), like.scalar_type(), [&] {
      const Tensor patches = grid_positions(layout, like.options());
      if (!origin || layout.prefix == 0) return patches;
      return at::cat({at::zeros({layout.prefix, patches.size(1)}, like.options()), patches + 1});
    });
  }
};

class Alibi2dLayer final : public PriorLayer {
 public:
  Alibi2dLayer(const LayerInfo& info, std::shared_ptr<Positions> positions)
      : positions_(std::move(positions)) {
    slope_ = register_buffer("slope", at::tensor(slopes(info.heads)).to(at::kFloat));
  }

  Term bias(const Sides& sides, const Moment&) override {
    const Tensor slope = slope_.to(sides.q.scalar_type());
    const std::int64_t outside = positions_->origin ? 0 : sides.layout.prefix;
    return {Depends::kLayout, DistanceDecay{positions_->get(sides.layout, sides.q), slope, outside}};
  }

 private:
  std::shared_ptr<Positions> positions_;
  Tensor slope_;  // [H]
};

class Alibi2d final : public Prior {
 public:
  explicit Alibi2d(bool origin) : positions_(std::make_shared<Positions>()) { positions_->origin = origin; }
  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<Alibi2dLayer>(info, positions_);
  }

 private:
  std::shared_ptr<Positions> positions_;
};

}  // namespace

PriorItem alibi_2d() {
  Item item =
      prior_entry("alibi-2d", 1, "Linear bias with the distance of patches",
                  "Press et al. 2022, arXiv:2108.12409", "L = c q k^T - m |r_i - r_j|", {"bias"}, {1, 2, 3});
  item.option(
      Option::text("prefix", "zero",
                   "bias of class and register tokens: none (zero), or by distance from a corner (origin)")
          .choices({"zero", "origin"}));
  return {item, [](const PriorContext&, const Options& options) -> std::shared_ptr<Prior> {
            return std::make_shared<Alibi2d>(options.text("prefix") == "origin");
          }};
}

}  // namespace locus::priors
