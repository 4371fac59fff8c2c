// Parabolic position encoding (PaPE): each query sees the keys through parabolas over learned projections of
// their positions.
//
//   s_i = W_p r_i,  a_i = softplus(W_a x_i) > 0,  b_i = W_b x_i      m numbers a head each
//   z[i, j] = sum over m of -a_i (s_j - s_i)^2 + b_i (s_j - s_i)
//   L[i, j] = c (q_i . k_j + z[i, j])
//
// Paper: "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas", eqs. 9 to 14. Its
// code has -b; W_b is free, so only exchanging weights needs `sign`. The published augmentation of q and k is
// 3 m + 2 channels wide; but s is linear in r, so m parabolas of a query are one in the offset d = r_j - r_i:
//
//   z[i, j] = -d^T A_i d + beta_i . d,   A_i = sum over m of a_im w_m w_m^T,   beta_i = sum over m of b_im w_m
//
// with w_m the rows of W_p: 5 numbers a query on a grid of two axes (2 on a line, 9 in a box), whatever m is. beta is
// one small map of x, (W_p^T W_b) x, and so is A without softplus. Without content A and beta are a head's, and z is a
// function of the offset. Prefix tokens lie at (0, 0) before patches from (1, 1), or have z = 0 ("zero-term"). The
// ablations of the paper's table are options. Boxes count (t, y, x) from (1, 1, 1), with prefix tokens at (0, 0, 0);
// points keep their coordinates and the order of their axes.
#include <cmath>

#include "engine/base/precision.h"
#include "engine/layers/strengths.h"
#include "engine/priors/items.h"
#include "engine/priors/numbers.h"
#include "engine/priors/offsets.h"
#include "engine/priors/points.h"

namespace locus::engine::priors {
namespace {

struct PapeSettings {
  std::int64_t m;
  bool distance, direction, content, softplus, projection, zero_term;
  Measure measure;
  double sign;
};

// What the numbers of a head meet for every offset, [R, numbers], and which of them every pair reads.
struct OffsetTerms {
  Tensor terms;
  PairIndex index;
};

// Shared by the layers, per layout.
class PapePlaces {
 public:
  // [T, axes], of points [B, T, axes]
  const Tensor& of_tokens(const Layout& layout, const Layout& reference, const PapeSettings& settings,
                          at::TensorOptions options) {
    return points_.get(layout, options.device(), options.dtype().toScalarType(),
                       [&] { return centered_points(layout, reference, settings.measure, options); });
  }
  // Of a grid.
  const OffsetTerms& by_offset(const Layout& layout, const Layout& reference, const PapeSettings& settings,
                               at::TensorOptions options) {
    return offsets_.get(layout, options.device(), options.dtype().toScalarType(), [&] {
      const bool origin = layout.prefix > 0 && !settings.zero_term;
      return OffsetTerms{
          at::stack(Quadratic::terms(measured_offsets(layout, reference, settings.measure, origin, options).unbind(1)),
                    1),
          origin ? origin_rule(layout, options.device()) : offset_rule(layout, options.device())};
    });
  }

 private:
  PerLayout<Tensor> points_;
  PerLayout<OffsetTerms> offsets_;
};

class PapeLayer final : public PriorLayer, public HasHeadNumbers {
 public:
  PapeLayer(const PapeSettings& settings, const LayerInfo& info, std::shared_ptr<PapePlaces> places)
      : settings_(settings), places_(std::move(places)), reference_(info.reference), scale_(info.scale) {
    const std::int64_t axes = info.reference.rank();
    heads_ = info.heads;
    m_ = settings.projection ? settings.m : axes;
    const std::vector<std::int64_t> shape =
        settings.content ? std::vector<std::int64_t>{heads_ * m_, info.width} : std::vector<std::int64_t>{heads_, m_};
    if (settings.distance) a_ = register_parameter("a", at::empty(shape));
    if (settings.direction) b_ = register_parameter("b", at::empty(shape));
    if (settings.projection) position_ = register_parameter("position", at::empty({heads_ * m_, axes}));
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const Layout& layout = inputs.layout;
    const at::ScalarType type = inputs.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const std::int64_t outside = settings_.zero_term ? layout.prefix : 0;  // tokens without a place
    if (!settings_.content && !layout.points) {
      const OffsetTerms& table = places_->by_offset(layout, reference_, settings_, inputs.x.options().dtype(type));
      const Tensor values = at::matmul(numbers_of_heads(type), table.terms.t());
      return {Depends::kParameters, offset_bias(values, table.index)};
    }
    const Tensor place = places_->of_tokens(layout, reference_, settings_, inputs.x.options().dtype(type));
    const Tensor numbers = settings_.content
                               ? numbers_of_content(inputs.x, type)
                               : numbers_of_heads(type).view({1, heads_, 1, -1}).expand({-1, -1, place.size(-2), -1});
    return {settings_.content ? Depends::kContent : Depends::kParameters,
            Quadratic{.numbers = numbers.slice(2, outside), .positions = place.slice(-2, outside), .prefix = outside}};
  }

