// Rotation-invariant parabolic position encoding (PaPE-RI): a penalty with the squared distance of a pair, as
// strong as the query's content says.
//
//   a_i = softplus(W_a x_i), one number a head;   L[i, j] = c (q_i . k_j - a_i |w (r_j - r_i)|^2)
//
// Paper: "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas", section on rotation
// invariance. The paper writes the scale w of a head as a parameter; the published code draws it once and
// never trains it ("buffer", the default). Only w^2 matters: a head whose w falls near 0 has no signal.
// A polynomial of the offset with the numbers -a w^2 for its squares. Prefix tokens lie at (0, 0) before patches from (1, 1), or have no term ("zero-term"). Boxes and points as in pape.
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
    const Tensor points = points_->get(layout, inputs.x.device(), type, [&] {
      return centered_points(layout, reference_, settings_.measure, inputs.x.options().dtype(type));
    });
    const std::int64_t outside = settings_.zero_term ? layout.prefix : 0;  // tokens without a place
    const Tensor a = at::softplus(at::linear(inputs.x, a_).to(type)).transpose(1, 2);
    const Tensor strength = (a * (w_.to(type).square() * scale_).view({-1, 1})).slice(2, outside);  // [B, H, N]
    return {Depends::kContent, Quadratic{.numbers = strength.unsqueeze(-1) * minus_square(points),
                                         .positions = points.slice(-2, outside),
                                         .prefix = outside}};
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
  // The numbers of -|d|^2.
  static Tensor minus_square(const Tensor& points) {
    const std::int64_t axes = points.size(-1);
    std::vector<double> numbers;
    for (std::int64_t a = 0; a < axes; ++a) {
      for (std::int64_t b = a; b < axes; ++b) numbers.push_back(a == b ? -1 : 0);
    }
    numbers.resize(numbers.size() + static_cast<std::size_t>(axes));
    return at::tensor(numbers, at::kDouble).to(points.options());
  }

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
  weigh(item,
        {.parameters = "D H a layer",
         .counts = {{"parameters", "depth * heads * (dim + w.learned)"}},
         .base = 110592,
         .paths = {"flash", "sdpa", "explicit"},
         .cost = "a product of x with D H weights and a parabola of 5 numbers in every pair a layer; no T x T tensor"});
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
