// Axial rotary position embedding: channel pairs of queries and keys turn by angles proportional to the
// patch's column and row.
//
//   q' = R(position) q,   k' = R(position) k;   values are left alone
//
// Papers: Su et al. 2021, arXiv:2104.09864, eq. 34 (rotation); Heo et al. 2024, arXiv:2403.13298 (axial).
//
// Flavors, each: positions; frequencies f_k (d: head width); which pair turns with which axis; which channels
// form a pair; prefix tokens.
//   rope-vit     from 0; 100^(-4k/d); first half of the pairs x, second y; neighbors; not turned
//   pape         from 1; 10000^(-4k/d); the same; (c, c + d/2); at (0, 0), hence not turned
//   visionllama  from 0; 10000^(-4k/d); x and y alternate; neighbors; at raster index -1
//   dinov3       2 (y + 0.5) / Hp - 1, likewise x; 2 pi 100^(-4k/d); first half y; (c, c + d/2); not turned
//
// Pairing matters only for exchanging weights. Angles are computed in double, applied in float32 or better.
#include <cmath>

#include "engine/priors/items.h"

namespace locus::priors {
namespace {

constexpr double kTwoPi = 6.28318530717958647692;

struct Flavor {
  const char* name;
  double theta;
  double first;           // position of the first row and column
  bool centered;          // positions in [-1, 1] by cell centers, instead
  bool rows_first;        // y before x
  bool alternate;         // axes alternate from pair to pair
  bool neighbors;         // a pair is (2c, 2c + 1), not (c, c + d/2)
  bool prefix_at_raster;  // prefix tokens at raster index -1, else not turned
};
constexpr Flavor kFlavors[] = {
    {"rope-vit", 100, 0, false, false, false, true, false},
    {"pape", 10000, 1, false, false, false, false, false},
    {"visionllama", 10000, 0, false, false, true, true, true},
    {"dinov3", 100, 0, true, true, false, false, false},
};

const Flavor& flavor_of(const std::string& name) {
  for (const Flavor& flavor : kFlavors) {
    if (name == flavor.name) return flavor;
  }
  throw std::invalid_argument("prior rope-axial: no flavor is called '" + name + "'");
}

// The partner of each channel within its pair.
Tensor swap_pairs(const Tensor& x, bool neighbors) {
  if (neighbors) return x.unflatten(-1, {x.size(-1) / 2, 2}).flip(-1).flatten(-2);
  return x.roll(x.size(-1) / 2, -1);
}

// cos and signed sin per channel, [T, d]; out = x cos + partner(x) sin.
struct Turns {
  Tensor cos, sin;
};

// Turns by fixed angles; the gradient turns back.
class Rotation : public torch::autograd::Function<Rotation> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& cos,
                        const Tensor& sin, bool neighbors) {
    context->saved_data["cos"] = cos;
    context->saved_data["sin"] = sin;
    context->saved_data["neighbors"] = neighbors;
    return turned(x, cos, sin, neighbors);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const Tensor cos = context->saved_data["cos"].toTensor(), sin = context->saved_data["sin"].toTensor();
    return {turned(grads[0], cos, sin.neg(), context->saved_data["neighbors"].toBool()), Tensor(), Tensor(),
            Tensor()};
  }

 private:
  static Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin, bool neighbors) {
    const Tensor wide = x.to(cos.scalar_type());
    return (wide * cos).addcmul_(swap_pairs(wide, neighbors), sin).to(x.scalar_type());
  }
};

// The tables of a model, shared by its layers.
class TurnTables {
 public:
  TurnTables(const Flavor& flavor, double theta, bool interpolate, Layout reference)
      : flavor_(flavor), theta_(theta), interpolate_(interpolate), reference_(std::move(reference)) {}

  const Turns& get(const Layout& layout, const Tensor& like) {
    const at::ScalarType type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return kept_.get(layout, like.device(), type, [&] {
      const Turns made = turns(angles(layout, like.size(-1)));
      return Turns{made.cos.to(like.device(), type), made.sin.to(like.device(), type)};
    });
  }
  bool neighbors() const { return flavor_.neighbors; }

 private:
  // Position of every patch along one axis, [N], in double.
  Tensor coordinate(const Layout& layout, std::int64_t axis) const {
    const Tensor index = grid_positions(layout, at::kDouble).select(1, axis);
    const auto length = static_cast<double>(layout.extent[static_cast<std::size_t>(axis)]);
    if (flavor_.centered) return (index + 0.5) * (2 / length) - 1;
    const Tensor position = index + flavor_.first;
    return interpolate_
               ? position * (static_cast<double>(reference_.extent[static_cast<std::size_t>(axis)]) / length)
               : position;
  }

