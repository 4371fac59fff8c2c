// Active spatial guidance: two small MLPs must read each patch's row and column off its features while the
// model trains.
//
//   l = mean over axes of error(MLP_axis(f), i / (length - 1)),   total = task + lambda_t * l
//   lambda_t = 10 + (lambda - 10) min(1, (t + 1) / 60),   t = optimizer steps done
//
// Paper: "Active Spatial Guidance: Eliminating Injected Positional Mechanisms in Vision Transformers", eqs. 1
// and 2, section 4.1 (warm-up).
//
// Class and register tokens are left out of the loss; gradients reach them through attention. The MLPs,
// Linear(D, 256) - ReLU - Linear(256, 1), are dropped after training. On an axis of one patch the target is
// 0. The error is smooth L1 as in the paper, or absolute or squared; targets are normalized as in the paper,
// or count patches.
#include <cmath>

#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

struct GuidanceSettings {
  double lambda, start, beta;
  std::int64_t warmup_steps, hidden;
  std::string tap, error;
  bool normalized;
};

class Guidance final : public Prior {
 public:
  Guidance(const PriorContext& context, GuidanceSettings settings)
      : settings_(std::move(settings)),
        axes_(static_cast<std::int64_t>(context.reference.extent.size())),
        width_(context.width) {
    // The axes' MLPs side by side: [axis * hidden, D] and so on.
    in_weight_ = register_parameter("in_weight", at::empty({axes_ * settings_.hidden, width_}));
    in_bias_ = register_parameter("in_bias", at::empty({axes_ * settings_.hidden}));
    out_weight_ = register_parameter("out_weight", at::empty({axes_, settings_.hidden}));
    out_bias_ = register_parameter("out_bias", at::empty({axes_}));
  }

  void initialize(const Initializer& initializer) override {
    const double in = 1 / std::sqrt(static_cast<double>(width_)),
                 out = 1 / std::sqrt(static_cast<double>(settings_.hidden));
    initializer.uniform(in_weight_.detach(), "in_weight", -in, in);
    initializer.uniform(in_bias_.detach(), "in_bias", -in, in);
    initializer.uniform(out_weight_.detach(), "out_weight", -out, out);
    initializer.uniform(out_bias_.detach(), "out_bias", -out, out);
  }

  AuxLoss loss(const Taps& taps, const Layout& layout, const ForwardContext& context) override {
    const Tensor features = taps.find(settings_.tap)->second.slice(1, layout.prefix);
    const Tensor hidden = at::relu(at::linear(features, in_weight_, in_bias_)).unflatten(-1, {axes_, settings_.hidden});
    const Tensor found = (hidden * out_weight_).sum(-1) + out_bias_;  // [B, N, axes]
    const Tensor raw = error(found, targets(layout, found).expand_as(found));
    const double ramp = context.step.reached(settings_.warmup_steps - 1)
                            ? 1.0
                            : static_cast<double>(context.step + 1) / static_cast<double>(settings_.warmup_steps);
    const double weight = settings_.start + (settings_.lambda - settings_.start) * ramp;
    return {.prior = {}, .value = raw * weight, .fields = {{"guidance", raw.detach()}}};
  }

  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }
  bool training_only(std::string_view) const override { return true; }

 private:
  Tensor error(const Tensor& found, const Tensor& wanted) const {
    if (settings_.error == "l1") return at::l1_loss(found, wanted);
    if (settings_.error == "mse") return at::mse_loss(found, wanted);
    return at::smooth_l1_loss(found, wanted, at::Reduction::Mean, settings_.beta);
  }

  const Tensor& targets(const Layout& layout, const Tensor& like) {
    return targets_.get(layout, like.device(), like.scalar_type(), [&] {
      std::vector<double> last;
      for (const std::int64_t length : layout.extent)
        last.push_back(settings_.normalized ? static_cast<double>(std::max<std::int64_t>(length - 1, 1)) : 1.0);
      return grid_positions(layout, like.options()) / at::tensor(last, at::kDouble).to(like.options());
    });
  }

  GuidanceSettings settings_;
  std::int64_t axes_, width_;
  Tensor in_weight_, in_bias_, out_weight_, out_bias_;
  PerLayout<Tensor> targets_;  // [N, axes]
};

}  // namespace

PriorItem guidance() {
  Item item = prior_entry("guidance", 1, "A training-time loss asks the features for each patch's coordinates",
                          "Active Spatial Guidance: Eliminating Injected Positional Mechanisms in Vision Transformers",
                          "loss + lambda_t smooth_l1(MLP(f), coordinates)", {"loss"}, {1, 2, 3});
  weigh(item, {.parameters = "2 (256 D + 513) once a model, in training only",
               .counts = {{"parameters", "0"}, {"training_only", "rank * (hidden * (dim + 2) + 1)"}},
               .base = 394242,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "two MLPs over the patches in training, nothing after it"});
  item.set("weight_decay", "exempt");
  item.option(Option::number("lambda", 100.0, "weight of the loss once warmed up").minimum(0.0).maximum(1e6));
  item.option(Option::number("start", 10.0, "weight the warm-up starts from").minimum(0.0).maximum(1e6).neutral(10.0));
  item.option(Option::integer("warmup_steps", 60, "optimizer steps from start to lambda")
                  .minimum(1)
                  .maximum(1000000)
                  .unit("steps"));
  item.option(Option::number("beta", 1.0, "error where smooth L1 turns from square to linear").above(0.0).maximum(1e6));
  item.option(Option::integer("hidden", 256, "width of the MLPs").minimum(1).maximum(65536));
  item.option(
      Option::text("tap", "post-norm", "features read: after (classification) or before (dense tasks) the final norm")
          .choices({"post-norm", "pre-norm"}));
  item.option(Option::text("error", "smooth-l1", "how far a read coordinate is off: smooth L1, absolute, squared")
                  .choices({"smooth-l1", "l1", "mse"})
                  .neutral("smooth-l1"));
  item.option(Option::text("targets", "normalized", "coordinates from 0 to 1, or counted in patches")
                  .choices({"normalized", "patches"})
                  .neutral("normalized"));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Guidance>(
                context, GuidanceSettings{o.number("lambda"), o.number("start"), o.number("beta"),
                                          o.integer("warmup_steps"), o.integer("hidden"), o.text("tap"),
                                          o.text("error"), o.text("targets") == "normalized"});
          }};
}

}  // namespace locus::engine::priors
