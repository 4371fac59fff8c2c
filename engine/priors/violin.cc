// Violin: decay masks along space-filling curves multiply the logits.
//
//   L_n = alpha_n * M_n * A
//   M_n[i, j] = mean over curves c of lambda_{c,n}^|pi_c(i) - pi_c(j)|,   lambda = sigmoid(a)
//
// Paper: "Spatial Priors via Space Filling Curves for Small and Limited Data Vision Transformers",
// section 3.4; the other ways to apply M are those of its table 14, the other distances those of table 13.
// pi_c(i) is the rank of patch i along curve c.
//
// Rows and columns of prefix tokens in M are 1 (or a number a head that is learned); alpha multiplies those
// logits too. On another grid the ranks are computed anew, a and alpha kept; "ranks" scales their distances
// back to the grid of training, as neither paper nor code does. From scratch a ~ U(5, 9) and alpha ~ N(0,
// 0.5); a pretrained model keeps its function with alpha ~ N(1, 0.02). lambda^E is evaluated as
// exp(-softplus(-a) E), which cannot overflow. The published code reads (row, column) as (x, y) in zigzag:
// its zigzag is this zigzag-transposed. The paper fixes lambda at 0.9996, the code at 0.996. A random order
// is a function of six numbers in the checkpoint, so that it is one order for all layers and heads on every
// grid.
//
// Biases of other priors are added behind the mask, L = alpha M A + B, or masked with the content
// ("bias_order: before"), L = alpha M (A + B); the paper combines iRPE with Violin and does not say which. It
// names a learned order (table 25) and not its mechanism. Here ranks follow numbers z, one a patch, that all
// layers and heads share: pi(i) = sum over j of sigmoid(N (z_i - z_j)), the rank where z are far apart and
// smooth where they meet. They start in raster order, z_i = (i + 1/2) / N; another grid gets them by linear
// interpolation.
//
// On boxes the curves are those of box_curves.h, ranks count all frames, and distances are |dt| + |dr| + |dc|. The
// paper's appendix D.2 names this way and a curve within each frame, and runs neither. "video: per-frame" is the other
// one, pi(t, y, x) = pi(y, x) of the frame's curve. What patches of two frames are to each other it does not say: as far
// apart as their ranks whatever the frames (cross_frame: same-rank), or M = 1 (one). A rectangle is one frame.
#include <cmath>

#include "engine/base/precision.h"
#include "engine/priors/curves.h"
#include "engine/priors/items.h"
#include "engine/priors/numbers.h"
#include "engine/priors/violin_tables.h"

namespace locus::engine::priors {
namespace {

constexpr double kImproperDeviation = 0.5;  // of a, in the published code's "no_initialize"

// `frame` [H, n, n] within each frame, and 1 for patches of two frames: [H, N, N].
Tensor one_across(const Tensor& frame, std::int64_t frames) {
  const Tensor within = at::eye(frames, frame.options().dtype(at::kBool)).view({frames, 1, frames, 1});
  return at::where(within, frame.unsqueeze(1).unsqueeze(3), at::ones({}, frame.options())).flatten(3, 4).flatten(1, 2);
}

class ViolinLayer final : public PriorLayer, public HasHeadNumbers {
 public:
  ViolinLayer(const LayerInfo& info, std::shared_ptr<ViolinTables> tables) : tables_(std::move(tables)) {
    const ViolinSettings& s = tables_->settings;
    const std::int64_t heads = info.heads;
    const auto curves = static_cast<std::int64_t>(s.curves.size());
    if (s.learned_lambda) {
      a_ = register_parameter("a", at::empty({curves, heads}));
    } else {
      rate_ = register_buffer("rate", at::full({curves, heads}, -std::log(s.fixed_lambda)));
    }
    alpha_ = s.alpha ? register_parameter("alpha", at::empty({heads})) : register_buffer("alpha", at::ones({heads}));
    if (s.learned_weights) weights_ = register_parameter("weights", at::empty({curves, heads}));
    if (s.learned_prefix && info.reference.prefix > 0) prefix_ = register_parameter("prefix", at::empty({heads}));
  }

  BiasTerm scale(const AttentionInputs& inputs, const ForwardContext&) override {
    return term(inputs, tables_->settings.apply == "mul-logits-res" ? 1 : 0);
  }
  bool scales_biases() const override { return tables_->settings.masks_sum; }
  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override { return term(inputs, 0); }
  std::optional<ProbabilityTerm> probability_term(const AttentionInputs& inputs, const ForwardContext&) override {
    if (tables_->settings.apply == "mul-probs") return Weighted{term(inputs, 0)};
    return Shifted{term(inputs, 0)};
  }

