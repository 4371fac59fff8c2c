// Learned absolute position embedding: a vector for each token, added to the stem.
//
//   z = z + E
//
// Paper: Dosovitskiy et al. 2021, arXiv:2010.11929, eq. 1.
//
// Rows: "patches" as in DeiT-III; "with-class" gives the first prefix token a row too, as in ViT and DeiT;
// "with-prefix" gives one to every prefix token, registers included (timm's EVA, a distilled DeiT).
//
// On another grid the patch rows are resized bicubically as in DeiT, DINO or timm (engine/layers/position_table.h); prefix
// rows are kept. On boxes the table serves the box it was made for alone: nobody has published how to resize it.
#include "engine/layers/position_table.h"
#include "engine/priors/items.h"

namespace locus::engine::priors {
namespace {

struct LearnedAbsoluteSettings {
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
  LearnedAbsolute(const PriorContext& context, LearnedAbsoluteSettings settings)
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
    if (!same && layout.extent.size() != 2) {
      throw std::invalid_argument("prior learned-absolute: a table of " + c10::str(reference_.extent) +
                                  " patches is resized along rows and columns alone, and the input has " +
                                  c10::str(layout.extent) + "; take an input of the size the model was built for");
    }
    const Tensor patches = table_.slice(0, prefix_rows_);
    const Tensor rows = same ? patches : resized_positions(patches, reference_.extent, layout.extent, settings_.resize);
    if (prefix_rows_ == 0) return rows;
    const Tensor without = at::zeros({layout.prefix - prefix_rows_, rows.size(1)}, rows.options());
    return at::cat({table_.slice(0, 0, prefix_rows_), without, rows});
  }

  Layout reference_;
  LearnedAbsoluteSettings settings_;
  std::int64_t prefix_rows_;
  Tensor table_;  // [prefix rows + N, D]
};

}  // namespace

PriorItem learned_absolute() {
  Item item = prior_entry("learned-absolute", 1, "Learned vector for each position, added to the patches",
                          "Dosovitskiy et al. 2021, arXiv:2010.11929", "z = z + E", {"embed"}, {2, 3});
  weigh(item, {.parameters = "N D, and D for each prefix row, once a model",
               .counts = {{"parameters",
                           "(patches + rows.with-prefix * stem_prefix + rows.with-class * min(stem_prefix, 1)) * dim"}},
               .base = 150528,
               .paths = {"flash", "sdpa", "explicit"},
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
                context,
                LearnedAbsoluteSettings{o.text("rows"), o.text("resize"), o.number("std"), o.boolean("decay")});
          }};
}

}  // namespace locus::engine::priors
