// Log-spaced continuous position bias: a small MLP turns each offset into a bias for every head.
//
//   swinv2   b = 16 sigmoid(MLP(u)), u = sign(v) log2(1 + |v|) / log2 8, v = 8 offset / (reference side - 1);
//            MLP = Linear(2, 512) - ReLU - Linear(512, H) without a bias; one for each layer
//   timm-cr  b = MLP(u), u = sign(offset) ln(1 + |offset|); MLP = Linear(2, 128) - ReLU - Dropout(0.125) -
//            Linear(128, H); one for all layers, evaluated and dropped once a forward
//
// Paper: Liu et al. 2022 (Swin V2), arXiv:2111.09883, eqs. 3 and 4. timm-cr is what the guidance paper's
// baseline of that name runs.
//
// Offsets are query minus key, the MLP reads (u_y, u_x). Pairs with prefix tokens get 0. swinv2 keeps the
// grid it was built at as its reference, or one of "pretraining_window" patches along each axis; its MLP is
// exempt from weight decay, timm-cr's weights are not.
// "attention" cosine adds Swin V2's: L = exp(min(ln 100, t)) <q / |q|, k / |k|> + b without 1 / sqrt(d), t a
// head from ln 10 on, exempt from weight decay; norms below 1e-12 count as that. (Swin V2's k has no bias;
// here the host's.)
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

constexpr std::string_view kDropout = "prior-dropout";
constexpr double kMlpDeviation = 0.02;
constexpr double kFirstScale = 10, kMostScale = 100, kLeastNorm = 1e-12;  // of cosine attention

struct LogCpbSettings {
  bool shared;  // timm-cr
  bool cosine;
  std::int64_t hidden;
  double dropout;
  std::int64_t pretraining;  // side of the grid or window whose offsets were learned; 0: the reference's
};

class Mlp final : public Module {
 public:
  Mlp(std::int64_t hidden, std::int64_t heads, bool with_out_bias) {
    in_weight = register_parameter("in_weight", at::empty({hidden, 2}));
    in_bias = register_parameter("in_bias", at::empty({hidden}));
    out_weight = register_parameter("out_weight", at::empty({heads, hidden}));
    if (with_out_bias) out_bias = register_parameter("out_bias", at::empty({heads}));
  }

  // u [R, 2] -> [R, H]; `kept` multiplies the hidden units where it is defined.
  Tensor forward(const Tensor& u, const Tensor& kept) const {
    const Tensor hidden = at::relu(at::linear(u, in_weight, in_bias));
    return at::linear(kept.defined() ? hidden * kept : hidden, out_weight, out_bias);
  }

  void initialize(const Initializer& initializer) {
    initializer.truncated_normal(in_weight.detach(), "in_weight", kMlpDeviation);
    initializer.truncated_normal(out_weight.detach(), "out_weight", kMlpDeviation);
    in_bias.detach().zero_();
    if (out_bias.defined()) out_bias.detach().zero_();
  }

  Tensor in_weight, in_bias, out_weight, out_bias;
};

// What the layers share: inputs and rows per layout and, in timm-cr's mode, the MLP and this forward's table.
class LogCpbTables {
 public:
  LogCpbTables(const LogCpbSettings& settings, Layout reference)
      : settings_(settings), reference_(std::move(reference)) {}

  const LogCpbSettings& settings() const { return settings_; }
  void begin_forward() { table_ = Tensor(); }

  // [1, H, R (+ 1)]: a column of zeros for the prefix, if there is one.
  Tensor table(const Mlp& mlp, const Layout& layout, const ForwardContext& context) {
    if (!settings_.shared) return padded(at::sigmoid(mlp.forward(inputs(layout, mlp), {})) * 16, layout);
    if (!table_.defined()) table_ = mlp.forward(inputs(layout, mlp), kept(layout, mlp, context));
    return padded(table_, layout);
  }

  const PairIndex& index(const Layout& layout, at::Device device) {
    return index_.get(layout, device, at::kInt, [&] { return offset_rule(layout, device); });
  }

