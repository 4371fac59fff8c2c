// Spatial decay gated by content (SDT): logits fall with the distance of the patches at a rate that each
// patch sets for itself.
//
//   G = ln sigmoid(x W_g) <= 0, one number a patch and head
//   full           M[i, j] = alpha 1/2 (G_i + G_j) (|dy| + |dx|)
//   decomposed     within rows, then within columns, each with a gate of its own:
//                  M[i, j] = -beta |C_i - C_j|,  C_i = sum of |G_k| over k < i on the line
//   raster         the same on the patches in row-major order; "causal" hides the patches after i
//   bidirectional  M[i, j] = -beta 1/2 (|C_i - C_j| + |C'_i - C'_j|),  C' the sums over k <= i
//   static         M[i, j] = ln(gamma_n) (|dy| + |dx|), as manhattan-decay
//   none           no decay
//   L = c q k^T + M,   output * U,  U = sigmoid(x W_u1) W_u2
//
// Paper: "Learning Spatial Decay for Vision Transformers", eqs. 6 to 14; its code is not public. Where the
// text leaves a choice: M is per head; raster is symmetric unless causal; both scans of bidirectional share
// one gate and their masks are averaged; the rank of U is the head width. Equations 6 and 13 have no alpha;
// `beta` (1) covers them. The paper's rotation (rope-axial: flavor rmt in SDT-H, rope-vit in SDT-P) and LPE
// (lepe) are priors of their own: list them beside this one, or switch them on as parts of it (`rope`,
// `lepe`). Prefix tokens have M = 0, or no place (decomposed); U acts on every token.
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/manhattan.h"

namespace locus::engine::priors {
namespace {

struct SpatialDecaySettings {
  std::string mode;
  double alpha, beta, initial, range;
  bool causal, gate, outside, xavier;
  std::int64_t rank;

  bool content() const { return mode != "static" && mode != "none"; }
  bool decomposed() const { return mode == "decomposed"; }
};

// What the layers share.
struct SpatialDecayShared {
  PerLayout<Tensor> positions;  // of the patches, [N, rank]
  ManhattanDecays fixed;        // of mode static
};

class SpatialDecayLayer final : public PriorLayer {
 public:
  // `rope` and `lepe`: the layers of those parts, or null.
  SpatialDecayLayer(const SpatialDecaySettings& settings, const LayerInfo& info,
                    std::shared_ptr<SpatialDecayShared> shared, std::shared_ptr<PriorLayer> rope,
                    std::shared_ptr<PriorLayer> lepe)
      : settings_(settings), shared_(std::move(shared)), rope_(std::move(rope)), lepe_(std::move(lepe)) {
    const auto axes = settings.decomposed() ? static_cast<std::int64_t>(info.reference.extent.size()) : 1;
    const std::int64_t rank = settings.rank > 0 ? settings.rank : info.head_width();
    if (settings.content()) decay_ = register_parameter("decay", at::empty({axes * info.heads, info.width}));
    if (settings.gate) {
      down_ = register_parameter("down", at::empty({rank, info.width}));
      up_ = register_parameter("up", at::empty({info.width, rank}));
    }
    heads_ = info.heads;
  }

  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                         const ForwardContext& context) override {
    return rope_->transform_qk(q, k, inputs, context);
  }
  Tensor add_output(const AttentionInputs& inputs, const ForwardContext& context) override {
    return lepe_->add_output(inputs, context);
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const Layout& layout = inputs.layout;
    const at::ScalarType type = inputs.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    if (settings_.mode == "static") return {Depends::kLayout, shared_->fixed.get(layout, inputs.x)};
    const Tensor gate = gates(inputs, type);
    if (settings_.mode != "full") return {Depends::kContent, Scan{places(gate), layout.prefix, settings_.causal}};
    const Tensor& positions =
        shared_->positions.get(layout, gate.device(), type, [&] { return grid_positions(layout, gate.options()); });
    return {Depends::kContent, Gated{(0.5 * settings_.alpha) * gate, positions, layout.prefix}};
  }

  // U [B, T, D]
  Tensor gate_output(const AttentionInputs& inputs, const ForwardContext&) override {
    const Tensor low = at::linear(inputs.x, down_);
    return settings_.outside ? at::sigmoid(at::linear(low, up_)) : at::linear(at::sigmoid(low), up_);
  }

  void initialize(const Initializer& initializer) {
    set(decay_, "decay", initializer);
    set(down_, "down", initializer);
    set(up_, "up", initializer);
  }

 private:
  // Truncated normal as in the host of SDT-H, or Xavier's as in that of SDT-P; each gate for itself.
  void set(const Tensor& weight, const std::string& name, const Initializer& initializer) const {
    if (!weight.defined()) return;
    if (!settings_.xavier) return initializer.truncated_normal(weight.detach(), name, 0.02);
    const std::int64_t out = name == "decay" ? heads_ : weight.size(0);
    const double bound = std::sqrt(6.0 / static_cast<double>(out + weight.size(1)));
    initializer.uniform(weight.detach(), name, -bound, bound);
  }