  // Of z = -d^T A d + beta . d, the mean of the queries' parabolas over the offset d of key from query: its
  // peak A^-1 beta / 2, and the standard deviations of e^(c z) along the axes of A, 1 / sqrt(2 c eigenvalue).
  std::vector<HeadNumbers> head_numbers(const AttentionInputs& inputs) override {
    const bool bowl = a_.defined() && settings_.softplus && inputs.layout.extent.size() == 2;
    if (!bowl) return {};
    const Tensor w = position_.defined() ? position_.unflatten(0, {heads_, m_})
                                         : at::eye(m_, a_.options()).expand({heads_, -1, -1});  // [H, m, 2]
    const auto mean = [&](const Tensor& weight, bool positive) {
      const Tensor each = numbers(weight, inputs, at::kFloat);
      return (positive ? at::softplus(each) : each * settings_.sign).mean(at::IntArrayRef{0, 2});  // [H, m]
    };
    const Tensor form = at::matmul((w * mean(a_, true).unsqueeze(-1)).transpose(1, 2), w);  // [H, 2, 2]
    const Tensor p = form.select(1, 0).select(1, 0), q = form.select(1, 0).select(1, 1),
                 r = form.select(1, 1).select(1, 1), half = (p + r) / 2, determinant = p * r - q * q,
                 apart = (half.square() - determinant).clamp_min(0).sqrt();
    const Tensor widths = at::rsqrt(2 * scale_ * at::stack({half + apart, half - apart}));
    std::vector<HeadNumbers> out = {{"width",
                                     "Widths of the parabola",
                                     "standard deviations of e^z, z the mean over the queries' parabolas",
                                     unit_of(settings_.measure),
                                     {"narrow", "wide"},
                                     widths}};
    if (!b_.defined()) return out;
    const Tensor beta = (w * mean(b_, false).unsqueeze(-1)).sum(1), x = beta.select(1, 0), y = beta.select(1, 1);
    const Tensor peak = at::stack({p * y - q * x, r * x - q * y}) / (2 * determinant);  // coordinates: x before y
    out.push_back({"peak",
                   "Peak of the parabola",
                   "where a patch looks by place, from itself, z the mean over the queries' parabolas",
                   unit_of(settings_.measure),
                   {"rows", "columns"},
                   peak});
    return out;
  }

  void initialize(const Initializer& initializer) {
    for (const auto& [name, tensor] : {std::pair<const char*, Tensor>{"a", a_}, {"b", b_}, {"position", position_}}) {
      if (!tensor.defined()) continue;
      if (!settings_.content && tensor.size(0) == heads_ && std::string_view(name) != "position") {
        tensor.detach().zero_();
        continue;
      }
      const double bound = 1 / std::sqrt(static_cast<double>(tensor.size(1)));
      initializer.uniform(tensor.detach(), name, -bound, bound);
    }
  }

 private:
  // a before softplus, or b: [B|1, H, T|1, m]
  Tensor numbers(const Tensor& weight, const AttentionInputs& inputs, at::ScalarType type) const {
    if (!settings_.content) return weight.to(type).unsqueeze(0).unsqueeze(2);
    return at::linear(inputs.x, weight).to(type).unflatten(2, {heads_, m_}).transpose(1, 2);
  }

  // What a head's m strengths of a term make of the numbers of a Quadratic, times c: [H, m, numbers].
  Tensor squares(at::ScalarType type) const {
    const Tensor w = projections(type);
    const std::int64_t axes = w.size(2);
    std::vector<Tensor> columns;
    for (std::int64_t a = 0; a < axes; ++a) {
      for (std::int64_t b = a; b < axes; ++b)
        columns.push_back(w.select(2, a) * w.select(2, b) * (a == b ? -scale_ : -2 * scale_));
    }
    return at::constant_pad_nd(at::stack(columns, 2), {0, axes});
  }
  Tensor lines(at::ScalarType type) const {
    const Tensor w = projections(type);
    const std::int64_t axes = w.size(2);
    return at::constant_pad_nd(w * (settings_.sign * scale_), {axes * (axes + 1) / 2, 0});
  }
  // W_p [H, m, axes]
  Tensor projections(at::ScalarType type) const {
    if (position_.defined()) return position_.to(type).unflatten(0, {heads_, m_});
    const Tensor& any = a_.defined() ? a_ : b_;
    return at::eye(m_, any.options().dtype(type)).expand({heads_, -1, -1});
  }

  // Without content: [H, numbers]
  Tensor numbers_of_heads(at::ScalarType type) const {
    const Autocast off(Precision::kFloat32, (a_.defined() ? a_ : b_).device());
    const auto summed = [&](const Tensor& strengths, const Tensor& columns) {
      return at::matmul(strengths.unsqueeze(1), columns).squeeze(1);
    };
    Tensor sum;
    if (a_.defined()) {
      const Tensor a = a_.to(type);
      sum = summed(settings_.softplus ? at::softplus(a) : a, squares(type));
    }
    if (!b_.defined()) return sum;
    const Tensor linear = summed(b_.to(type), lines(type));
    return sum.defined() ? sum + linear : linear;
  }