  // [T, d/2]
  Tensor angles(const Layout& layout, std::int64_t width) const {
    const Tensor exponent = at::arange(width / 4, at::kDouble) * (-4.0 / static_cast<double>(width));
    const Tensor frequency = at::pow(theta_, exponent) * (flavor_.centered ? kTwoPi : 1.0);
    Tensor y = coordinate(layout, 0), x = coordinate(layout, 1);
    if (layout.prefix > 0) {
      const auto front = [&](double value, const Tensor& rest) {
        return at::cat({at::full({layout.prefix}, value, at::kDouble), rest});
      };
      const double stretch =
          interpolate_ ? static_cast<double>(reference_.extent[0]) / static_cast<double>(layout.extent[0])
                       : 1.0;
      const double across =
          interpolate_ ? static_cast<double>(reference_.extent[1]) / static_cast<double>(layout.extent[1])
                       : 1.0;
      y = front(flavor_.prefix_at_raster ? -stretch : 0.0, y);
      x = front(flavor_.prefix_at_raster ? static_cast<double>(layout.extent[1] - 1) * across : 0.0, x);
    }
    const Tensor along_x = x.unsqueeze(1) * frequency, along_y = y.unsqueeze(1) * frequency;  // [T, d/4]
    if (flavor_.alternate) return at::stack({along_x, along_y}, 2).flatten(1);
    return flavor_.rows_first ? at::cat({along_y, along_x}, 1) : at::cat({along_x, along_y}, 1);
  }

  Turns turns(const Tensor& angles) const {
    const Tensor cos = angles.cos(), sin = angles.sin();
    if (flavor_.neighbors)
      return {at::stack({cos, cos}, 2).flatten(1), at::stack({sin.neg(), sin}, 2).flatten(1)};
    return {at::cat({cos, cos}, 1), at::cat({sin.neg(), sin}, 1)};
  }

  Flavor flavor_;
  double theta_;
  bool interpolate_;
  Layout reference_;
  PerLayout<Turns> kept_;
};

class RopeAxialLayer final : public PriorLayer {
 public:
  explicit RopeAxialLayer(std::shared_ptr<TurnTables> tables) : tables_(std::move(tables)) {}

  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const Sides& sides,
                                         const Moment&) override {
    const Turns& turns = tables_->get(sides.layout, q);
    return {Rotation::apply(q, turns.cos, turns.sin, tables_->neighbors()),
            Rotation::apply(k, turns.cos, turns.sin, tables_->neighbors())};
  }

 private:
  std::shared_ptr<TurnTables> tables_;
};

class RopeAxial final : public Prior {
 public:
  explicit RopeAxial(std::shared_ptr<TurnTables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<PriorLayer> layer(const LayerInfo&) override {
    return std::make_shared<RopeAxialLayer>(tables_);
  }

 private:
  std::shared_ptr<TurnTables> tables_;
};

}  // namespace

PriorItem rope_axial() {
  Item item =
      prior_entry("rope-axial", 1, "Rotation of queries and keys by column and row",
                  "Heo et al. 2024, arXiv:2403.13298", "q' = R(p) q, k' = R(p) k", {"transform-qk"}, {2});
  item.set("requires", Json::array({{{"rule", "multiple-of"},
                                     {"value", "head_width"},
                                     {"factor", 4},
                                     {"help", "two axes, two channels a pair"}}}));
  std::vector<std::string> names;
  for (const Flavor& flavor : kFlavors) names.emplace_back(flavor.name);
  item.option(Option::text("flavor", "rope-vit", "whose positions, frequencies and pairing").choices(names));
  item.option(
      Option::number(
          "theta", 0.0,
          "base of the frequencies; 0: the flavor's own (rope-vit, dinov3 100; pape, visionllama 10000)")
          .minimum(0.0)
          .maximum(1e9)
          .neutral(0.0));
  item.option(Option::text("other_grids", "extrapolate",
                           "positions on other grids than at training: go on counting, or squeeze them")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate"));
  return {item, [](const PriorContext& context, const Options& options) -> std::shared_ptr<Prior> {
            const Flavor& flavor = flavor_of(options.text("flavor"));
            const double theta = options.number("theta") > 0 ? options.number("theta") : flavor.theta;
            return std::make_shared<RopeAxial>(std::make_shared<TurnTables>(
                flavor, theta, options.text("other_grids") == "interpolate", context.reference));
          }};
}

}  // namespace locus::priors
