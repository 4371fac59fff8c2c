// Rotary position embedding with learned directions: each pair of channels turns by an angle that mixes the
// patch's column and row with two frequencies of its own.
//
//   t[n, c] = x fx[n, c] + y fy[n, c],   q' = R(t) q,  k' = R(t) k;   values are left alone
//
// Paper: Heo et al. 2024, arXiv:2403.13298, eq. 8.
//
// Starts, for head n and pair c of a head of width d:
//   naver  m = theta^(-4k/d), k = 0..d/4-1, theta 10; one phi ~ U(0, 2 pi) a head; fx = (m cos phi, m cos(phi
//   +
//          pi/2)), fy likewise with sines; positions from 0; pairs (2c, 2c + 1); exempt from weight decay
//   pape   the baseline of the PaPE paper's code: divisors 100^(2c/d), the same for all heads and both axes,
//          angle x / lx + y / ly; positions from 1; pairs (c, c + d/2); decayed like any matrix
//
// On boxes pape's has a third set of divisors, angle t / lt + y / ly + x / lx; p axes p sets, and points keep their
// coordinates and the order of their axes. naver's start is a direction in the plane. A divisor nearer to zero than 1e-4 counts as 1e-4 of its sign: the published code divides by it as it is.
// Prefix tokens are not turned. Angles are computed and applied in float32 or better.
#include <cmath>

#include "engine/layers/rotation.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

constexpr double kSmallestDivisor = 1e-4;

struct RopeMixedSettings {
  bool divisors;  // as PaPE's baseline stores them, instead of frequencies
  double theta;
  bool interpolate;
};

// Coordinates of the patches, shared by the layers: [2, N] with x first, on a box [3, N] in the order of its axes, of
// points [axes, B, 1, N].
struct RopeMixedPositions {
  bool from_one = false, interpolate = false;
  Layout reference;
  PerLayout<Tensor> kept;

  const Tensor& get(const Layout& layout, at::Device device, at::ScalarType type) {
    return kept.get(layout, device, type, [&] {
      Tensor patches = patch_positions(layout, at::kDouble, from_one ? 1 : 0);
      if (interpolate) {
        std::vector<double> factor;
        for (std::size_t axis = 0; axis < layout.extent.size(); ++axis)
          factor.push_back(static_cast<double>(reference.extent[axis]) / static_cast<double>(layout.extent[axis]));
        patches = patches * at::tensor(factor, at::kDouble);
      }
      if (layout.extent.size() == 2) patches = patches.flip(1);
      const Tensor columns = patches.movedim(-1, 0);
      return (layout.points ? columns.unsqueeze(2) : columns).contiguous().to(device, type);
    });
  }
};

