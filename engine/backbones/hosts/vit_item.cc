// The catalog entry of backbone vit: its options and what it costs.
#include "engine/backbones/hosts/vit_family.h"
#include "engine/backbones/items.h"

namespace locus::engine::backbones {
namespace {

constexpr double kUsualDeviation = 0.02;  // DeiT's, made for widths of 192 and more

// Formulas over the options and the dataset's facts. Activations: what a block keeps for the backward pass where
// attention is computed explicitly, the most there can be.
Json vit_costs() {
  return {
      {"gated", "mlp.swiglu"},
      {"inside", "floor(2 * floor(mlp_ratio * dim) / 3)"},  // of gated MLPs, before it is rounded
      {"hidden",
       "(1 - gated) * round(mlp_ratio * dim) + gated * mlp_multiple * floor((inside + mlp_multiple - 1) / "
       "mlp_multiple)"},
      {"prefix", "registers + pool.cls + class_token.always"},
      {"rows", "height / patch"},
      {"columns", "width / patch"},
      {"patches", "rows * columns"},
      {"tokens", "prefix + patches"},
      {"channel_scales", "(1 - zero(layer_scale)) * dim"},
      {"mlp", "2 * dim + (2 + gated) * dim * hidden + (1 + gated) * hidden + dim + channel_scales"},  // with its norm
      {"attention", "2 * dim + 4 * dim ^ 2 + dim + qkv_bias * (3 - key_bias.none) * dim + channel_scales"},
      {"block", "attention + mlp"},
      {"norms", "2 * dim * (1 + pre_norm + final_norm.untied)"},
      {"parameters",
       "(channels * patch ^ 2 + 1) * dim + (prefix + mask_token) * dim + depth * block + norms + (dim + 1) * classes"},
      {"activations", "depth * tokens * (8 * dim + (2 + gated) * hidden + 2 * heads * tokens)"},
      {"flops_a_token", "8 * dim ^ 2 + (4 + 2 * gated) * dim * hidden"},
      {"flops",
       "2 * patches * channels * patch ^ 2 * dim + prefixed * tokens * (flops_a_token + 4 * dim * tokens) + (depth - "
       "prefixed) * patches * (flops_a_token + 4 * dim * (axial * (rows + columns) + (1 - axial) * patches))"}};
}

// Those that adapters may take the place of, by the names that blocks give them.
Json vit_linear_maps() {
  Json out = linear_maps_of_blocks("blocks.#");
  out.push_back({{"name", "embed"}, {"in", "channels * patch ^ 2"}, {"out", "dim"}});
  out.push_back({{"name", "blocks.#.mlp.gate"}, {"count", "gated * depth"}, {"in", "dim"}, {"out", "hidden"}});
  return out;
}

void add_shape(Item& item) {
  item.option(Option::integer("dim", 192, "width of a token").minimum(1).maximum(16384));
  item.option(Option::integer("depth", 12, "number of blocks").minimum(1).maximum(512));
  item.option(Option::integer("heads", 3, "attention heads").minimum(1).maximum(1024));
  item.option(Option::integer("patch", 16, "side of a patch; a dataset may bring another default")
                  .minimum(1)
                  .maximum(1024)
                  .unit("pixels"));
  item.option(
      Option::text("pool", "mean",
                   "what a head reads: the mean of the patch tokens, a class token, or the mean of the registers")
          .choices({"mean", "cls", "registers"}));
  item.option(
      Option::text("class_token", "pool",
                   "there is one where a head reads it (pool), or always, as in timm's DINOv3, whose head reads "
                   "the mean")
          .choices({"pool", "always"})
          .neutral("pool")
          .when("pool", {"mean", "registers"}));
  item.option(
      Option::integer("registers", 0, "register tokens after the class token").minimum(0).maximum(1024).neutral(0));
  item.option(Option::boolean("mask_token", false, "a learned token stands for hidden patches, as in DINOv2 and DINOv3")
                  .neutral(false));
}

void add_blocks(Item& item) {
  item.option(Option::boolean("qkv_bias", true, "biases of the maps to queries, keys and values; ConViT has none")
                  .neutral(true));
  item.option(Option::text("key_bias", "learned",
                           "that of the map to keys: learned, none (EVA), or there but counted as 0 (masked, DINOv3)")
                  .choices({"learned", "none", "masked"})
                  .neutral("learned")
                  .when("qkv_bias", {"true"}));
  item.option(Option::text("mlp", "gelu", "one map and a GELU, or a gate beside it (DINOv2 giant, DINOv3 plus)")
                  .choices({"gelu", "swiglu"})
                  .neutral("gelu"));
  item.option(Option::number("mlp_ratio", 4.0, "width inside the MLP over dim; of a gated one two thirds of that")
                  .above(0.0)
                  .maximum(64.0)
                  .neutral(4.0));
  item.option(Option::integer("mlp_multiple", 8, "the width inside a gated MLP is rounded up to a multiple of this")
                  .minimum(1)
                  .maximum(1024)
                  .neutral(8)
                  .when("mlp", {"swiglu"}));
  item.option(
      Option::number("layer_scale", 0.0,
                     "what the learned factors of each branch's channels start from, 1e-4 in DeiT-III; 0 for none")
          .minimum(0.0)
          .maximum(1.0)
          .neutral(0.0));
  item.option(Option::number("norm_eps", 1e-6,
                             "what norms add to the variance: 1e-5 in DINOv3 and PaPE, 1e-12 in Hugging Face's ViT and "
                             "DeiT")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(1e-6));
  item.option(Option::boolean("pre_norm", false, "a norm before the first block, as in PaPE").neutral(false));
  item.option(Option::text("final_norm", "tokens",
                           "of every token, of what is pooled (timm's fc_norm), or of prefix tokens and patches apart "
                           "(untied, DINOv3)")
                  .choices({"tokens", "pooled", "untied"})
                  .neutral("tokens"));
}

void add_training(Item& item) {
  item.option(Option::number("drop_path", 0.0,
                             "probability that a sample skips a branch of the last block, growing linearly from 0")
                  .minimum(0.0)
                  .maximum(0.99)
                  .neutral(0.0));
  item.option(Option::text("drop_path_rule", "linear",
                           "drop_path over depth: linear, or constant, the same in every block (DeiT-III, PaPE)")
                  .choices({"linear", "constant"})
                  .neutral("linear"));
  item.option(Option::text("drop_path_draw", "each",
                           "each sample is drawn by itself, or exactly that share of a batch skips (DINOv2, DINOv3)")
                  .choices({"each", "exactly"})
                  .neutral("each"));
  item.option(
      Option::number("dropout", 0.0, "probability that a number of a branch, or inside the MLP, is 0 while training")
          .minimum(0.0)
          .maximum(0.99)
          .neutral(0.0));
  std::vector<std::string> starts, normal;
  for (const VitStart& start : vit_starts()) {
    starts.emplace_back(start.name);
    if (!start.uniform) normal.emplace_back(start.name);
  }
  item.option(
      Option::text("init", "deit", "whose parameters the initial ones are like").choices(starts).neutral("deit"));
  item.option(
      Option::number("init_std", kUsualDeviation,
                     "deviation of the initial weights of the blocks, normal and cut at -2 and 2; narrow models learn "
                     "faster with about 0.6 / sqrt(dim)")
          .above(0.0)
          .maximum(1.0)
          .neutral(kUsualDeviation)
          .when("init", normal));
}

}  // namespace

Item vit_item() {
  Item item("backbone", "vit", 1, "Vision Transformer, pre-norm");
  item.set("paper", "Dosovitskiy et al. 2021, arXiv:2010.11929");
  item.facts({{"prefix_tokens", Json::array({{{"option", "registers"}},
                                             {{"option", "pool"}, {"value", "cls"}},
                                             {{"option", "class_token"}, {"value", "always"}}})},
              {"points", true},
              {"costs", vit_costs()},
              {"linear_maps", vit_linear_maps()},
              {"own_priors", vit_own_priors()}});
  add_shape(item);
  add_blocks(item);
  add_training(item);
  add_vit_sizes(item);
  item.set(
      "requires",
      Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "extent"}, {"help", "patches tile the image"}}}));
  item.refuse("pool.registers * zero(registers)",
              "pool registers needs registers, and there are 0; set model.registers", "pool");
  item.refuse(
      "final_norm.untied * zero(prefix)",
      "final_norm untied gives prefix tokens a norm of their own, which needs prefix tokens from the first block "
      "on; add a class token or registers, or take the prior out that lets them join later",
      "final_norm");
  item.constraint(
      {{"rule", "divides"}, {"of", "heads"}, {"into", "dim"}, {"help", "every head gets dim / heads channels"}});
  return item;
}

}  // namespace locus::engine::backbones
