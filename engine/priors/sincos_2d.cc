// Fixed sines and cosines of the patch's column and row, added to the stem.
//
//   z = z + E,   E holds sin(r w_k) and cos(r w_k), w_k = base^(-k / K)
//
// Papers: Vaswani et al. 2017, arXiv:1706.03762, section 3.5 (one axis); He et al. 2021, arXiv:2111.06377.
//
// Orders, each: position of the first row and column; channels; prefix tokens.
//   mae               0; [sin x | cos x | sin y | cos y], K = D/4 each; nothing added (DiT too)
//   timm              0; [sin y | sin x | cos y | cos x]; nothing added
//   timm-interleaved  0; [sin y | cos y | sin x | cos x]; nothing added
//   pape              1; x in the first half of the channels, y in the rest, each [sin | cos]; at (0, 0)
//
// On boxes (pape alone; the others have two axes) t, y and x have a third of the channels each, x the rest too; points
// keep their coordinates and the order of their axes. ("Where to Attend", section on the baselines: nD-sincos.)
// In pape's order an axis of odd width D_a has one sine more than cosines and w_k = base^(-2k / D_a); the
// other orders need a width that four divides. (The original of mae calls the column "h".) Any grid is
// computed anew.
#include <cmath>

#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

// [.., T, width]: sines, then cosines, of position [.., T] * base^(-2k / width).
struct Waves {
  Tensor sin, cos;
};
Waves waves(const Tensor& position, std::int64_t width, double base) {
  const std::int64_t sines = (width + 1) / 2;
  const Tensor exponent = at::arange(sines, position.options()) * (-2.0 / static_cast<double>(width));
  const Tensor angle = position.unsqueeze(-1) * at::pow(base, exponent);
  return {angle.sin(), angle.cos().slice(-1, 0, width / 2)};
}

class Sincos2d final : public Prior {
 public:
  Sincos2d(const PriorContext& context, std::string order, double base, bool interpolate)
      : reference_(context.reference),
        width_(context.width),
        order_(std::move(order)),
        base_(base),
        interpolate_(interpolate) {
    if (!pape() && width_ % 4 != 0) {
      throw std::invalid_argument("prior sincos-2d: order " + order_ + " needs a width that 4 divides, not " +
                                  std::to_string(width_) + "; order pape takes any");
    }
  }

  Tensor embed(Site site, const Tensor& tokens, const Layout& layout, const ForwardContext&) override {
    if (site != (pape() ? Site::kAfterPrefix : Site::kBeforePrefix)) return tokens;
    return tokens + kept_.get(layout, tokens.device(), tokens.scalar_type(),
                              [&] { return table(layout).to(tokens.device(), tokens.scalar_type()); });
  }

 private:
  bool pape() const { return order_ == "pape"; }

  // [N, D], or [T, D] in pape's order; of points [B, T, D].
  Tensor table(const Layout& layout) const {
    Tensor position = patch_positions(layout, at::kDouble, pape() ? 1 : 0);
    if (interpolate_) {
      std::vector<double> factor;
      for (std::size_t axis = 0; axis < layout.extent.size(); ++axis)
        factor.push_back(static_cast<double>(reference_.extent[axis]) / static_cast<double>(layout.extent[axis]));
      position = position * at::tensor(factor, at::kDouble);
    }
    if (pape()) return in_papes_order(behind_origin(position, layout.prefix), layout.extent.size() == 2);
    const Waves x = waves(position.select(1, 1), width_ / 2, base_),
                y = waves(position.select(1, 0), width_ / 2, base_);
    if (order_ == "timm") return at::cat({y.sin, x.sin, y.cos, x.cos}, 1);
    if (order_ == "timm-interleaved") return at::cat({y.sin, y.cos, x.sin, x.cos}, 1);
    return at::cat({x.sin, x.cos, y.sin, y.cos}, 1);
  }

  // An equal share of the channels for each axis, the last one has the rest. Images name x first.
  Tensor in_papes_order(Tensor position, bool image) const {
    if (image) position = position.flip(-1);
    const std::int64_t axes = position.size(-1), share = width_ / axes;
    std::vector<Tensor> parts;
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const std::int64_t width = axis + 1 < axes ? share : width_ - share * (axes - 1);
      const Waves wave = waves(position.select(-1, axis), width, base_);
      parts.insert(parts.end(), {wave.sin, wave.cos});
    }
    return at::cat(parts, -1);
  }

  Layout reference_;
  std::int64_t width_;
  std::string order_;
  double base_;
  bool interpolate_;
  PerLayout<Tensor> kept_;
};

}  // namespace

PriorItem sincos_2d() {
  Item item = prior_entry("sincos-2d", 1, "Fixed sines and cosines of column and row, added to the patches",
                          "He et al. 2021, arXiv:2111.06377", "z = z + [sin(r w), cos(r w)]", {"embed"}, {2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "one addition at the stem; the table is kept per grid"});
  takes_points(item);
  on_rectangles_when(item, "order", {"mae", "timm", "timm-interleaved"},
                     "orders other than pape have channels for two axes");
  on_grids_when(item, "order", {"mae", "timm", "timm-interleaved"}, "of the orders only pape is defined for points");
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  item.option(Option::text("order", "mae", "whose channels, and where counting starts")
                  .choices({"mae", "timm", "timm-interleaved", "pape"}));
  item.option(Option::number("base", 10000.0, "base of the frequencies").above(1.0).maximum(1e9).neutral(10000.0));
  item.option(Option::text("other_grids", "extrapolate",
                           "positions on other grids than at training: go on counting, or squeeze them")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate"));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Sincos2d>(context, o.text("order"), o.number("base"),
                                              o.text("other_grids") == "interpolate");
          }};
}

}  // namespace locus::engine::priors
