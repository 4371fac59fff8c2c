// Learned relative position bias: a number for each offset of the grid and head, added to the logits.
//
//   b[n, i, j] = Table[(y_i - y_j + Hp - 1)(2 Wp - 1) + x_i - x_j + Wp - 1, n]
//
// Paper: Liu et al. 2021 (Swin), arXiv:2103.14030, eq. 4; here over the whole grid.
//
// Pairs with prefix tokens get 0, or ("beit") one learned number each for class to patch, patch to class and
// class to class; several prefix tokens share them. On another grid the table is resized as an image a head:
// bicubically with half-pixel centers (a = -0.75), or linearly between samples in geometric progression
// (BEiT's, as in timm) or along the cubic spline through them whose third derivative is continuous at the
// samples next to the ends (BEiT's own; linearly where an axis has fewer than four); the rows of the prefix
// are kept.
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/upsample_bicubic2d.h>

#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

struct RelativeBiasSettings {
  bool beit, geometric, cubic, zero, decay;
  double deviation;
};

// Where the samples of a table of `source` offsets lie when it is read at the integers of one of `target`:
// 0, +-1, +-(1 + q), +-(1 + q + q^2), ...
std::vector<double> geometric_positions(std::int64_t source, std::int64_t target) {
  const auto sum_of = [&](double q) { return (1 - std::pow(q, static_cast<double>(source / 2))) / (1 - q); };
  double low = 1.01, high = 1.5, q = low;
  while (high - low > 1e-6) {
    q = (low + high) / 2;
    (sum_of(q) > static_cast<double>(target / 2) ? high : low) = q;
  }
  std::vector<double> positions(static_cast<std::size_t>(source), 0.0);
  double at = 0, step = 1;
  const auto middle = static_cast<std::size_t>(source / 2);
  for (std::size_t i = 1; i <= middle; ++i, step *= q) {
    at += step;
    positions[middle + i] = at;
    positions[middle - i] = -at;
  }
  return positions;
}

// [target, source]: linear interpolation at the integers around 0, clamped at the ends.
Tensor geometric_weights(std::int64_t source, std::int64_t target) {
  const std::vector<double> positions = geometric_positions(source, target);
  Tensor weights = at::zeros({target, source}, at::kDouble);
  auto w = weights.accessor<double, 2>();
  for (std::int64_t t = 0; t < target; ++t) {
    const double wanted = static_cast<double>(t - target / 2);
    std::int64_t right = 0;
    while (right < source && positions[static_cast<std::size_t>(right)] < wanted) ++right;
    if (right == 0 || right == source) {
      w[t][right == 0 ? 0 : source - 1] = 1;
      continue;
    }
    const double before = positions[static_cast<std::size_t>(right - 1)],
                 after = positions[static_cast<std::size_t>(right)];
    w[t][right] = (wanted - before) / (after - before);
    w[t][right - 1] = 1 - w[t][right];
  }
  return weights;
}

// The second derivatives at the samples of the not-a-knot cubic spline through them, as a map [n, n] of its
// values (de Boor, "A Practical Guide to Splines", chapter IV).
Tensor spline_curvature(const std::vector<double>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto step = [&](std::int64_t i) { return x[static_cast<std::size_t>(i + 1)] - x[static_cast<std::size_t>(i)]; };
  Tensor left = at::zeros({n, n}, at::kDouble), right = at::zeros({n, n}, at::kDouble);
  auto l = left.accessor<double, 2>(), r = right.accessor<double, 2>();
  for (std::int64_t i = 1; i + 1 < n; ++i) {
    l[i][i - 1] = step(i - 1), l[i][i] = 2 * (step(i - 1) + step(i)), l[i][i + 1] = step(i);
    r[i][i - 1] = 6 / step(i - 1), r[i][i] = -6 / step(i - 1) - 6 / step(i), r[i][i + 1] = 6 / step(i);
  }
  const auto no_knot = [&](std::int64_t row, std::int64_t first) {
    const double before = step(first), after = step(first + 1);
    l[row][first] = after, l[row][first + 1] = -before - after, l[row][first + 2] = before;
  };
  no_knot(0, 0);
  no_knot(n - 1, n - 3);
  return at::linalg_solve(left, right);
}

// As geometric_weights(), along the spline.
Tensor spline_weights(std::int64_t source, std::int64_t target) {
  const Tensor linear = geometric_weights(source, target);
  if (source < 4) return linear;
  const std::vector<double> positions = geometric_positions(source, target);
  const Tensor curvature = spline_curvature(positions);
  Tensor weights = linear.clone();
  const auto w = linear.accessor<double, 2>();
  for (std::int64_t t = 0; t < target; ++t) {
    std::int64_t at = 0;
    while (at + 1 < source && !(w[t][at] > 0 && w[t][at + 1] > 0)) ++at;
    if (at + 1 == source) continue;  // on a sample, or beyond the last
    const double h = positions[static_cast<std::size_t>(at + 1)] - positions[static_cast<std::size_t>(at)];
    const auto bend = [&](double share) { return (share * share * share - share) * h * h / 6; };
    weights[t] += curvature[at] * bend(w[t][at]) + curvature[at + 1] * bend(w[t][at + 1]);
  }
  return weights;
}

struct GeometricWeights {
  Tensor rows, columns;
};

// What the layers share, per layout.
struct RelativeBiasTables {
  RelativeBiasSettings settings;
  Layout reference;
  PerLayout<Tensor> index;
  PerLayout<GeometricWeights> weights;