class RopeMixedLayer final : public PriorLayer {
 public:
  RopeMixedLayer(const RopeMixedSettings& settings, const LayerInfo& info,
                 std::shared_ptr<RopeMixedPositions> positions)
      : settings_(settings), positions_(std::move(positions)) {
    rates_ = register_parameter(settings.divisors ? "frequencies" : "freqs",
                                at::empty({info.reference.rank(), info.heads, info.head_width() / 2}));
  }

  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                         const ForwardContext&) override {
    const Turns turns = channel_turns(angles(inputs.layout, q), !settings_.divisors);  // [.., H, T, d]
    return {turned(q, turns, !settings_.divisors), turned(k, turns, !settings_.divisors)};
  }

  void initialize(const Initializer& initializer) {
    const at::NoGradGuard no_grad;
    const std::int64_t heads = rates_.size(1), pairs = rates_.size(2);
    const double width = 2.0 * static_cast<double>(pairs);
    if (settings_.divisors) {
      rates_.copy_(at::pow(settings_.theta, at::arange(pairs, at::kDouble) * (2 / width)).expand_as(rates_));
      return;
    }
    const Tensor phi = at::empty({heads});
    initializer.uniform(phi, "phi", 0, kTwoPi);
    const Tensor turn = phi.to(at::kDouble).unsqueeze(1);
    const Tensor size = at::pow(settings_.theta, at::arange(pairs / 2, at::kDouble) * (-4 / width));
    const Tensor quarter = turn + kTwoPi / 4;
    rates_.select(0, 0).copy_(at::cat({size * turn.cos(), size * quarter.cos()}, 1));
    rates_.select(0, 1).copy_(at::cat({size * turn.sin(), size * quarter.sin()}, 1));
  }

 private:
  // [H, T, d/2], of points [B, H, T, d/2]; 0 for prefix tokens.
  Tensor angles(const Layout& layout, const Tensor& like) const {
    const at::ScalarType type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor& at_patch = positions_->get(layout, like.device(), type);
    Tensor rates = rates_.to(type);
    if (settings_.divisors) {
      const Tensor sign = at::where(rates.lt(0), -kSmallestDivisor, kSmallestDivisor).to(type);
      rates = at::where(rates.abs().lt(kSmallestDivisor), sign, rates).reciprocal();
    }
    const auto along = [&](std::int64_t axis) {
      return at_patch.select(0, axis).unsqueeze(-1) * rates.select(0, axis).unsqueeze(1);  // [.., H, N, d/2]
    };
    Tensor patches = along(0);
    for (std::int64_t axis = 1; axis < rates.size(0); ++axis) patches = patches + along(axis);
    return layout.prefix == 0 ? patches : at::constant_pad_nd(patches, {0, 0, layout.prefix, 0});
  }

  RopeMixedSettings settings_;
  std::shared_ptr<RopeMixedPositions> positions_;
  Tensor rates_;  // [axes, H, d/2], of images x first
};

class RopeMixed final : public Prior {
 public:
  RopeMixed(const RopeMixedSettings& settings, const Layout& reference)
      : settings_(settings), positions_(std::make_shared<RopeMixedPositions>()) {
    positions_->from_one = settings.divisors;
    positions_->interpolate = settings.interpolate;
    positions_->reference = reference;
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<RopeMixedLayer>(settings_, info, positions_);
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<RopeMixedLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
    }
  }

  Decay decay(std::string_view, const Tensor&) const override {
    return settings_.divisors ? Decay::kDecayed : Decay::kExempt;
  }

 private:
  RopeMixedSettings settings_;
  std::shared_ptr<RopeMixedPositions> positions_;
};

}  // namespace

PriorItem rope_mixed() {
  Item item =
      prior_entry("rope-mixed", 1, "Rotation of queries and keys along learned directions",
                  "Heo et al. 2024, arXiv:2403.13298", "q' = R(x fx + y fy) q, k' likewise", {"transform-qk"}, {2, 3});
  weigh(item, {.parameters = "H d a layer, H d / 2 for each further axis",
               .counts = {{"parameters", "depth * dim * rank / 2"}},
               .base = 9216,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a rotation of q and k in every layer by angles [H, N, d / 2] that are made in every step"});
  item.set("weight_decay", "option");
  item.set("requires", Json::array({{{"rule", "multiple-of"},
                                     {"value", "head_width"},
                                     {"factor", 4},
                                     {"help", "two axes, two channels a pair"}}}));
  takes_points(item);
  on_rectangles_when(item, "init", {"naver"}, "init naver starts along a direction in the plane");
  on_grids_when(item, "init", {"naver"}, "of the starts only pape is defined for points");
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  item.option(
      Option::text("init", "naver", "frequencies in a random direction a head (naver), or equal divisors (pape)")
          .choices({"naver", "pape"}));
  item.option(Option::number("theta", 0.0, "base of the initial frequencies; 0: the init's own (naver 10, pape 100)")
                  .minimum(0.0)
                  .maximum(1e9)
                  .neutral(0.0));
  item.option(Option::text("other_grids", "extrapolate",
                           "positions on other grids than at training: go on counting, or squeeze them")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate"));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            const bool divisors = o.text("init") == "pape";
            const double theta = o.number("theta") > 0 ? o.number("theta") : (divisors ? 100 : 10);
            return std::make_shared<RopeMixed>(
                RopeMixedSettings{divisors, theta, o.text("other_grids") == "interpolate"}, context.reference);
          }};
}

}  // namespace locus::engine::priors
