// Learned absolute position embedding: a vector for each token, added to the stem.
//
//   z = z + E
//
// Paper: Dosovitskiy et al. 2021, arXiv:2010.11929, eq. 1.
//
// Rows: "patches" as in DeiT-III; "with-class" gives the first prefix token a row too, as in ViT and DeiT;
// "with-prefix" gives one to every prefix token, registers included (timm's EVA, a distilled DeiT).
//
// On another grid the patch rows are resized bicubically with half-pixel centers and a clamped border, prefix
// rows are kept:
//   deit  to the exact size, a = -0.75 (DeiT, MAE, rope-vit)
//   dino  the same kernel with the sampling factor (new + 0.1) / old, which shifts the samples a little
//   timm  antialiased, a = -0.5, the support widened when shrinking
// all in float32 or better.
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/upsample_bicubic2d.h>

#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

struct Settings {
  std::string rows, resize;
  double deviation;
  bool decay;
};

std::int64_t own_prefix_rows(const std::string& rows, std::int64_t prefix) {
  if (rows == "with-prefix") return prefix;
  return rows == "with-class" ? std::min<std::int64_t>(prefix, 1) : 0;
}

class LearnedAbsolute final : public Prior {
 public:
  LearnedAbsolute(const PriorContext& context, Settings settings)
      : reference_(context.reference),
        settings_(std::move(settings)),
        prefix_rows_(own_prefix_rows(settings_.rows, context.reference.prefix)) {
    table_ = register_parameter("table", at::empty({prefix_rows_ + reference_.patches(), context.width}));
  }

  void initialize(const Initializer& initializer) override {
    // Patch and prefix rows are drawn apart: the patches start equal whatever the prefix.
    const double deviation = settings_.deviation;
    initializer.truncated_normal(table_.detach().slice(0, prefix_rows_), "table.patches", deviation);
    if (prefix_rows_ > 0)
      initializer.truncated_normal(table_.detach().slice(0, 0, prefix_rows_), "table.prefix", deviation);
  }

  Tensor embed(Site site, const Tensor& tokens, const Layout& layout, const ForwardContext&) override {
    if (site != (prefix_rows_ > 0 ? Site::kAfterPrefix : Site::kBeforePrefix)) return tokens;
    return tokens + rows_for(layout);
  }

  Decay decay(std::string_view, const Tensor&) const override {
    return settings_.decay ? Decay::kDecayed : Decay::kExempt;
  }

 private:
  // [N, D], or [T, D] where the prefix has rows.
  Tensor rows_for(const Layout& layout) const {
    const bool same = layout.extent == reference_.extent;
    if (same && prefix_rows_ == (prefix_rows_ > 0 ? layout.prefix : 0)) return table_;
    const Tensor patches = table_.slice(0, prefix_rows_);
    const Tensor rows = same ? patches : resized(patches, layout);
    if (prefix_rows_ == 0) return rows;
    const Tensor without = at::zeros({layout.prefix - prefix_rows_, rows.size(1)}, rows.options());
    return at::cat({table_.slice(0, 0, prefix_rows_), without, rows});
  }

  Tensor resized(const Tensor& patches, const Layout& layout) const {
    const at::ScalarType type = patches.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor image =
        patches.to(type).view({1, reference_.extent[0], reference_.extent[1], -1}).permute({0, 3, 1, 2});
    return scaled(image, layout).permute({0, 2, 3, 1}).reshape({layout.patches(), -1}).to(patches.scalar_type());
  }

  Tensor scaled(const Tensor& image, const Layout& layout) const {
    if (settings_.resize == "timm") return at::_upsample_bicubic2d_aa(image, layout.extent, /*align_corners=*/false);
    if (settings_.resize == "deit") return at::upsample_bicubic2d(image, layout.extent, /*align_corners=*/false);
    const auto factor = [&](std::size_t axis) {
      return (static_cast<double>(layout.extent[axis]) + 0.1) / static_cast<double>(reference_.extent[axis]);
    };
    return at::upsample_bicubic2d(image, layout.extent, /*align_corners=*/false, factor(0), factor(1));
  }

  Layout reference_;
  Settings settings_;
  std::int64_t prefix_rows_;
  Tensor table_;  // [prefix rows + N, D]
};

}  // namespace

PriorItem learned_absolute() {
  Item item = prior_entry("learned-absolute", 1, "Learned vector for each position, added to the patches",
                          "Dosovitskiy et al. 2021, arXiv:2010.11929", "z = z + E", {"embed"}, {2});
  weigh(item, {.parameters = "N D, and D for each prefix row, once a model",
               .counts = {{"parameters",
                           "(patches + rows.with-prefix * stem_prefix + rows.with-class * min(stem_prefix, 1)) * dim"}},
               .base = 150528,
               .paths = {"fused", "explicit"},
               .cost = "one addition at the stem"});
  item.set("weight_decay", "option");
  item.option(Option::text("rows", "patches",
                           "who gets a row beside the patches: none, the first prefix token (with-class), "
                           "or every prefix token (with-prefix)")
                  .choices({"patches", "with-prefix", "with-class"}));
  item.option(
      Option::number("std", 0.02, "standard deviation of the truncated normal it starts from").above(0.0).maximum(1.0));
  item.option(Option::text("resize", "deit", "whose bicubic resize fits the rows to another grid")
                  .choices({"deit", "dino", "timm"})
                  .neutral("deit"));
  item.option(Option::boolean("decay", false,
                              "weight decay pulls on the rows, as in DINO and in guidance's "
                              "baseline")
                  .neutral(false));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<LearnedAbsolute>(
                context, Settings{o.text("rows"), o.text("resize"), o.number("std"), o.boolean("decay")});
          }};
}

}  // namespace locus::engine::priors
