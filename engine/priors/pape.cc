// Parabolic position encoding (PaPE): each query sees the keys through parabolas over learned projections of
// their positions.
//
//   s_i = W_p r_i,  a_i = softplus(W_a x_i) > 0,  b_i = W_b x_i      m numbers a head each
//   z[i, j] = sum over m of -a_i (s_j - s_i)^2 + b_i (s_j - s_i)
//   L[i, j] = c (q_i . k_j + z[i, j])
//
// Paper: "Where to Attend: A Principled Vision-Centric Position Encoding with Parabolas", eqs. 9 to 14. Its
// code has -b; W_b is free, so only exchanging weights needs `sign`. The published augmentation of q and k is
// 3 m + 2 channels wide; expanding the square leaves 2 m, [-a, 2 a s_i + b] . [s_j^2, s_j], and a row
// constant. Coordinates are centered (z does not change), since the squares cancel inside the product. Prefix
// tokens lie at (0, 0) before patches from (1, 1), or have z = 0 ("zero-term"). The ablations of the paper's
// table are options. Boxes count (t, y, x) from (1, 1, 1), with prefix tokens at (0, 0, 0); points keep their
// coordinates and the order of their axes.
#include <cmath>

#include "engine/base/precision.h"
#include "engine/priors/items.h"
#include "engine/priors/numbers.h"
#include "engine/priors/points.h"

namespace locus::engine::priors {
namespace {

struct PapeSettings {
  std::int64_t m;
  bool distance, direction, content, softplus, projection, zero_term;
  Measure measure;
  double sign;
};

class PapeLayer final : public PriorLayer, public HasHeadNumbers {
 public:
  PapeLayer(const PapeSettings& settings, const LayerInfo& info, std::shared_ptr<PerLayout<Tensor>> points)
      : settings_(settings), points_(std::move(points)), reference_(info.reference), scale_(info.scale) {
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
    const at::ScalarType type = inputs.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor s = projected(inputs, type);  // [1, H, T, m], of points [B, H, T, m]
    std::vector<Tensor> query, key;
    Tensor row;
    if (a_.defined()) {
      Tensor a = numbers(a_, inputs, type);
      if (settings_.softplus) a = at::softplus(a);
      query = {-a, 2 * a * s};
      key = {s.square(), s};
      row = -(a * s.square()).sum(-1, /*keepdim=*/true);
    }
    if (b_.defined()) {
      const Tensor b = numbers(b_, inputs, type) * settings_.sign;
      const Tensor constant = -(b * s).sum(-1, /*keepdim=*/true);
      row = row.defined() ? row + constant : constant;
      if (a_.defined()) {
        query[1] = query[1] + b;
      } else {
        query = {b};
        key = {s};
      }
    }
    LowRank out{at::cat(query, -1) * scale_, at::cat(key, -1), row * scale_};
    if (settings_.zero_term && inputs.layout.prefix > 0) out = without_prefix(out, inputs.layout.prefix);
    return {settings_.content ? Depends::kContent : Depends::kParameters, std::move(out)};
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
  // s, [1, H, T, m], of points [B, H, T, m]
  Tensor projected(const AttentionInputs& inputs, at::ScalarType type) const {
    const Autocast off(Precision::kFloat32, inputs.x.device());  // squares of coordinates need their digits
    const Tensor points = points_->get(inputs.layout, inputs.x.device(), type, [&] {
      return centered_points(inputs.layout, reference_, settings_.measure, inputs.x.options().dtype(type));
    });
    if (position_.defined()) {
      const Tensor s = at::linear(points, position_.to(type)).unflatten(-1, {heads_, m_}).transpose(-3, -2);
      return s.dim() == 3 ? s.unsqueeze(0) : s;
    }
    const Tensor s = points.dim() == 2 ? points.unsqueeze(0) : points;
    return s.unsqueeze(1).expand({-1, heads_, -1, -1});
  }

  // a before softplus, or b: [B|1, H, T|1, m]
  Tensor numbers(const Tensor& weight, const AttentionInputs& inputs, at::ScalarType type) const {
    if (!settings_.content) {
      const std::int64_t batch = inputs.layout.points ? inputs.x.size(0) : 1;
      return weight.to(type).unsqueeze(0).unsqueeze(2).expand({batch, -1, inputs.x.size(1), -1});
    }
    return at::linear(inputs.x, weight).to(type).unflatten(2, {heads_, m_}).transpose(1, 2);
  }

  // No term for pairs with a prefix token. The row constant of patch rows must not reach the columns of
  // prefix tokens: one more channel takes it off there.
  static LowRank without_prefix(const LowRank& in, std::int64_t prefix) {
    const auto cleared = [&](const Tensor& t) { return at::constant_pad_nd(t.slice(2, prefix), {0, 0, prefix, 0}, 0); };
    LowRank out{cleared(in.query), cleared(in.key), cleared(in.row)};
    Tensor marks = at::zeros({in.key.size(0), in.key.size(1), in.key.size(2), 1}, in.key.options());
    marks.narrow(2, 0, prefix).fill_(-1);
    out.query = at::cat({out.query, out.row}, -1);
    out.key = at::cat({out.key, marks}, -1);
    return out;
  }

  PapeSettings settings_;
  std::shared_ptr<PerLayout<Tensor>> points_;
  Layout reference_;
  double scale_;
  std::int64_t heads_ = 0, m_ = 0;
  Tensor a_, b_;     // W_a, W_b [H m, D]; without content a, b [H, m]
  Tensor position_;  // W_p [H m, axes]
};

class Pape final : public Prior {
 public:
  explicit Pape(const PapeSettings& settings) : settings_(settings), points_(std::make_shared<PerLayout<Tensor>>()) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<PapeLayer>(settings_, info, points_);
  }
  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l)
      static_cast<PapeLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
  }

 private:
  PapeSettings settings_;
  std::shared_ptr<PerLayout<Tensor>> points_;
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
               .paths = {"low-rank", "fused-bias", "explicit"},
               .cost = "a product of x with 2 D H m weights and 2 m channels beside those of q and k a "
                       "layer; no T x T tensor"});
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