  // x [B, T, D] -> [B, H, T, numbers]. Only a softplus keeps the m numbers of a head apart.
  Tensor numbers_of_content(const Tensor& x, at::ScalarType type) const {
    const bool apart = a_.defined() && settings_.softplus;
    const auto [columns, map] = maps_of_content(type, apart);
    Tensor out;
    if (apart) {
      out = sum_by_strengths(x, a_, columns, map);
    } else {
      const Autocast off(Precision::kFloat32, x.device());
      out = at::linear(x.to(type), map);
    }
    return out.unflatten(2, {heads_, -1}).transpose(1, 2);
  }
  // What the strengths a meet where they are kept apart, all heads at once: each head's its own columns and zeros, [H m, H numbers].
  // And the map of x to all else, [H numbers, D]: a term's columns after the map to its strengths are one.
  std::pair<Tensor, Tensor> maps_of_content(at::ScalarType type, bool apart) const {
    const Autocast off(Precision::kFloat32, (a_.defined() ? a_ : b_).device());
    const auto combined = [&](const Tensor& weight, const Tensor& columns) {
      return at::matmul(columns.transpose(1, 2), weight.to(type).unflatten(0, {heads_, m_})).flatten(0, 1);
    };
    Tensor columns, map;
    if (apart) {
      const Tensor own = squares(type), other = at::eye(heads_, own.options());
      columns = (own.unsqueeze(2) * other.view({heads_, 1, heads_, 1})).flatten(2).flatten(0, 1);
    }
    if (a_.defined() && !apart) map = combined(a_, squares(type));
    if (b_.defined()) map = map.defined() ? map + combined(b_, lines(type)) : combined(b_, lines(type));
    return {columns, map};
  }

  PapeSettings settings_;
  std::shared_ptr<PapePlaces> places_;
  Layout reference_;
  double scale_;
  std::int64_t heads_ = 0, m_ = 0;
  Tensor a_, b_;     // W_a, W_b [H m, D]; without content a, b [H, m]
  Tensor position_;  // W_p [H m, axes]
};

class Pape final : public Prior {
 public:
  explicit Pape(const PapeSettings& settings) : settings_(settings), places_(std::make_shared<PapePlaces>()) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<PapeLayer>(settings_, info, places_);
  }
  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l)
      static_cast<PapeLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
  }

 private:
  PapeSettings settings_;
  std::shared_ptr<PapePlaces> places_;
};

}  // namespace

PriorItem pape() {
  Item item =
      prior_entry("pape", 1, "Each query sees the keys through parabolas over their positions",
                  "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas",
                  "L = c (q k^T - sum_m a_i (s_j - s_i)^2 + sum_m b_i (s_j - s_i)), s = W_p r", {"bias"}, {1, 2, 3});
  weigh(item, {.parameters = "2 D H m + 2 H m a layer",
               .counts = {{"s", "projection * m + (1 - projection) * rank"},
                          {"ab", "(1 + terms.both) * (content * dim + 1 - content)"},
                          {"parameters", "depth * heads * s * (ab + projection * rank)"}},
               .base = 11073600,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a product of x with D H m weights and of H m numbers a token with 5 columns a head, and a "
                       "parabola of 5 numbers in every pair, a layer; no T x T tensor"});
  needs_whole_grid(item);
  takes_points(item);
  on_grids_when(item, "other_grids", {"interpolate"}, "points have no sides to be squeezed by");
  on_grids_when(item, "coordinates", {"grids"}, "points have no sides to be divided by");
  item.option(Option::integer("m", 50, "projections of the positions a head").minimum(1).maximum(4096));
  item.option(
      Option::text("terms", "both", "both terms, the square alone (no direction), the linear alone (no distance)")
          .choices({"both", "distance", "direction"})
          .neutral("both"));
  item.option(Option::boolean("content", true, "a and b follow the content; else learned numbers").neutral(true));
  item.option(Option::boolean("softplus", true, "keep a positive").neutral(true));
  item.option(
      Option::boolean("projection", true, "W_p; else s is the position and m the number of axes").neutral(true));
  item.option(Option::text("sign", "paper", "sign of the linear term: as printed, or as in the published code")
                  .choices({"paper", "code"})
                  .neutral("paper"));
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
            const std::string terms = o.text("terms");
            return std::make_shared<Pape>(PapeSettings{o.integer("m"), terms != "direction", terms != "distance",
                                                       o.boolean("content"), o.boolean("softplus"),
                                                       o.boolean("projection"), o.text("prefix") == "zero-term",
                                                       measure_of(o), o.text("sign") == "paper" ? 1.0 : -1.0});
          }};
}

}  // namespace locus::engine::priors
