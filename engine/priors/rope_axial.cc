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
//   rmt          raster index y Wp + x; 10000^(-linspace(0, 1, d/2)); every pair; neighbors; not turned
//
// pape pads heads that four does not divide with zeros, turns, and cuts back: the padded width is the d of
// its frequencies and pairs, and logits then depend on absolute positions too (as published). On boxes it turns a third
// of the pairs each with t, y and x, 10000^(-6k/d); p axes in general a p-th each, 10000^(-2pk/d), and padding to a
// multiple of 2p: heads of 64 channels become 66 wide, so that the two slowest pairs of x lose their partners. Points
// keep their coordinates and the order of their axes. The other flavors are defined on rectangles.
// dinov3 can vary its positions while training, in this order: a shift per axis, a stretch per axis (jitter),
// a stretch of both (rescale).
// Pairing matters only for exchanging weights. Angles are computed in double, applied in float32 or better.
#include <cmath>

#include "engine/layers/rotation.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

constexpr std::string_view kAugmentation = "rope-augmentation";

struct Flavor {
  const char* name;
  double theta;
  double first;           // position of the first row and column
  bool centered;          // positions in [-1, 1] by cell centers, instead
  bool raster;            // one position for all pairs: the patch's index
  bool rows_first;        // y before x
  bool alternate;         // axes alternate from pair to pair
  bool neighbors;         // a pair is (2c, 2c + 1), not (c, c + d/2)
  bool prefix_at_raster;  // prefix tokens at raster index -1, else not turned
  bool pads;              // heads that 2 p does not divide are padded, p the axes, of which there may be any number
};
constexpr Flavor kFlavors[] = {
    {"rope-vit", 100, 0, false, false, false, false, true, false, false},
    {"pape", 10000, 1, false, false, false, false, false, false, true},
    {"visionllama", 10000, 0, false, false, false, true, true, true, false},
    {"dinov3", 100, 0, true, false, true, false, false, false, false},
    {"rmt", 10000, 0, false, true, false, false, true, false, false},
};

const Flavor& flavor_of(const std::string& name) {
  for (const Flavor& flavor : kFlavors) {
    if (name == flavor.name) return flavor;
  }
  throw std::invalid_argument("prior rope-axial: no flavor is called '" + name + "'");
}

struct RopeAxialSettings {
  Flavor flavor;
  double theta;
  bool interpolate;
  std::optional<double> prefix;  // both coordinates of prefix tokens; none: the flavor's own
  std::string normalize;
  double min_period, max_period;  // 0: by theta
  double shift, jitter, rescale;
  bool per_block;

  bool augmented() const { return shift > 0 || jitter > 1 || rescale > 1; }
};

// The tables of a model, shared by its layers.
class TurnTables {
 public:
  TurnTables(RopeAxialSettings settings, Layout reference)
      : settings_(std::move(settings)), reference_(std::move(reference)) {}

  void begin_forward() { drawn_.clear(); }

  // For heads as wide as `like` [.., d]; of one layer where each has its own draw. [T, d], of points [B, 1, T, d],
  // padded where the flavor pads.
  const Turns& get(const Layout& layout, const Tensor& like, std::int64_t layer, const ForwardContext& context) {
    const at::ScalarType type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto make = [&](const Tensor& positions) {
      const std::int64_t width = padded(like.size(-1), positions.size(-1));
      const Turns made = channel_turns(angles(layout, positions, width), neighbors());
      return Turns{made.cos.to(like.device(), type, /*non_blocking=*/true),
                   made.sin.to(like.device(), type, /*non_blocking=*/true),
                   {}};
    };
    if (!context.training || !settings_.augmented())
      return kept_.get(layout, like.device(), type, [&] { return make(positions(layout)); });
    const std::string who = settings_.per_block ? ".layers." + std::to_string(layer) : "";
    Turns& drawn = drawn_[{who, layout.prefix}];
    if (!drawn.cos.defined()) drawn = make(augmented(positions(layout), who, context));
    return drawn;
  }

  bool neighbors() const { return settings_.flavor.neighbors; }

 private:
  std::int64_t padded(std::int64_t width, std::int64_t axes) const {
    const std::int64_t whole = 2 * axes;  // a pair for each axis
    return settings_.flavor.pads ? (width + whole - 1) / whole * whole : width;
  }
  static double length(const Layout& layout, std::size_t axis) { return static_cast<double>(layout.extent[axis]); }
  // What positions are multiplied by along an axis.
  double squeeze(const Layout& layout, std::size_t axis) const {
    return settings_.interpolate ? length(reference_, axis) / length(layout, axis) : 1.0;
  }

