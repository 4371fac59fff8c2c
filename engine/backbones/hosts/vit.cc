// Vision Transformer: patches, prefix tokens, pre-norm blocks, a final norm.
//
// Papers: Dosovitskiy et al. 2021, arXiv:2010.11929; initialization and mean pooling as in DeiT (Touvron et
// al. 2021, arXiv:2012.12877).
#include <cmath>

#include "engine/backbones/block.h"
#include "engine/backbones/items.h"

namespace locus::engine::backbones {
namespace {

constexpr double kWeightDeviation = 0.02;  // DeiT's, made for widths of 192 and more

struct VitOptions {
  std::int64_t dim, depth, heads, patch, registers;
  std::string pool;
  bool qkv_bias, constant_drop;
  double mlp_ratio, drop_path, dropout, layer_scale, init_std;

  bool class_token() const { return pool == "cls"; }
  std::int64_t prefix() const { return registers + (class_token() ? 1 : 0); }
};

class Vit final : public Backbone {
 public:
  Vit(const BackboneContext& context, const VitOptions& options)
      : options_(options), channels_(context.input.channels), prefix_from_(prefix_from(context.priors, options.depth)) {
    if (options.dim % options.heads != 0) {
      throw std::invalid_argument("backbone vit: heads " + std::to_string(options.heads) + " must divide dim " +
                                  std::to_string(options.dim));
    }
    if (options.pool == "registers" && options.registers == 0)
      throw std::invalid_argument("backbone vit: pool registers needs registers, and there are 0; set model.registers");
    const std::int64_t width = options.dim;
    embed_ = register_module("embed", context.linear("embed", channels_ * options.patch * options.patch, width, true));
    if (options.class_token()) class_token_ = register_parameter("class_token", at::empty({1, width}));
    if (options.registers > 0) registers_ = register_parameter("registers", at::empty({options.registers, width}));
    build_priors(context, {describe(context)});
    build_blocks(context);
    norm_ = register_module("norm", std::make_shared<Norm>(width));
    set_weights(context.random);
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    refuse_hidden(inputs);
    const Layout whole = layout_of(inputs.image.size(2), inputs.image.size(3));
    Layout layout = layout_before(0, whole);  // of x
    begin_forward({layout}, context);
    Tensor x = embed_->forward(patches_of(inputs.image, options_.patch));
    x = embedded(Site::kBeforePrefix, x, layout, context);
    if (prefix_from_ == 0) x = with_prefix(x);
    x = embedded(Site::kAfterPrefix, x, layout, context);
    Features features;
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      layout = layout_before(l, whole);
      if (l == prefix_from_ && l > 0) x = with_prefix(x);
      x = run_block(l, x, layout, inputs, context, features);
    }
    features.stages.push_back({x, layout});
    finish(features, norm_->forward(x));
    return features;
  }

  Tensor pooled(const Features& features) const override {
    if (options_.class_token()) return features.tokens.select(1, 0);
    if (options_.pool == "registers") return features.tokens.slice(1, 0, features.layout.prefix).mean(1);
    return features.tokens.slice(1, features.layout.prefix).mean(1);
  }

  std::int64_t width() const override { return options_.dim; }
  Tensor final_norm(const Tensor& tokens) const override { return norm_->forward(tokens); }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    return {layout_of(height, width)};
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    const Layout layout = layout_of(height, width);
    std::int64_t sum = 2 * layout.patches() * embed_->weight.numel();
    for (const auto& block : blocks()) sum += block->flops(layout_before(block->info().layer, layout));
    return sum;
  }

 private:
  Layout layout_of(std::int64_t height, std::int64_t width) const {
    const std::int64_t p = options_.patch;
    if (height % p != 0 || width % p != 0) {
      throw std::invalid_argument("backbone vit: patch " + std::to_string(p) + " must divide an image of " +
                                  std::to_string(height) + " x " + std::to_string(width) + " pixels");
    }
    return {{height / p, width / p}, options_.prefix()};
  }