  const Tensor& index_of(const Layout& layout, at::Device device) {
    return index.get(layout, device, at::kLong, [&] {
      const PrefixRows rows = settings.beit ? PrefixRows{0, 1, 2} : PrefixRows{};
      return offset_index(layout, rows).to(device);
    });
  }
  const GeometricWeights& weights_of(const Layout& layout, const Tensor& like) {
    return weights.get(layout, like.device(), like.scalar_type(), [&] {
      const auto axis = [&](std::size_t a) {
        const std::int64_t source = 2 * reference.extent[a] - 1, target = 2 * layout.extent[a] - 1;
        return (settings.cubic ? spline_weights(source, target) : geometric_weights(source, target))
            .to(like.device(), like.scalar_type());
      };
      return GeometricWeights{axis(0), axis(1)};
    });
  }
};

class RelativeBiasLayer final : public PriorLayer {
 public:
  RelativeBiasLayer(const LayerInfo& info, std::shared_ptr<RelativeBiasTables> shared)
      : shared_(std::move(shared)), offsets_(offset_count(shared_->reference)) {
    const std::int64_t extra = shared_->settings.beit && info.reference.prefix > 0 ? 3 : 0;
    table_ = register_parameter("table", at::empty({offsets_ + extra, info.heads}));
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    Tensor rows = table_for(inputs.layout);  // [R, H]
    if (inputs.layout.prefix > 0 && !shared_->settings.beit) rows = at::constant_pad_nd(rows, {0, 0, 0, 1});
    return {Depends::kParameters,
            RelativeTable{.table = rows.t().unsqueeze(0), .index = shared_->index_of(inputs.layout, rows.device())}};
  }

  void initialize(const Initializer& initializer) {
    if (shared_->settings.zero) {
      table_.detach().zero_();
      return;
    }
    const double deviation = shared_->settings.deviation;
    initializer.truncated_normal(table_.detach().slice(0, 0, offsets_), "table.offsets", deviation);
    if (table_.size(0) > offsets_)
      initializer.truncated_normal(table_.detach().slice(0, offsets_), "table.prefix", deviation);
  }

 private:
  Tensor table_for(const Layout& layout) const {
    const Layout& reference = shared_->reference;
    if (layout.extent == reference.extent) return table_;
    const std::int64_t rows = 2 * reference.extent[0] - 1, columns = 2 * reference.extent[1] - 1;
    const at::ScalarType type = table_.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor image = table_.slice(0, 0, offsets_).to(type).view({rows, columns, -1}).permute({2, 0, 1});
    Tensor resized;  // [H, rows, columns]
    if (shared_->settings.geometric) {
      const GeometricWeights& weights = shared_->weights_of(layout, image);
      resized = at::matmul(at::matmul(weights.rows, image), weights.columns.t());
    } else {
      const std::vector<std::int64_t> size = {2 * layout.extent[0] - 1, 2 * layout.extent[1] - 1};
      resized = at::upsample_bicubic2d(image.unsqueeze(0), size, /*align_corners=*/false)[0];
    }
    const Tensor grid = resized.flatten(1).t().to(table_.scalar_type());
    return at::cat({grid, table_.slice(0, offsets_)});
  }

  std::shared_ptr<RelativeBiasTables> shared_;
  std::int64_t offsets_;
  Tensor table_;  // [(2 Hp - 1)(2 Wp - 1) (+ 3), H]
};

class RelativeBias final : public Prior {
 public:
  RelativeBias(const RelativeBiasSettings& settings, const Layout& reference)
      : shared_(std::make_shared<RelativeBiasTables>()) {
    shared_->settings = settings;
    shared_->reference = reference;
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<RelativeBiasLayer>(info, shared_);
  }

  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<RelativeBiasLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
    }
  }

  Decay decay(std::string_view, const Tensor&) const override {
    return shared_->settings.decay ? Decay::kDecayed : Decay::kExempt;
  }

 private:
  std::shared_ptr<RelativeBiasTables> shared_;
};

}  // namespace

PriorItem relative_bias() {
  Item item = prior_entry("relative-bias", 1, "Learned bias for each offset of two patches and head",
                          "Liu et al. 2021, arXiv:2103.14030", "L = c q k^T + Table[r_i - r_j]", {"bias"}, {2});
  weigh(
      item,
      {.parameters = "(2 rows - 1) (2 columns - 1) H a layer",
       .counts = {{"parameters", "heads * (depth * (2 * rows - 1) * (2 * columns - 1) + prefix.beit * 3 * prefixed)"}},
       .base = 104976,
       .paths = {"bucketed", "fused-bias", "explicit"},
       .cost = "a lookup of H T^2 numbers a layer, summed back into the table in training; kept in evaluation"});
  item.set("weight_decay", "option");
  item.option(Option::text("init", "normal",
                           "the table starts from a truncated normal, or from zero, which keeps "
                           "a pretrained model's function")
                  .choices({"normal", "zero"}));
  item.option(Option::number("std", 0.02, "standard deviation of the truncated normal")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(0.02)
                  .when("init", {"normal"}));
  item.option(Option::text("prefix", "zero",
                           "bias of class and register tokens: none (zero), or three learned numbers a head (beit)")
                  .choices({"zero", "beit"}));
  item.option(Option::text("resize", "bicubic", "how the table fits another grid")
                  .choices({"bicubic", "geometric", "geometric-cubic"})
                  .neutral("bicubic"));
  item.option(Option::boolean("decay", true, "weight decay pulls on the table; Swin exempts it").neutral(true));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<RelativeBias>(
                RelativeBiasSettings{o.text("prefix") == "beit", o.text("resize") != "bicubic",
                                     o.text("resize") == "geometric-cubic", o.text("init") == "zero",
                                     o.boolean("decay"), o.number("std")},
                context.reference);
          }};
}

}  // namespace locus::engine::priors