  // (y, x) of every patch, [N, 2], or its index twice; (t, y, x) on a box; the coordinates of points, [B, N, axes]. In
  // double.
  Tensor positions(const Layout& layout) const {
    if (layout.points) return patch_positions(layout, at::kDouble);
    const Tensor index = grid_positions(layout, at::kDouble);
    if (settings_.flavor.raster) {
      const double factor = settings_.interpolate
                                ? static_cast<double>(reference_.patches()) / static_cast<double>(layout.patches())
                                : 1.0;
      return (at::arange(layout.patches(), at::kDouble) * factor).unsqueeze(1).expand({-1, 2});
    }
    if (!settings_.flavor.centered) {
      std::vector<double> factor;
      for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) factor.push_back(squeeze(layout, axis));
      return (index + settings_.flavor.first) * at::tensor(factor, at::kDouble);
    }
    std::vector<double> over = {length(layout, 0), length(layout, 1)};
    if (settings_.normalize == "max") over.assign(2, std::max(over[0], over[1]));
    if (settings_.normalize == "min") over.assign(2, std::min(over[0], over[1]));
    return (index + 0.5) * 2 / at::tensor(over, at::kDouble) - 1;
  }

  // Positions as one training step sees them.
  Tensor augmented(const Tensor& positions, const std::string& who, const ForwardContext& context) const {
    const auto draw = [&](const char* what, std::int64_t count, double range) {
      return context.random
          .uniform(kAugmentation, std::string("priors.rope-axial.") + what + who, context.step.draw(), {count}, -range,
                   range)
          .to(at::kDouble);
    };
    Tensor out = positions;
    if (settings_.shift > 0) out = out + draw("shift", 2, settings_.shift);
    if (settings_.jitter > 1) out = out * draw("jitter", 2, std::log(settings_.jitter)).exp();
    if (settings_.rescale > 1) out = out * draw("rescale", 1, std::log(settings_.rescale)).exp();
    return out;
  }

  // Coordinate of a prefix token along an axis. Zero turns by nothing.
  double prefix_position(const Layout& layout, std::int64_t axis) const {
    if (settings_.prefix) return *settings_.prefix;
    if (!settings_.flavor.prefix_at_raster) return 0;
    return axis == 0 ? -squeeze(layout, 0) : (length(layout, 1) - 1) * squeeze(layout, 1);
  }

  // Radians per unit of position: [d / (2 axes)], or [d/2] where every pair has the same position.
  Tensor frequencies(std::int64_t width, std::int64_t axes) const {
    if (settings_.flavor.raster) return at::pow(settings_.theta, -at::linspace(0, 1, width / 2, at::kDouble));
    if (settings_.min_period > 0) {
      const Tensor place = at::linspace(0, 1, width / 4, at::kDouble);
      return kTwoPi / (settings_.min_period * at::pow(settings_.max_period / settings_.min_period, place));
    }
    const double step = -2.0 * static_cast<double>(axes) / static_cast<double>(width);
    const Tensor exponent = at::arange(width / (2 * axes), at::kDouble) * step;
    return at::pow(settings_.theta, exponent) * (settings_.flavor.centered ? kTwoPi : 1.0);
  }

  // [T, d/2], of points [B, 1, T, d/2]
  Tensor angles(const Layout& layout, const Tensor& patches, std::int64_t width) const {
    const std::int64_t axes = patches.size(-1);
    const Tensor frequency = frequencies(width, axes).to(patches.device());
    const auto along = [&](std::int64_t axis) {  // [.., T, d / (2 axes)], or [T, d/2] on the raster
      const double front = prefix_position(layout, axis);
      return at::constant_pad_nd(patches.select(-1, axis), {layout.prefix, 0}, front).unsqueeze(-1) * frequency;
    };
    if (settings_.flavor.raster) return along(0);
    if (settings_.flavor.alternate) return at::stack({along(1), along(0)}, 2).flatten(1);
    std::vector<Tensor> parts;
    for (std::int64_t axis = 0; axis < axes; ++axis) parts.push_back(along(axis));
    if (layout.extent.size() == 2 && !settings_.flavor.rows_first) std::swap(parts[0], parts[1]);
    const Tensor all = at::cat(parts, -1);
    return layout.points ? all.unsqueeze(1) : all;
  }

  RopeAxialSettings settings_;
  Layout reference_;
  PerLayout<Turns> kept_;
  std::map<std::pair<std::string, std::int64_t>, Turns> drawn_;  // of this forward, by layer and prefix
};

class RopeAxialLayer final : public PriorLayer {
 public:
  RopeAxialLayer(std::int64_t layer, std::shared_ptr<TurnTables> tables) : layer_(layer), tables_(std::move(tables)) {}

  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                         const ForwardContext& context) override {
    const Turns& turns = tables_->get(inputs.layout, q, layer_, context);
    return {turn(q, turns), turn(k, turns)};
  }

 private:
  Tensor turn(const Tensor& x, const Turns& turns) const {
    const std::int64_t width = x.size(-1), more = turns.cos.size(-1) - width;
    if (more == 0) return turned(x, turns, tables_->neighbors());
    return turned(at::constant_pad_nd(x, {0, more}), turns, tables_->neighbors()).slice(-1, 0, width);
  }

  std::int64_t layer_;
  std::shared_ptr<TurnTables> tables_;
};

class RopeAxial final : public Prior {
 public:
  explicit RopeAxial(std::shared_ptr<TurnTables> tables) : tables_(std::move(tables)) {}
  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<RopeAxialLayer>(info.layer, tables_);
  }
  void begin_forward(const Layout&, const ForwardContext&) override { tables_->begin_forward(); }

 private:
  std::shared_ptr<TurnTables> tables_;
};