  // G of the patches, [B, H, N].
  Tensor gates(const AttentionInputs& inputs, at::ScalarType type) const {
    const Tensor weight = inputs.axis < 0 ? decay_ : decay_.narrow(0, inputs.axis * heads_, heads_);
    const Tensor patches = inputs.x.slice(1, inputs.layout.prefix);
    return at::log_sigmoid(at::linear(patches, weight).to(type)).transpose(1, 2);
  }

  // Along the line of patches, [B, H, N]. Both sums of bidirectional run the same way, since no gate is above 0: the mean
  // of their distances is the distance of their means.
  Tensor places(const Tensor& gate) const {
    const Tensor inclusive = gate.cumsum(-1);
    return (inclusive - (settings_.mode == "bidirectional" ? 0.5 : 1.0) * gate) * settings_.beta;
  }

  SpatialDecaySettings settings_;
  std::shared_ptr<SpatialDecayShared> shared_;
  std::shared_ptr<PriorLayer> rope_, lepe_;
  std::int64_t heads_ = 0;
  Tensor decay_;      // W_g [axes * H, D]: rows of the first axis (along columns' height) first
  Tensor down_, up_;  // W_u1 [r, D], W_u2 [D, r]
};

class SpatialDecay final : public Prior {
 public:
  // `rope`: "raster", "axial" or "none"; `lepe`: "5x5" and so on, or "none".
  SpatialDecay(SpatialDecaySettings settings, const PriorContext& context, const std::string& rope,
               const std::string& lepe)
      : settings_(std::move(settings)),
        shared_(std::make_shared<SpatialDecayShared>(
            SpatialDecayShared{.positions = {},
                               .fixed = ManhattanDecays(manhattan_log_decays(context.layers.at(0).heads,
                                                                             settings_.initial, settings_.range))})) {
    if (rope != "none") rope_ = part("rope-axial", {{"flavor", rope == "raster" ? "rmt" : "rope-vit"}}, context);
    if (lepe != "none") lepe_ = part("lepe", {{"kernel", lepe[0] - '0'}}, context);
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    const auto of = [&](const std::shared_ptr<Prior>& prior) {
      return prior ? prior->layers().at(layers().size()) : nullptr;  // as many as there are: this one's place
    };
    return std::make_shared<SpatialDecayLayer>(settings_, info, shared_, of(rope_), of(lepe_));
  }
  void begin_forward(const Layout& layout, const ForwardContext& context) override {
    if (rope_) rope_->begin_forward(layout, context);
  }
  void initialize(const Initializer& initializer) override {
    if (lepe_) lepe_->initialize(initializer.within("lepe"));
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<SpatialDecayLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
    }
  }
  bool uses(Hook hook) const override {
    if (hook == Hook::kPattern) return settings_.decomposed();
    if (hook == Hook::kBias) return settings_.mode != "none";
    if (hook == Hook::kTransformQk) return rope_ != nullptr;
    if (hook == Hook::kAddOutput) return lepe_ != nullptr;
    return hook != Hook::kGateOutput || settings_.gate;
  }
  Pattern pattern(const LayerInfo&) const override {
    return settings_.decomposed() ? Pattern::kAxial : Prior::pattern({});
  }

 private:
  // A prior of the catalog as a part of this one.
  std::shared_ptr<Prior> part(const char* id, const Json& options, const PriorContext& context) {
    const PriorItem& item = prior_item(id);
    if (context.reference.extent.size() != 2)
      throw std::invalid_argument("prior spatial-decay: " + std::string(id) + " needs rows and columns");
    auto made = item.make(context, Options(item.item.json(), options));
    made->build_layers(context.layers);
    return register_module(id, std::move(made));
  }

  SpatialDecaySettings settings_;
  std::shared_ptr<SpatialDecayShared> shared_;
  std::shared_ptr<Prior> rope_, lepe_;  // or null
};

