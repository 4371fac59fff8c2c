// Rotation-invariant parabolic position encoding (PaPE-RI): a penalty with the squared distance of a pair, as
// strong as the query's content says.
//
//   a_i = softplus(W_a x_i), one number a head;   L[i, j] = c (q_i . k_j - a_i |w (r_j - r_i)|^2)
//
// Paper: "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas", section on rotation
// invariance. The paper writes the scale w of a head as a parameter; the published code draws it once and
// never trains it ("buffer", the default). Only w^2 matters: a head whose w falls near 0 has no signal.
// As rank axes + 1 inner products, [-a w^2, 2 a w^2 r_i] . [|r_j|^2, r_j], and a row constant. Prefix tokens
// lie at (0, 0) before patches from (1, 1), or have no term ("zero-term"). Boxes and points as in pape.
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/numbers.h"
#include "engine/priors/points.h"

namespace locus::engine::priors {
namespace {

struct PapeRiSettings {
  bool learned, zero_term;
  Measure measure;
};

class PapeRiLayer final : public PriorLayer, public HasHeadNumbers {
 public:
  PapeRiLayer(const PapeRiSettings& settings, const LayerInfo& info, std::shared_ptr<PerLayout<Tensor>> points)
      : settings_(settings), points_(std::move(points)), reference_(info.reference), scale_(info.scale) {
    a_ = register_parameter("a", at::empty({info.heads, info.width}));
    w_ = settings.learned ? register_parameter("w", at::empty({info.heads}))
                          : register_buffer("w", at::empty({info.heads}));
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const Layout& layout = inputs.layout;
    const at::ScalarType type = inputs.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor kept = points_->get(layout, inputs.x.device(), type, [&] {
      return centered_points(layout, reference_, settings_.measure, inputs.x.options().dtype(type));
    });
    const Tensor points = kept.dim() == 3 ? kept.unsqueeze(1) : kept;  // [T, p], or [B, 1, T, p] where they are points
    const Tensor square = points.square().sum(-1, /*keepdim=*/true);   // [.., T, 1]
    const Tensor a = at::softplus(at::linear(inputs.x, a_).to(type)).transpose(1, 2).unsqueeze(-1);
    const Tensor strength = a * w_.to(type).square().view({-1, 1, 1}) * scale_;  // [B, H, T, 1]
    Tensor query = at::cat({-strength, 2 * strength * points}, -1);
    Tensor key = at::cat({square, points}, -1), row = -strength * square;
    if (key.dim() == 2) key = key.unsqueeze(0).unsqueeze(0);
    if (settings_.zero_term && layout.prefix > 0) {
      // The row constant of patch rows must not reach the columns of prefix tokens: one more channel takes it
      // off there.
      const auto cleared = [&](const Tensor& t) {
        return at::constant_pad_nd(t.slice(2, layout.prefix), {0, 0, layout.prefix, 0}, 0);
      };
      Tensor marks = at::zeros_like(key.slice(3, 0, 1));
      marks.narrow(2, 0, layout.prefix).fill_(-1);
      row = cleared(row);
      query = at::cat({cleared(query), row}, -1);
      key = at::cat({cleared(key), marks}, -1);
    }
    return {Depends::kContent, LowRank{query, key, row}};
  }

  std::vector<HeadNumbers> head_numbers(const AttentionInputs& inputs) override {
    const Tensor a = at::softplus(at::linear(inputs.x, a_)).mean(at::IntArrayRef{0, 1});  // [H]
    return {{"width",
             "Width of the parabola",
             "standard deviation of e^z, z the mean over the queries' parabolas",
             unit_of(settings_.measure),
             {""},
             at::rsqrt(2 * scale_ * a * w_.square()).unsqueeze(0)}};
  }

  void initialize(const Initializer& initializer) {
    const double fan = 1 / std::sqrt(static_cast<double>(a_.size(1)));
    initializer.uniform(a_.detach(), "a", -fan, fan);
    const double spread = 1 / std::sqrt(static_cast<double>(reference_.rank()));
    initializer.uniform(w_.detach(), "w", -spread, spread);
  }

 private:
  PapeRiSettings settings_;
  std::shared_ptr<PerLayout<Tensor>> points_;
  Layout reference_;
  double scale_;
  Tensor a_;  // W_a [H, D]
  Tensor w_;  // [H]
};

class PapeRi final : public Prior {
 public:
  explicit PapeRi(const PapeRiSettings& settings)
      : settings_(settings), points_(std::make_shared<PerLayout<Tensor>>()) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<PapeRiLayer>(settings_, info, points_);
  }
  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l)
      static_cast<PapeRiLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
  }

 private:
  PapeRiSettings settings_;
  std::shared_ptr<PerLayout<Tensor>> points_;
};

}  // namespace

PriorItem pape_ri() {
  Item item = prior_entry("pape-ri", 1, "Penalty with the squared distance, as strong as the query's content says",
                          "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas",
                          "L = c (q k^T - a_i |w (r_j - r_i)|^2)", {"bias"}, {1, 2, 3});
  weigh(item, {.parameters = "D H a layer",
               .counts = {{"parameters", "depth * heads * (dim + w.learned)"}},
               .base = 110592,
               .paths = {"low-rank", "fused-bias", "explicit"},
               .cost = "a product of x with D H weights and 3 channels beside those of q and k a layer; no T "
                       "x T tensor"});
  needs_whole_grid(item);
  takes_points(item);
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  on_grids_when(item, "coordinates", {"grids"}, "points have no sides to be divided by");
  item.option(Option::text("w", "buffer", "scale a head: drawn and kept (published code), or learned (paper)")
                  .choices({"buffer", "learned"}));
  item.option(Option::text("prefix", "origin", "class and register tokens: at (0, 0), or without the term")
                  .choices({"origin", "zero-term"}));
  item.option(Option::text("coordinates", "patches", "counted in patches, or divided by the grid's sides (grids)")
                  .choices({"patches", "grids"})
                  .neutral("patches"));
  item.option(Option::text("other_grids", "extrapolate", "positions on other grids than at training: go on, or squeeze")
                  .choices({"extrapolate", "interpolate"})
                  .neutral("extrapolate")
                  .when("coordinates", {"patches"}));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<PapeRi>(
                PapeRiSettings{o.text("w") == "learned", o.text("prefix") == "zero-term", measure_of(o)});
          }};
}

}  // namespace locus::engine::priors
