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
#include <ATen/ops/upsample_bicubic2d.h>

#include "engine/layers/offset_table.h"
#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

struct RelativeBiasSettings {
  bool beit, geometric, cubic, zero, decay;
  double deviation;
};

struct GeometricWeights {
  Tensor rows, columns;
};

// What the layers share, per layout.
struct RelativeBiasTables {
  RelativeBiasSettings settings;
  Layout reference;
  PerLayout<PairIndex> index;
  PerLayout<GeometricWeights> weights;

  const PairIndex& index_of(const Layout& layout, at::Device device) {
    return index.get(layout, device, at::kInt, [&] {
      return offset_rule(layout, device, settings.beit ? PrefixRows{0, 1, 2} : PrefixRows{});
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
       .paths = {"flash", "sdpa", "explicit"},
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