  bool drops(const ForwardContext& context) const { return context.training && settings_.dropout > 0; }

 private:
  static Tensor padded(const Tensor& bias, const Layout& layout) {
    return at::constant_pad_nd(bias, {0, 0, 0, layout.prefix > 0 ? 1 : 0}).t().unsqueeze(0);
  }

  const Tensor& inputs(const Layout& layout, const Mlp& mlp) {
    const Tensor& like = mlp.in_weight;
    return inputs_.get(layout, like.device(), like.scalar_type(), [&] {
      Tensor v = offsets(layout, at::kDouble);
      double base = 1;
      if (!settings_.shared) {
        std::vector<double> last;
        for (const std::int64_t side : reference_.extent)
          last.push_back(static_cast<double>(std::max<std::int64_t>(learned_on(side) - 1, 1)));
        v = v * 8 / at::tensor(last, at::kDouble);
        base = std::log(8.0);
      }
      return (v.sign() * v.abs().log1p() / base).to(like.options());
    });
  }

  std::int64_t learned_on(std::int64_t side) const { return settings_.pretraining > 0 ? settings_.pretraining : side; }

  // Which hidden units survive, scaled by 1 / (1 - dropout); undefined without dropout. [R, hidden]
  Tensor kept(const Layout& layout, const Mlp& mlp, const ForwardContext& context) const {
    if (!drops(context)) return {};
    const Tensor draw = context.random.uniform(kDropout, "priors.log-cpb.hidden", context.step.draw(),
                                               {offset_count(layout), settings_.hidden});
    const Tensor factor = draw.ge(settings_.dropout).to(mlp.in_weight.scalar_type()).div(1 - settings_.dropout);
    return factor.to(mlp.in_weight.device(), factor.scalar_type(), /*non_blocking=*/true);
  }

  LogCpbSettings settings_;
  Layout reference_;
  PerLayout<Tensor> inputs_;
  PerLayout<PairIndex> index_;
  Tensor table_;  // [R, H]
};

class LogCpbLayer final : public PriorLayer {
 public:
  // `common`: the MLP of all layers, or null for one of this layer's own.
  LogCpbLayer(const LayerInfo& info, std::shared_ptr<LogCpbTables> shared, std::shared_ptr<Mlp> common)
      : shared_(std::move(shared)), mlp_(std::move(common)) {
    if (!mlp_) mlp_ = register_module("mlp", std::make_shared<Mlp>(shared_->settings().hidden, info.heads, false));
    if (shared_->settings().cosine) logit_scale_ = register_parameter("logit_scale", at::empty({info.heads}));
    scale_ = info.scale;
  }

  // q' carries the factor: c q' k'^T is the cosine times it.
  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs&,
                                         const ForwardContext&) override {
    const at::ScalarType type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto unit = [&](const Tensor& t) {
      const Tensor wide = t.to(type);
      return wide / wide.square().sum(-1, /*keepdim=*/true).clamp_min(kLeastNorm * kLeastNorm).sqrt();
    };
    const Tensor factor = logit_scale_.to(type).clamp_max(std::log(kMostScale)).exp() / scale_;
    return {(unit(q) * factor.view({-1, 1, 1})).to(q.scalar_type()), unit(k).to(k.scalar_type())};
  }

  void initialize_own() {
    if (logit_scale_.defined()) logit_scale_.detach().fill_(std::log(kFirstScale));
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext& context) override {
    const Tensor table = shared_->table(*mlp_, inputs.layout, context);
    return {shared_->drops(context) ? Depends::kContent : Depends::kParameters,
            RelativeTable{.table = table, .index = shared_->index(inputs.layout, table.device())}};
  }

  Mlp& mlp() { return *mlp_; }

 private:
  std::shared_ptr<LogCpbTables> shared_;
  std::shared_ptr<Mlp> mlp_;
  Tensor logit_scale_;  // t [H]; undefined without cosine attention
  double scale_ = 1;
};

