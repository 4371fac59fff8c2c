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
  bool class_token, qkv_bias;
  double mlp_ratio, drop_path, init_std;

  std::int64_t prefix() const { return registers + (class_token ? 1 : 0); }
};

std::string block_name(std::int64_t l) { return "blocks." + std::to_string(l); }

class Vit final : public Backbone {
 public:
  Vit(const BackboneContext& context, const VitOptions& options)
      : options_(options), channels_(context.input.channels), prefix_from_(prefix_from(context.priors, options.depth)) {
    if (options.dim % options.heads != 0) {
      throw std::invalid_argument("backbone vit: heads " + std::to_string(options.heads) + " must divide dim " +
                                  std::to_string(options.dim));
    }
    const std::int64_t width = options.dim;
    embed_ = register_module("embed", context.linear("embed", channels_ * options.patch * options.patch, width, true));
    if (options.class_token) class_token_ = register_parameter("class_token", at::empty({1, width}));
    if (options.registers > 0) registers_ = register_parameter("registers", at::empty({options.registers, width}));
    const PriorContext prior_context = describe(context);
    build_priors(context, prior_context);
    build_blocks(context, prior_context);
    norm_ = register_module("norm", std::make_shared<Norm>(width));
    for (const NamedPrior& named : priors()) {
      for (const std::string& tap : named.prior->taps()) request_tap(tap);
    }
    initialize(context.random);
  }

