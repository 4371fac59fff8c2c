// Violin: decay masks along space-filling curves multiply the logits.
//
//   L_n = alpha_n * M_n * A
//   M_n[i, j] = mean over curves c of lambda_{c,n}^|pi_c(i) - pi_c(j)|,   lambda = sigmoid(a)
//
// Paper: "Spatial Priors via Space Filling Curves for Small and Limited Data Vision Transformers",
// section 3.4. pi_c(i) is the rank of patch i along curve c.
//
// Rows and columns of prefix tokens in M are 1; alpha multiplies those logits too. On another grid the ranks
// are computed anew, a and alpha kept. From scratch a ~ U(5, 9) and alpha ~ N(0, 0.5); a pretrained model
// keeps its function with alpha ~ N(1, 0.02). lambda^E is evaluated as exp(-softplus(-a) E), which cannot
// overflow.
#include <cmath>

#include "engine/priors/curves.h"
#include "engine/priors/items.h"

namespace locus::priors {
namespace {

struct Settings {
  std::vector<std::string> curves;
  bool learned_lambda, alpha;
  double fixed_lambda, alpha_mean, alpha_std, a_min, a_max;
};

// Curve ranks shared by the layers, per layout.
struct RankTables {
  std::vector<std::string> curves;
  PerLayout<std::shared_ptr<const CurveRanks>> kept;

  const std::shared_ptr<const CurveRanks>& get(const Layout& layout, at::Device device, at::ScalarType type) {
    return kept.get(layout, device, type, [&] {
      std::vector<Tensor> rows;
      for (const std::string& curve : curves)
        rows.push_back(at::tensor(curve_ranks(curve, layout.extent[0], layout.extent[1]), at::kInt));
      return std::make_shared<const CurveRanks>(at::stack(rows).to(device), layout.prefix);
    });
  }
};

class ViolinLayer final : public PriorLayer {
 public:
  ViolinLayer(const Settings& settings, std::int64_t heads, std::shared_ptr<RankTables> tables)
      : tables_(std::move(tables)) {
    const auto curves = static_cast<std::int64_t>(settings.curves.size());
    if (settings.learned_lambda) {
      a_ = register_parameter("a", at::empty({curves, heads}));
    } else {
      rate_ = register_buffer("rate", at::full({curves, heads}, -std::log(settings.fixed_lambda)));
    }
    alpha_ = settings.alpha ? register_parameter("alpha", at::empty({heads}))
                            : register_buffer("alpha", at::ones({heads}));
  }

  Term scale(const Sides& sides, const Moment&) override {
    const Tensor rate = a_.defined() ? at::softplus(a_.neg()) : rate_;
    return {a_.defined() || alpha_.requires_grad() ? Depends::kParameters : Depends::kLayout,
            CurveDecay{tables_->get(sides.layout, sides.q.device(), rate.scalar_type()), rate, alpha_}};
  }

  // One stream for each curve, so that models with different sets of curves share what they have in common.
  void initialize(const Settings& settings, const Initializer& initializer) {
    if (a_.defined()) {
      for (std::size_t c = 0; c < settings.curves.size(); ++c) {
        initializer.uniform(a_.detach().select(0, static_cast<std::int64_t>(c)), "a." + settings.curves[c],
                            settings.a_min, settings.a_max);
      }
    }
    if (settings.alpha) initializer.normal(alpha_.detach(), "alpha", settings.alpha_mean, settings.alpha_std);
  }

 private:
  std::shared_ptr<RankTables> tables_;
  Tensor a_, rate_;  // [C, H]; one of them
  Tensor alpha_;     // [H]
};

class Violin final : public Prior {
 public:
  explicit Violin(Settings settings)
      : settings_(std::move(settings)), tables_(std::make_shared<RankTables>()) {
    tables_->curves = settings_.curves;
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<ViolinLayer>(settings_, info.heads, tables_);
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<ViolinLayer&>(*layers()[l])
          .initialize(settings_, initializer.within("layers." + std::to_string(l)));
    }
  }

  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }

 private:
  Settings settings_;
  std::shared_ptr<RankTables> tables_;
};

}  // namespace

PriorItem violin() {
  Item item =
      prior_entry("violin", 1, "Decay masks along space-filling curves scale the logits",
                  "Spatial Priors via Space Filling Curves for Small and Limited Data Vision Transformers",
                  "L = alpha M (c q k^T), M = mean_c lambda_c^|pi_c(i) - pi_c(j)|", {"scale"}, {2});
  item.option(Option::list("curves", "string", curve_names(), "curves whose decays are averaged")
                  .choices(curve_names())
                  .min_items(1)
                  .unique());
  item.option(Option::text("lambda", "learned", "decay per curve and head: learned, or fixed at lambda_value")
                  .choices({"learned", "fixed"}));
  item.option(Option::number("lambda_value", 0.9996, "the decay where lambda is fixed")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(0.9996));
  item.option(Option::number("a_min", 5.0, "a starts uniform from here, lambda = sigmoid(a)")
                  .minimum(-20.0)
                  .maximum(20.0));
  item.option(Option::number("a_max", 9.0, "a starts uniform up to here").minimum(-20.0).maximum(20.0));
  item.option(Option::boolean("alpha", true, "learn a factor per head; otherwise it is 1").neutral(true));
  item.option(Option::number("alpha_mean", 0.0,
                             "alpha starts normal with this mean; 1 keeps a pretrained model's function")
                  .minimum(-10.0)
                  .maximum(10.0));
  item.option(Option::number("alpha_std", 0.5, "and this standard deviation; 0.02 for a pretrained model")
                  .minimum(0.0)
                  .maximum(10.0));
  item.constraint({{"rule", "at-most"},
                   {"left", "a_min"},
                   {"right", "a_max"},
                   {"help", "the range of a runs from a_min to a_max"}});
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Violin>(Settings{o.texts("curves"), o.text("lambda") == "learned",
                                                     o.boolean("alpha"), o.number("lambda_value"),
                                                     o.number("alpha_mean"), o.number("alpha_std"),
                                                     o.number("a_min"), o.number("a_max")});
          }};
}

}  // namespace locus::priors