class LogCpb final : public Prior {
 public:
  LogCpb(const PriorContext& context, const LogCpbSettings& settings)
      : shared_(std::make_shared<LogCpbTables>(settings, context.reference)) {
    if (!settings.shared) return;
    const std::int64_t heads = context.layers.at(0).heads;
    for (const LayerInfo& info : context.layers) {
      if (info.heads != heads) {
        throw std::invalid_argument("prior log-cpb: mode timm-cr shares one MLP, but layer " +
                                    std::to_string(info.layer) + " has " + std::to_string(info.heads) +
                                    " heads and layer 0 has " + std::to_string(heads) + "; use mode swinv2");
      }
    }
    mlp_ = register_module("mlp", std::make_shared<Mlp>(settings.hidden, heads, /*with_out_bias=*/true));
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<LogCpbLayer>(info, shared_, mlp_);
  }

  void initialize(const Initializer& initializer) override {
    for (const auto& layer : layers()) static_cast<LogCpbLayer&>(*layer).initialize_own();
    if (mlp_) return mlp_->initialize(initializer.within("mlp"));
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<LogCpbLayer&>(*layers()[l])
          .mlp()
          .initialize(initializer.within("layers." + std::to_string(l) + ".mlp"));
    }
  }

  bool uses(Hook hook) const override { return hook != Hook::kTransformQk || shared_->settings().cosine; }
  void begin_forward(const Layout&, const ForwardContext&) override { shared_->begin_forward(); }

  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return mlp_ ? default_decay(name, parameter) : Decay::kExempt;
  }

 private:
  std::shared_ptr<LogCpbTables> shared_;
  std::shared_ptr<Mlp> mlp_;  // of all layers, or null
};

}  // namespace

PriorItem log_cpb() {
  Item item = prior_entry("log-cpb", 1, "A small MLP of the log-spaced offset gives every head a bias",
                          "Liu et al. 2022, arXiv:2111.09883", "L = c q k^T + MLP(log-spaced r_i - r_j)",
                          {"transform-qk", "bias"}, {2});
  weigh(item, {.parameters = "1,536 + 512 H a layer; timm-cr 384 + 129 H once a model",
               .counts = {{"units", "hidden + zero(hidden) * (512 - 384 * mode.timm-cr)"},
                          {"mlps", "mode.timm-cr + mode.swinv2 * depth"},
                          {"parameters",
                           "mlps * (3 + heads) * units + mode.timm-cr * heads + attention.cosine * depth * heads"}},
               .base = 92160,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "an MLP over (2 rows - 1) (2 columns - 1) offsets a layer (timm-cr: a model) and a "
                       "lookup of H T^2 numbers"});
  item.set("weight_decay", "option");
  item.option(Option::text("mode", "swinv2", "Swin V2's, or timm's, which the guidance paper compares with")
                  .choices({"swinv2", "timm-cr"}));
  item.option(Option::integer("hidden", 0, "width of the MLP; 0: the mode's own (swinv2 512, timm-cr 128)")
                  .minimum(0)
                  .maximum(65536)
                  .neutral(0));
  item.option(Option::number("dropout", 0.125, "share of the hidden units dropped while training")
                  .minimum(0.0)
                  .maximum(0.9)
                  .neutral(0.125)
                  .when("mode", {"timm-cr"}));
  item.option(
      Option::text("attention", "dot", "the model's own, or Swin V2's: the cosine of q and k times a learned factor")
          .choices({"dot", "cosine"})
          .neutral("dot"));
  item.option(Option::integer("pretraining_window", 0,
                              "side of the window that pretrained offsets were learned within; 0: the one at hand")
                  .minimum(0)
                  .maximum(1024)
                  .neutral(0)
                  .unit("patches")
                  .when("mode", {"swinv2"}));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            const bool shared = o.text("mode") == "timm-cr";
            const std::int64_t own = shared ? 128 : 512;
            return std::make_shared<LogCpb>(context, LogCpbSettings{shared, o.text("attention") == "cosine",
                                                                    o.integer("hidden") > 0 ? o.integer("hidden") : own,
                                                                    shared ? o.number("dropout") : 0.0,
                                                                    shared ? 0 : o.integer("pretraining_window")});
          }};
}

}  // namespace locus::engine::priors
