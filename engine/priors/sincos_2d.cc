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
// In pape's order an axis of odd width D_a has one sine more than cosines and w_k = base^(-2k / D_a); the
// other orders need a width that four divides. (The original of mae calls the column "h".) Any grid is
// computed anew.
#include <cmath>

#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

// [T, width]: sines, then cosines, of position * base^(-2k / width).
struct Waves {
  Tensor sin, cos;
};
Waves waves(const Tensor& position, std::int64_t width, double base) {
  const std::int64_t sines = (width + 1) / 2;
  const Tensor exponent = at::arange(sines, at::kDouble) * (-2.0 / static_cast<double>(width));
  const Tensor angle = position.unsqueeze(1) * at::pow(base, exponent);
  return {angle.sin(), angle.cos().slice(1, 0, width / 2)};
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

  // Of the patches along an axis, behind the prefix where it has a place; in double.
  Tensor coordinate(const Layout& layout, std::int64_t axis) const {
    Tensor out = grid_positions(layout, at::kDouble).select(1, axis) + (pape() ? 1 : 0);
    const auto side = static_cast<std::size_t>(axis);
    if (interpolate_)
      out = out * (static_cast<double>(reference_.extent[side]) / static_cast<double>(layout.extent[side]));
    return pape() ? at::cat({at::zeros({layout.prefix}, at::kDouble), out}) : out;
  }

  // [N, D], or [T, D] in pape's order.
  Tensor table(const Layout& layout) const {
    const Waves x = waves(coordinate(layout, 1), width_ / 2, base_);
    const Waves y = waves(coordinate(layout, 0), width_ - width_ / 2, base_);
    if (order_ == "timm") return at::cat({y.sin, x.sin, y.cos, x.cos}, 1);
    if (order_ == "timm-interleaved") return at::cat({y.sin, y.cos, x.sin, x.cos}, 1);
    return at::cat({x.sin, x.cos, y.sin, y.cos}, 1);
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
                          "He et al. 2021, arXiv:2111.06377", "z = z + [sin(r w), cos(r w)]", {"embed"}, {2});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"fused", "explicit"},
               .cost = "one addition at the stem; the table is kept per grid"});
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