  Features forward(const Tensor& images, const ForwardContext& context) override {
    const Layout whole = layout_of(images.size(2), images.size(3));
    Layout layout = layout_before(0, whole);  // of x
    for (const NamedPrior& named : priors()) named.prior->begin_forward(layout, context);
    Tensor x = embed_patches(images, layout);
    x = embedded(Site::kBeforePrefix, x, layout, context);
    if (prefix_from_ == 0) x = with_prefix(x);
    x = embedded(Site::kAfterPrefix, x, layout, context);
    Features features;
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      layout = layout_before(l, whole);
      if (l == prefix_from_ && l > 0) x = with_prefix(x);
      x = blocks_[static_cast<std::size_t>(l)]->forward(x, layout, context);
      if (tapped_.contains(l)) features.taps["block-" + std::to_string(l)] = x;
    }
    features.taps["pre-norm"] = x;
    features.tokens = norm_->forward(x);
    features.taps["post-norm"] = features.tokens;
    features.layout = std::move(layout);
    return features;
  }

  Tensor pooled(const Features& features) const override {
    if (options_.class_token) return features.tokens.select(1, 0);
    return features.tokens.slice(1, features.layout.prefix).mean(1);
  }

  std::int64_t width() const override { return options_.dim; }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    const Layout layout = layout_of(height, width);
    std::int64_t sum = 2 * layout.patches() * embed_->weight.numel();
    for (std::int64_t l = 0; l < options_.depth; ++l)
      sum += blocks_[static_cast<std::size_t>(l)]->flops(layout_before(l, layout));
    return sum;
  }

  void request_tap(std::string_view name) override {
    if (name == "pre-norm" || name == "post-norm") return;
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      if (name == "block-" + std::to_string(l)) {
        tapped_.insert(l);
        return;
      }
    }
    throw std::invalid_argument("backbone vit has no tap '" + std::string(name) + "'");
  }

  std::string path() const override {
    std::set<std::string> taken;
    for (const auto& block : blocks_)
      taken.insert(block->attention().paths().begin(), block->attention().paths().end());
    std::string joined;
    for (const std::string& path : taken) joined += (joined.empty() ? "" : "+") + path;
    return joined;
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

  PriorContext describe(const BackboneContext& context) const {
    PriorContext out;
    out.width = options_.dim;
    const Layout whole = layout_of(context.input.extent.at(0), context.input.extent.at(1));
    out.reference = layout_before(0, whole);
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

  void build_blocks(const BackboneContext& context, const PriorContext& prior_context) {
    const auto container = register_module("blocks", std::make_shared<torch::nn::Module>());
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      std::vector<AttachedPrior> attached;
      for (const NamedPrior& named : priors()) {
        std::vector<Tensor> state = named.prior->parameters();
        for (const Tensor& buffer : named.prior->buffers()) state.push_back(buffer);
        if (const auto& layer = named.prior->layers()[static_cast<std::size_t>(l)])
          attached.push_back({layer, layer_hooks(named.hooks), state});
      }
      const double drop = options_.depth == 1
                              ? 0
                              : options_.drop_path * static_cast<double>(l) / static_cast<double>(options_.depth - 1);
      const LayerInfo& info = prior_context.layers[static_cast<std::size_t>(l)];
      const BlockOptions block{.info = info,
                               .pattern = pattern(info),
                               .drop_path = drop,
                               .path = context.path,
                               .qkv_bias = options_.qkv_bias};
      blocks_.push_back(container->register_module(
          std::to_string(l), std::make_shared<Block>(block, attached, context.linear, block_name(l))));
    }
  }

  // Hooks that live in a layer; the stem's and the loss belong to the prior itself.
  static std::vector<Hook> layer_hooks(std::vector<Hook> hooks) {
    std::erase_if(hooks,
                  [](Hook hook) { return hook == Hook::kEmbed || hook == Hook::kPattern || hook == Hook::kLoss; });
    return hooks;
  }

  // Every weight by its name, so that models with other priors start from the same common weights.
  void initialize(const RandomStreams& random) {
    const Initializer whole(random, "");
    for (const auto& entry : named_modules("", /*include_self=*/false)) {
      if (const auto norm = std::dynamic_pointer_cast<Norm>(entry.value())) norm->initialize();
      if (const auto linear = std::dynamic_pointer_cast<Linear>(entry.value())) {
        const at::NoGradGuard no_grad;
        whole.truncated_normal(linear->weight, entry.key() + ".weight", options_.init_std);
        if (linear->bias.defined()) linear->bias.zero_();
      }
    }
    // The patch embedding is a convolution: PyTorch's default, uniform within one over the root of its
    // fan-in.
    const double bound = 1 / std::sqrt(static_cast<double>(embed_->weight.size(1)));
    whole.uniform(embed_->weight, "embed.weight", -bound, bound);
    whole.uniform(embed_->bias, "embed.bias", -bound, bound);
    if (class_token_.defined()) whole.truncated_normal(class_token_, "class_token", kWeightDeviation);
    if (registers_.defined()) whole.truncated_normal(registers_, "registers", kWeightDeviation);
    initialize_priors(random);
    for (const auto& block : blocks_) block->attention().start_values();
  }

  // [B, C, H, W] -> [B, N, D]: a p x p convolution of stride p, written as the linear map it is.
  Tensor embed_patches(const Tensor& images, const Layout& layout) const {
    const std::int64_t p = options_.patch, rows = layout.extent[0], columns = layout.extent[1];
    const Tensor patches = images.reshape({images.size(0), channels_, rows, p, columns, p}).permute({0, 2, 4, 1, 3, 5});
    return embed_->forward(patches.reshape({images.size(0), rows * columns, channels_ * p * p}));
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

  Tensor embedded(Site site, Tensor x, const Layout& layout, const ForwardContext& context) const {
    for (const NamedPrior& named : priors()) {
      if (named.has(Hook::kEmbed)) x = named.prior->embed(site, x, layout, context);
    }
    return x;
  }

  VitOptions options_;
  std::int64_t channels_, prefix_from_;
  std::set<std::int64_t> tapped_;
  std::shared_ptr<Linear> embed_;
  Tensor class_token_, registers_;
  std::vector<std::shared_ptr<Block>> blocks_;
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
      {"mlp", "2 * dim + 2 * dim * hidden + hidden + dim"},  // with its norm
      {"block", "2 * dim + 4 * dim ^ 2 + dim + qkv_bias * 3 * dim + mlp"},
      {"parameters", "(channels * patch ^ 2 + 1) * dim + prefix * dim + depth * block + 2 * dim + (dim + 1) * classes"},
      {"activations", "depth * tokens * (8 * dim + 2 * hidden + 2 * heads * tokens)"}};
}

}  // namespace

BackboneItem vit() {
  Item item("backbone", "vit", 1, "Vision Transformer, pre-norm");
  item.set("paper", "Dosovitskiy et al. 2021, arXiv:2010.11929");
  item.facts({{"prefix_tokens", Json::array({{{"option", "registers"}}, {{"option", "pool"}, {"value", "cls"}}})},
              {"costs", costs()}});
  item.option(Option::integer("dim", 192, "width of a token").minimum(1).maximum(16384));
  item.option(Option::integer("depth", 12, "number of blocks").minimum(1).maximum(512));
  item.option(Option::integer("heads", 3, "attention heads").minimum(1).maximum(1024));
  item.option(Option::integer("patch", 16, "side of a patch; a dataset may bring another default")
                  .minimum(1)
                  .maximum(1024)
                  .unit("pixels"));
  item.option(Option::text("pool", "mean", "what a head reads: the mean of the patch tokens, or a class token")
                  .choices({"mean", "cls"}));
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
            return std::make_shared<Vit>(
                context, VitOptions{o.integer("dim"), o.integer("depth"), o.integer("heads"), o.integer("patch"),
                                    o.integer("registers"), o.text("pool") == "cls", o.boolean("qkv_bias"),
                                    o.number("mlp_ratio"), o.number("drop_path"), o.number("init_std")});
          }};
}

}  // namespace locus::engine::backbones