  // What block l gets of tokens that end as `whole`; the stem's is block 0's.
  Layout layout_before(std::int64_t l, Layout whole) const {
    if (l < prefix_from_) whole.prefix = 0;
    return whole;
  }

  StageInfo describe(const BackboneContext& context) const {
    const Layout whole = layout_of(context.input.extent.at(0), context.input.extent.at(1));
    StageInfo out{.width = options_.dim, .grid = layout_before(0, whole), .layers = {}};
    const double scale = 1 / std::sqrt(static_cast<double>(options_.dim / options_.heads));
    const auto hidden = static_cast<std::int64_t>(std::lround(options_.mlp_ratio * static_cast<double>(options_.dim)));
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      out.layers.push_back({.layer = l,
                            .layers = options_.depth,
                            .width = options_.dim,
                            .heads = options_.heads,
                            .hidden = hidden,
                            .scale = scale,
                            .reference = layout_before(l, whole)});
    }
    return out;
  }

  void build_blocks(const BackboneContext& context) {
    const auto container = register_module("blocks", std::make_shared<Module>());
    for (const LayerInfo& info : stages()[0].layers) {
      add_block(*container, "blocks", info.layer,
                {.info = info,
                 .attention = {.path = context.path, .qkv_bias = options_.qkv_bias ? QkvBias::kAll : QkvBias::kNone},
                 .drop_path = drop_path_of(info.layer),
                 .dropout = options_.dropout,
                 .layer_scale = options_.layer_scale},
                context.linear);
    }
  }

  // Growing linearly, or everywhere the same (DeiT-III, PaPE).
  double drop_path_of(std::int64_t layer) const {
    if (options_.constant_drop) return options_.drop_path;
    return linear_drop_path(options_.drop_path, layer, options_.depth);
  }

  void set_weights(const RandomStreams& random) {
    initialize(random, truncated_normal(options_.init_std));
    const Initializer whole(random, "");
    // The patch embedding is a convolution: PyTorch's default, uniform within one over the root of its
    // fan-in.
    const double bound = 1 / std::sqrt(static_cast<double>(embed_->weight.size(1)));
    whole.uniform(embed_->weight, "embed.weight", -bound, bound);
    whole.uniform(embed_->bias, "embed.bias", -bound, bound);
    if (class_token_.defined()) whole.truncated_normal(class_token_, "class_token", kWeightDeviation);
    if (registers_.defined()) whole.truncated_normal(registers_, "registers", kWeightDeviation);
  }

  // [B, N, D] -> [B, P + N, D]
  Tensor with_prefix(const Tensor& patches) const {
    std::vector<Tensor> parts;
    for (const Tensor& tokens : {class_token_, registers_}) {
      if (tokens.defined()) parts.push_back(tokens.unsqueeze(0).expand({patches.size(0), -1, -1}));
    }
    if (parts.empty()) return patches;
    parts.push_back(patches);
    return at::cat(parts, 1);
  }

  VitOptions options_;
  std::int64_t channels_, prefix_from_;
  std::shared_ptr<Linear> embed_;
  Tensor class_token_, registers_;
  std::shared_ptr<Norm> norm_;
};

// Formulas over the options and the dataset's facts. Activations: what a block keeps for the backward pass where
// attention is computed explicitly, the most there can be.
Json costs() {
  return {
      {"hidden", "round(mlp_ratio * dim)"},
      {"prefix", "registers + pool.cls"},
      {"rows", "height / patch"},
      {"columns", "width / patch"},
      {"patches", "rows * columns"},
      {"tokens", "prefix + patches"},
      {"channel_scales", "(1 - zero(layer_scale)) * dim"},
      {"mlp", "2 * dim + 2 * dim * hidden + hidden + dim + channel_scales"},  // with its norm
      {"block", "2 * dim + 4 * dim ^ 2 + dim + qkv_bias * 3 * dim + channel_scales + mlp"},
      {"parameters", "(channels * patch ^ 2 + 1) * dim + prefix * dim + depth * block + 2 * dim + (dim + 1) * classes"},
      {"activations", "depth * tokens * (8 * dim + 2 * hidden + 2 * heads * tokens)"}};
}