std::shared_ptr<Prior> make(const PriorContext& context, const Options& o) {
  const Flavor& flavor = flavor_of(o.text("flavor"));
  RopeAxialSettings settings{.flavor = flavor,
                             .theta = o.number("theta") > 0 ? o.number("theta") : flavor.theta,
                             .interpolate = o.text("other_grids") == "interpolate",
                             .prefix = {},
                             .normalize = o.text("normalize"),
                             .min_period = o.number("min_period"),
                             .max_period = o.number("max_period"),
                             .shift = o.number("shift"),
                             .jitter = o.number("jitter"),
                             .rescale = o.number("rescale"),
                             .per_block = o.text("draws") == "block"};
  if (o.text("prefix") == "coordinate") settings.prefix = o.number("prefix_coordinate");
  if ((settings.min_period > 0) != (settings.max_period > 0))
    throw std::invalid_argument("prior rope-axial: min_period and max_period come together");
  return std::make_shared<RopeAxial>(std::make_shared<TurnTables>(std::move(settings), context.reference));
}

void add_dinov3_options(Item& item) {
  const auto dinov3 = [](Option option) { return option.when("flavor", {"dinov3"}); };
  item.option(dinov3(Option::text("normalize", "separate",
                                  "positions are divided by the side along their axis, or both by the longer "
                                  "(max) or shorter (min) side")
                         .choices({"separate", "max", "min"})
                         .neutral("separate")));
  item.option(dinov3(Option::number("min_period", 0.0, "shortest period; with max_period instead of theta")
                         .minimum(0.0)
                         .maximum(1e9)
                         .neutral(0.0)));
  item.option(dinov3(Option::number("max_period", 0.0, "longest period").minimum(0.0).maximum(1e9).neutral(0.0)));
  item.option(dinov3(Option::number("shift", 0.0, "while training, positions move by up to this along each axis")
                         .minimum(0.0)
                         .maximum(10.0)
                         .neutral(0.0)));
  item.option(dinov3(Option::number("jitter", 1.0, "while training, each axis is stretched by a factor of up to this")
                         .minimum(1.0)
                         .maximum(100.0)
                         .neutral(1.0)));
  item.option(
      dinov3(Option::number("rescale", 1.0, "while training, both axes are stretched by one factor of up to this")
                 .minimum(1.0)
                 .maximum(100.0)
                 .neutral(1.0)));
  item.option(dinov3(Option::text("draws", "forward", "one draw a forward, or one for each block")
                         .choices({"forward", "block"})
                         .neutral("forward")));
}

}  // namespace

PriorItem rope_axial() {
  Item item = prior_entry("rope-axial", 1, "Rotation of queries and keys by column and row",
                          "Heo et al. 2024, arXiv:2403.13298", "q' = R(p) q, k' = R(p) k", {"transform-qk"}, {2, 3});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a rotation of q and k in every layer; the angles are kept per grid"});
  std::vector<std::string> names, unpadded, planar;
  for (const Flavor& flavor : kFlavors) {
    names.emplace_back(flavor.name);
    if (!flavor.pads) planar.emplace_back(flavor.name);
    if (!flavor.pads && !flavor.raster) unpadded.emplace_back(flavor.name);
  }
  item.set("requires",
           Json::array(
               {{{"rule", "multiple-of"},
                 {"value", "head_width"},
                 {"factor", 4},
                 {"when", {{"option", "flavor"}, {"values", unpadded}}},
                 {"help", "two axes, two channels a pair"}},
                {{"rule", "multiple-of"}, {"value", "head_width"}, {"factor", 2}, {"help", "two channels a pair"}}}));
  takes_points(item);
  on_rectangles_when(item, "flavor", planar, "flavors other than pape turn with rows and columns alone");
  on_grids_when(item, "flavor", planar, "of the flavors only pape is defined for points");
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  item.refuse("(zero(min_period) - zero(max_period)) ^ 2", "min_period and max_period come together", "min_period");
  item.option(Option::text("flavor", "rope-vit", "whose positions, frequencies and pairing").choices(names));
  item.option(Option::number("theta", 0.0,
                             "base of the frequencies; 0: the flavor's own (rope-vit, dinov3 100; the others "
                             "10000)")
                  .minimum(0.0)
                  .maximum(1e9)
                  .neutral(0.0));
  item.option(Option::text("other_grids", "extrapolate",
                           "positions on other grids than at training: go on counting, or squeeze them")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate"));
  item.option(Option::text("prefix", "flavor", "where prefix tokens lie: by flavor, or at prefix_coordinate")
                  .choices({"flavor", "coordinate"})
                  .neutral("flavor"));
  item.option(Option::number("prefix_coordinate", 0.0, "both coordinates of prefix tokens, never squeezed")
                  .minimum(-1e6)
                  .maximum(1e6)
                  .neutral(0.0)
                  .when("prefix", {"coordinate"}));
  add_dinov3_options(item);
  return {item, make};
}

}  // namespace locus::engine::priors