  std::vector<HeadNumbers> head_numbers(const AttentionInputs&) override {
    const Tensor rate = a_.defined() ? at::softplus(a_.neg()) : rate_;
    return {{"lambda", "Decay of each curve", "what a step along the curve leaves of the mask, lambda", "",
             tables_->settings.curves, at::exp(-rate)},
            {"alpha", "Strength of the mask", "alpha, which multiplies it", "", {""}, alpha_.unsqueeze(0)}};
  }

  // One stream for each curve, so that models with different sets of curves share what they have in common.
  void initialize(const Initializer& initializer) {
    const ViolinSettings& s = tables_->settings;
    const at::NoGradGuard no_grad;
    if (a_.defined()) {
      for (std::size_t c = 0; c < s.curves.size(); ++c) {
        const Tensor row = a_.detach().select(0, static_cast<std::int64_t>(c));
        if (s.normal_a) {
          initializer.normal(row, "a." + s.curves[c], 0, kImproperDeviation);
        } else {
          initializer.uniform(row, "a." + s.curves[c], s.a_min, s.a_max);
        }
      }
    }
    if (s.alpha) initializer.normal(alpha_.detach(), "alpha", s.alpha_mean, s.alpha_std);
    if (weights_.defined()) weights_.fill_(1 / static_cast<double>(s.curves.size()));
    if (prefix_.defined()) prefix_.fill_(1);
  }

 private:
  // Whether a CurveDecay says it all.
  bool plain(const Layout& layout) const {
    const ViolinSettings& s = tables_->settings;
    return s.by_rank() && !weights_.defined() && !prefix_.defined() && !(s.frames_apart && s.repeats(layout) > 1);
  }

  // plus + alpha M, in float32 or better.
  BiasTerm term(const AttentionInputs& inputs, double plus) {
    const ViolinSettings& s = tables_->settings;
    const at::ScalarType type = alpha_.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor alpha = alpha_.to(type);
    Tensor rate = (a_.defined() ? at::softplus(a_.neg()) : rate_).to(type);
    const std::int64_t ranked = s.ranked(inputs.layout);
    if (s.reference_patches > 0 && s.reference_patches != ranked)
      rate = rate * (static_cast<double>(s.reference_patches) / static_cast<double>(ranked));
    const bool by_curves = plain(inputs.layout);
    const bool fixed = !a_.defined() && !alpha_.requires_grad() && by_curves && s.distance != "random";
    const Depends on = fixed ? Depends::kLayout : Depends::kParameters;
    if (by_curves) return {on, CurveDecay{tables_->ranks(inputs.layout, inputs.q.device(), type), rate, alpha, plus}};
    if (s.distance == "manhattan") return {on, by_offset(inputs.layout, rate, alpha, plus)};
    const Tensor mask = mixed(inputs.layout, rate) * alpha.view({-1, 1, 1});
    return {Depends::kParameters, Dense{(plus == 0 ? mask : mask + plus).unsqueeze(0)}};
  }

  // plus + alpha M, M a function of the offset.
  RelativeTable by_offset(const Layout& layout, const Tensor& rate, const Tensor& alpha, double plus) {
    const AxisDistances& of = tables_->manhattan(layout, rate);
    const Autocast off(Precision::kFloat32, rate.device());
    Tensor mask = at::exp(-at::matmul(rate.t(), of.distance));  // [H, R]
    if (layout.prefix > 0) mask = at::cat({mask, outside(rate).unsqueeze(1)}, 1);
    mask = mask * alpha.unsqueeze(1);
    return {.table = (plus == 0 ? mask : mask + plus).unsqueeze(0), .index = of.index};
  }

  // M where a prefix token is involved, [H].
  Tensor outside(const Tensor& rate) const {
    return prefix_.defined() ? prefix_.to(rate.scalar_type()) : at::ones({rate.size(1)}, rate.options());
  }

  // M with everything that can be learned, [H, T, T].
  Tensor mixed(const Layout& layout, const Tensor& rate) {
    const ViolinSettings& s = tables_->settings;
    Tensor patches;
    if (s.learned_order()) {
      patches = at::exp(tables_->along_learned_order(layout, rate.scalar_type()) * -rate.view({-1, 1, 1}));
    } else {
      const Tensor all = tables_->ranks(layout, rate.device(), rate.scalar_type())->rank();
      const CurveRanks bare(s.frames_apart ? all.slice(1, 0, s.ranked(layout)) : all, 0);
      const Tensor powers = at::exp(bare.distance(rate.scalar_type()) * rate.neg().unsqueeze(-1).unsqueeze(-1));
      patches = weights_.defined() ? (powers * weights_.to(rate.scalar_type()).unsqueeze(-1).unsqueeze(-1)).sum(0)
                                   : powers.mean(0);
      if (s.frames_apart) patches = one_across(patches, s.repeats(layout));
    }
    if (layout.prefix == 0) return patches;
    Tensor around = at::ones({layout.tokens(), layout.tokens()}, rate.options());
    around.slice(0, layout.prefix).slice(1, layout.prefix).zero_();
    return at::constant_pad_nd(patches, {layout.prefix, 0, layout.prefix, 0}) + around * outside(rate).view({-1, 1, 1});
  }

