// Learned absolute position embedding: a vector for each token, added to the stem.
//
//   z = z + E
//
// Paper: Dosovitskiy et al. 2021, arXiv:2010.11929, eq. 1.
//
// Rows: "with-prefix" as in ViT and DeiT, "patches" as in DeiT-III. On another grid the patch rows are
// resized bicubically with half-pixel centers and no antialiasing (DeiT, MAE); prefix rows are kept.
#include <ATen/ops/upsample_bicubic2d.h>

#include "engine/priors/items.h"

namespace locus::priors {
namespace {

class LearnedAbsolute final : public Prior {
 public:
  LearnedAbsolute(const PriorContext& context, bool with_prefix, double deviation)
      : reference_(context.reference),
        prefix_rows_(with_prefix ? context.reference.prefix : 0),
        deviation_(deviation) {
    table_ = register_parameter("table", at::empty({prefix_rows_ + reference_.patches(), context.width}));
  }

  void initialize(const Initializer& initializer) override {
    // Patch and prefix rows are drawn apart: the patches start equal whatever the prefix.
    initializer.truncated_normal(table_.detach().slice(0, prefix_rows_), "table.patches", deviation_);
    if (prefix_rows_ > 0)
      initializer.truncated_normal(table_.detach().slice(0, 0, prefix_rows_), "table.prefix", deviation_);
  }

  Tensor embed(Site site, const Tensor& tokens, const Layout& layout, const Moment&) override {
    if (site != (prefix_rows_ > 0 ? Site::kAfterPrefix : Site::kBeforePrefix)) return tokens;
    return tokens + rows_for(layout);
  }

  Decay decay(std::string_view, const Tensor&) const override { return Decay::kExempt; }

 private:
  Tensor rows_for(const Layout& layout) const {
    if (layout.extent == reference_.extent) return table_;
    const Tensor image = table_.slice(0, prefix_rows_)
                             .view({1, reference_.extent[0], reference_.extent[1], -1})
                             .permute({0, 3, 1, 2});
    const Tensor resized = at::upsample_bicubic2d(image, layout.extent, /*align_corners=*/false);
    const Tensor rows = resized.permute({0, 2, 3, 1}).reshape({layout.patches(), -1});
    return prefix_rows_ > 0 ? at::cat({table_.slice(0, 0, prefix_rows_), rows}) : rows;
  }

  Layout reference_;
  std::int64_t prefix_rows_;
  double deviation_;
  Tensor table_;  // [prefix rows + N, D]
};

}  // namespace

PriorItem learned_absolute() {
  Item item = prior_entry("learned-absolute", 1, "Learned vector for each position, added to the patches",
                          "Dosovitskiy et al. 2021, arXiv:2010.11929", "z = z + E", {"embed"}, {2});
  item.option(
      Option::text("rows", "patches",
                   "patches: class and register tokens get no row; with-prefix: they get rows of their own")
          .choices({"patches", "with-prefix"}));
  item.option(Option::number("std", 0.02, "standard deviation of the truncated normal it starts from")
                  .above(0.0)
                  .maximum(1.0));
  return {item, [](const PriorContext& context, const Options& options) -> std::shared_ptr<Prior> {
            return std::make_shared<LearnedAbsolute>(context, options.text("rows") == "with-prefix",
                                                     options.number("std"));
          }};
}

}  // namespace locus::priors