// Those that adapters may take the place of, by the names that blocks give them.
Json linear_maps() {
  const auto of_blocks = [](const char* name, const char* in, const char* out, int joint) {
    return Json({{"name", name}, {"count", "depth"}, {"in", in}, {"out", out}, {"joint", joint}});
  };
  return Json::array({{{"name", "embed"}, {"in", "channels * patch ^ 2"}, {"out", "dim"}},
                      of_blocks("blocks.#.attention.qkv", "dim", "3 * dim", 3),
                      of_blocks("blocks.#.attention.out", "dim", "dim", 1),
                      of_blocks("blocks.#.mlp.in", "dim", "hidden", 1),
                      of_blocks("blocks.#.mlp.out", "hidden", "dim", 1)});
}

}  // namespace

BackboneItem vit() {
  Item item("backbone", "vit", 1, "Vision Transformer, pre-norm");
  item.set("paper", "Dosovitskiy et al. 2021, arXiv:2010.11929");
  item.facts({{"prefix_tokens", Json::array({{{"option", "registers"}}, {{"option", "pool"}, {"value", "cls"}}})},
              {"costs", costs()},
              {"linear_maps", linear_maps()}});
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
      Option::integer("registers", 0, "register tokens after the class token").minimum(0).maximum(1024).neutral(0));
  item.option(Option::boolean("qkv_bias", true, "biases of the maps to queries, keys and values; ConViT has none")
                  .neutral(true));
  item.option(Option::number("mlp_ratio", 4.0, "width inside the MLP over dim").above(0.0).maximum(64.0).neutral(4.0));
  item.option(Option::number("drop_path", 0.0,
                             "probability that a sample skips a branch of the last block, growing linearly from 0")
                  .minimum(0.0)
                  .maximum(0.99)
                  .neutral(0.0));
  item.option(Option::text("drop_path_rule", "linear",
                           "drop_path over depth: linear, or constant, the same in every block (DeiT-III, PaPE)")
                  .choices({"linear", "constant"})
                  .neutral("linear"));
  item.option(
      Option::number("dropout", 0.0, "probability that a number of a branch, or inside the MLP, is 0 while training")
          .minimum(0.0)
          .maximum(0.99)
          .neutral(0.0));
  item.option(
      Option::number("layer_scale", 0.0,
                     "what the learned factors of each branch's channels start from, 1e-4 in DeiT-III; 0 for none")
          .minimum(0.0)
          .maximum(1.0)
          .neutral(0.0));
  item.option(
      Option::number("init_std", kWeightDeviation,
                     "deviation of the initial weights of the blocks, normal and cut at -2 and 2; narrow models learn "
                     "faster with about 0.6 / sqrt(dim)")
          .above(0.0)
          .maximum(1.0)
          .neutral(kWeightDeviation));
  item.set(
      "requires",
      Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "extent"}, {"help", "patches tile the image"}}}));
  item.constraint(
      {{"rule", "divides"}, {"of", "heads"}, {"into", "dim"}, {"help", "every head gets dim / heads channels"}});
  return {item, [](const BackboneContext& context, const Options& o) -> std::shared_ptr<Backbone> {
            return std::make_shared<Vit>(context, VitOptions{.dim = o.integer("dim"),
                                                             .depth = o.integer("depth"),
                                                             .heads = o.integer("heads"),
                                                             .patch = o.integer("patch"),
                                                             .registers = o.integer("registers"),
                                                             .pool = o.text("pool"),
                                                             .qkv_bias = o.boolean("qkv_bias"),
                                                             .constant_drop = o.text("drop_path_rule") == "constant",
                                                             .mlp_ratio = o.number("mlp_ratio"),
                                                             .drop_path = o.number("drop_path"),
                                                             .dropout = o.number("dropout"),
                                                             .layer_scale = o.number("layer_scale"),
                                                             .init_std = o.number("init_std")});
          }};
}

}  // namespace locus::engine::backbones