  std::shared_ptr<ViolinTables> tables_;
  Tensor a_, rate_;  // [C, H]; one of them
  Tensor alpha_;     // [H]
  Tensor weights_;   // [C, H] or undefined
  Tensor prefix_;    // [H] or undefined: M where a prefix token is involved
};

class Violin final : public Prior {
 public:
  Violin(ViolinSettings settings, const Layout& reference)
      : tables_(std::make_shared<ViolinTables>(std::move(settings), reference)) {
    if (tables_->settings.learned_order())
      tables_->place = register_parameter("place", at::empty({reference.patches()}));
    if (tables_->settings.distance == "random") tables_->order = register_buffer("order", at::zeros({6}));
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<ViolinLayer>(info, tables_);
  }

  void initialize(const Initializer& initializer) override {
    if (tables_->order.defined()) {
      initializer.uniform(tables_->order, "order", 0, 256);
      tables_->order.floor_();
    }
    if (tables_->place.defined()) {
      const double patches = static_cast<double>(tables_->place.numel());
      tables_->place.detach().copy_((at::arange(tables_->place.numel(), at::kDouble) + 0.5) / patches);
    }
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<ViolinLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
    }
  }

  bool uses(Hook hook) const override {
    const std::string& apply = tables_->settings.apply;
    if (hook == Hook::kScale) return apply.starts_with("mul-logits");
    return hook == Hook::kBias ? apply == "add-logits" : apply.ends_with("probs");
  }

  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }

 private:
  std::shared_ptr<ViolinTables> tables_;
};

ViolinSettings settings_of(const PriorContext& context, const Options& o) {
  ViolinSettings s{.curves = o.texts("curves"),
                   .apply = o.text("apply"),
                   .distance = o.text("distance"),
                   .learned_lambda = o.text("lambda") == "learned",
                   .alpha = o.boolean("alpha"),
                   .learned_weights = o.text("curve_weights") == "learned",
                   .learned_prefix = o.text("prefix") == "learned",
                   .separate_axes = o.boolean("separate_axes"),
                   .normal_a = o.text("a_init") == "normal",
                   .masks_sum = o.text("bias_order") == "before",
                   .per_frame = o.text("video") == "per-frame",
                   .frames_apart = o.text("cross_frame") == "one",
                   .reference_patches = 0,
                   .fixed_lambda = o.number("lambda_value"),
                   .alpha_mean = o.number("alpha_mean"),
                   .alpha_std = o.number("alpha_std"),
                   .a_min = o.number("a_min"),
                   .a_max = o.number("a_max")};
  if (o.text("ranks") == "scaled") s.reference_patches = s.ranked(context.reference);
  if (s.distance == "manhattan" && s.separate_axes) {
    s.curves = {"frames", "rows", "columns"};
    if (context.reference.rank() == 2) s.curves.erase(s.curves.begin());
  } else if (s.distance != "curves") {
    s.curves = {s.distance};
  }
  return s;
}

void add_frames(Item& item) {
  item.option(Option::text("video", "full",
                           "on videos a curve fills the box of all frames, or each frame by itself and alike; an image "
                           "is one frame")
                  .choices({"full", "per-frame"})
                  .neutral("full")
                  .when("distance", {"curves"}));
  item.option(Option::text("cross_frame", "same-rank",
                           "patches of two frames: as far apart as their ranks, whatever the frames, or M is 1 (one)")
                  .choices({"same-rank", "one"})
                  .neutral("same-rank")
                  .when("video", {"per-frame"}));
}