// The parts of SDT that are priors of their own: each stands within this one or beside it.
void add_parts(Item& item) {
  item.option(Option::text("rope", "none",
                           "rotation of q and k as a part of this prior: by raster index (SDT-H), by column and "
                           "row (SDT-P); none: list rope-axial beside it")
                  .choices({"none", "raster", "axial"})
                  .neutral("none"));
  item.option(Option::text("lepe", "none",
                           "depth-wise convolution of the values as a part of this prior, 5x5 as published; "
                           "none: list lepe beside it")
                  .choices({"none", "3x3", "5x5", "7x7"})
                  .neutral("none"));
  Json facts = item.json().at("facts"), stands_for = Json::array();
  const auto stands = [&](const char* option, const char* value, const char* id, Json options) {
    stands_for.push_back({{"option", option}, {"value", value}, {"id", id}, {"options", std::move(options)}});
  };
  stands("rope", "raster", "rope-axial", {{"flavor", "rmt"}});
  stands("rope", "axial", "rope-axial", {{"flavor", "rope-vit"}});
  for (const char* side : {"3x3", "5x5", "7x7"}) stands("lepe", side, "lepe", {{"kernel", side[0] - '0'}});
  facts["stands_for"] = std::move(stands_for);
  item.facts(std::move(facts));
  const auto when = [](const char* option, std::vector<std::string> values) {
    return Json{{"option", option}, {"values", std::move(values)}};
  };
  Json rules = item.json().at("requires"), exclusions = item.json().at("excludes_when");
  const auto head_width = [&](int factor, std::vector<std::string> rope, const char* help) {
    rules.push_back({{"rule", "multiple-of"},
                     {"value", "head_width"},
                     {"factor", factor},
                     {"when", when("rope", std::move(rope))},
                     {"help", help}});
  };
  head_width(2, {"raster"}, "the rotation turns channels in pairs");
  head_width(4, {"axial"}, "the rotation turns channels in pairs along each of two axes");
  exclusions.push_back({{"when", when("rope", {"raster", "axial"})},
                        {"excludes", {"rope-axial", "rope-mixed"}},
                        {"help", "q and k are turned once"}});
  exclusions.push_back({{"when", when("lepe", {"3x3", "5x5", "7x7"})},
                        {"excludes", Json::array({"lepe"})},
                        {"help", "the values are convolved once"}});
  item.set("requires", std::move(rules)).set("excludes_when", std::move(exclusions));
  on_rectangles_when(item, "rope", {"raster", "axial"}, "its rotations are defined on rows and columns");
  on_rectangles_when(item, "lepe", {"3x3", "5x5", "7x7"}, "its convolution runs over rows and columns");
}

}  // namespace

PriorItem spatial_decay() {
  Item item = prior_entry("spatial-decay", 1, "Decay with the distance of patches at a rate the content sets",
                          "Learning Spatial Decay for Vision Transformers",
                          "L = c q k^T + alpha (G_i + G_j) / 2 (|dy| + |dx|), G = ln sigmoid(x W_g); O = U O",
                          {"transform-qk", "bias", "add-output", "gate-output", "pattern"}, {1, 2, 3});
  weigh(item,
        {.parameters = "D H + 2 D r a layer, r the rank of the gate",
         .counts = {{"decay", "(1 - mode.static - mode.none) * (1 + mode.decomposed * (rank - 1)) * heads * dim"},
                    {"gates", "gate * 2 * dim * (gate_rank + zero(gate_rank) * dim / heads)"},
                    {"convolutions", "(lepe.3x3 * 10 + lepe.5x5 * 26 + lepe.7x7 * 50) * dim"},
                    {"parameters", "depth * (decay + gates + convolutions)"}},
         .base = 1290240,
         .paths = {"flash", "sdpa", "explicit"},
         .cost = "a product of x with D H weights, a gated distance in every pair, and the gate, a layer; no T x T "
                 "tensor"});
  alone(item, kSpatialDecay);
  along_axes_when(item, "mode", "decomposed");
  item.option(Option::text("mode", "full", "which distances decay, and how: see the formulas")
                  .choices({"full", "decomposed", "raster", "bidirectional", "static", "none"}));
  item.option(Option::number("alpha", 0.1, "strength of the decay").above(0.0).maximum(100.0).when("mode", {"full"}));
  item.option(Option::number("beta", 1.0, "strength of the decay along lines; the paper has none")
                  .above(0.0)
                  .maximum(100.0)
                  .neutral(1.0)
                  .when("mode", {"decomposed", "raster", "bidirectional"}));
  item.option(
      Option::boolean("causal", false, "hide the patches that come later").neutral(false).when("mode", {"raster"}));
  item.option(Option::number("initial", 2.0, "static: gamma of the first head is 1 - 2^-initial")
                  .above(0.0)
                  .maximum(50.0)
                  .when("mode", {"static"}));
  item.option(Option::number("range", 4.0, "static: how much the exponent grows over the heads")
                  .minimum(0.0)
                  .maximum(50.0)
                  .when("mode", {"static"}));
  item.option(Option::boolean("gate", true, "multiply the output by U"));
  item.option(Option::integer("gate_rank", 0, "rank of U; 0: the head width").minimum(0).maximum(16384));
  item.option(Option::text("gate_sigmoid", "middle", "sigmoid between the two maps of U, or after both")
                  .choices({"middle", "outside"}));
  item.option(Option::text("init", "normal", "weights start truncated normal (0.02), or by Xavier's uniform")
                  .choices({"normal", "xavier"})
                  .neutral("normal"));
  add_parts(item);
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<SpatialDecay>(
                SpatialDecaySettings{o.text("mode"), o.number("alpha"), o.number("beta"), o.number("initial"),
                                     o.number("range"), o.boolean("causal"), o.boolean("gate"),
                                     o.text("gate_sigmoid") == "outside", o.text("init") == "xavier",
                                     o.integer("gate_rank")},
                context, o.text("rope"), o.text("lepe"));
          }};
}

}  // namespace locus::engine::priors