void add_options(Item& item) {
  item.option(Option::list("curves", "string", curve_names(), "curves whose decays are averaged")
                  .choices(curve_names())
                  .min_items(1)
                  .unique()
                  .when("distance", {"curves"}));
  item.option(Option::text("distance", "curves",
                           "along curves, in raster order (z-curve), in one random order, in one that is "
                           "learned, or |dr| + |dc| (videos: + |dt|)")
                  .choices({"curves", "z-curve", "random", "manhattan", "learned-order"})
                  .neutral("curves"));
  add_frames(item);
  item.option(Option::boolean("separate_axes", false, "lambda_r^|dr| lambda_c^|dc|: a lambda for each axis")
                  .neutral(false)
                  .when("distance", {"manhattan"}));
  item.option(Option::text("apply", "mul-logits",
                           "M' = alpha M times the logits, 1 + M' times them, M' added to them; M' times the "
                           "probabilities or added to them, not normalized again")
                  .choices({"mul-logits", "mul-logits-res", "add-logits", "mul-probs", "add-probs"})
                  .neutral("mul-logits"));
  item.option(Option::text("bias_order", "after",
                           "biases of other priors: added behind the mask, or masked with the logits (before)")
                  .choices({"after", "before"})
                  .neutral("after")
                  .when("apply", {"mul-logits", "mul-logits-res"}));
  item.option(Option::text("curve_weights", "mean", "how curves are weighed: equally, or learned a curve and head")
                  .choices({"mean", "learned"})
                  .neutral("mean")
                  .when("distance", {"curves"}));
  item.option(Option::text("prefix", "one", "M for class and register tokens: 1, or a number a head that is learned")
                  .choices({"one", "learned"})
                  .neutral("one"));
  item.option(Option::text("lambda", "learned", "decay per curve and head: learned, or fixed at lambda_value")
                  .choices({"learned", "fixed"}));
  item.option(Option::number("lambda_value", 0.9996, "the decay where lambda is fixed")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(0.9996));
  item.option(Option::text("ranks", "counted",
                           "distances of ranks on other grids than at training: as counted, or scaled to as many "
                           "patches as there were")
                  .choices({"counted", "scaled"})
                  .neutral("counted")
                  .when("distance", {"curves", "z-curve", "random", "learned-order"}));
  item.option(Option::text("a_init", "uniform",
                           "a starts uniform from a_min to a_max, or normal around 0 (the paper's table 15, no "
                           "proper initialization)")
                  .choices({"uniform", "normal"})
                  .neutral("uniform"));
  item.option(
      Option::number("a_min", 5.0, "a starts uniform from here, lambda = sigmoid(a)").minimum(-20.0).maximum(20.0));
  item.option(Option::number("a_max", 9.0, "a starts uniform up to here").minimum(-20.0).maximum(20.0));
  item.option(Option::boolean("alpha", true, "learn a factor per head; otherwise it is 1").neutral(true));
  item.option(
      Option::number("alpha_mean", 0.0, "alpha starts normal with this mean; 1 keeps a pretrained model's function")
          .minimum(-10.0)
          .maximum(10.0));
  item.option(Option::number("alpha_std", 0.5, "and this standard deviation; 0.02 for a pretrained model")
                  .minimum(0.0)
                  .maximum(10.0));
}

}  // namespace

PriorItem violin() {
  Item item = prior_entry("violin", 1, "Decay masks along space-filling curves scale the logits",
                          "Spatial Priors via Space Filling Curves for Small and Limited Data Vision Transformers",
                          "L = alpha M (c q k^T), M = mean_c lambda_c^|pi_c(i) - pi_c(j)|",
                          {"scale", "bias", "probabilities"}, {2, 3});
  weigh(item,
        {.parameters = "(C + 1) H a layer, C the curves",
         .counts = {{"lines", "distance.curves * curves + (1 - distance.curves) * (1 + separate_axes * (rank - 1))"},
                    {"tables", "lambda.learned * lines + alpha + curve_weights.learned * lines"},
                    {"parameters",
                     "heads * (depth * tables + prefix.learned * prefixed) + distance.learned-order * rows * columns"}},
         .base = 1296,
         .paths = {"flash", "sdpa", "explicit"},
         .cost = "C H N^2 exponentials a layer, alpha M kept in evaluation"});
  item.set("weight_decay", "exempt");
  adds_probability(item, {{"option", "apply"}, {"values", Json::array({"add-probs"})}});
  makes_all_pairs(item, "distance", "learned-order", "a rank sums learned comparisons with all patches");
  makes_all_pairs(item, "curve_weights", "learned", "the form of curves averages them: a mask [H, T, T] instead");
  makes_all_pairs(item, "prefix", "learned", "the form of curves is 1 with a prefix token: a mask [H, T, T] instead");
  makes_all_pairs(item, "cross_frame", "one",
                  "on videos the form of curves has no 1 across frames: a mask [H, T, T] instead");
  add_options(item);
  item.constraint({{"rule", "at-most"},
                   {"left", "a_min"},
                   {"right", "a_max"},
                   {"help", "the range of a runs from a_min to a_max"}});
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Violin>(settings_of(context, o), context.reference);
          }};
}

}  // namespace locus::engine::priors
