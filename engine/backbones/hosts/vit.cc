// Vision Transformer: patches, prefix tokens, pre-norm blocks, a final norm. Its options make it any plain network of the
// family (vit_family.cc).
//
// Papers: Dosovitskiy et al. 2021, arXiv:2010.11929; initialization and mean pooling as in DeiT (Touvron et
// al. 2021, arXiv:2012.12877).
#include <cmath>

#include "engine/backbones/block.h"
#include "engine/backbones/hosts/vit_family.h"
#include "engine/backbones/items.h"
#include "engine/fused/branch.h"

namespace locus::engine::backbones {
namespace {

enum class FinalNorm {
  kTokens,  // of every token
  kPooled,  // of what is pooled, the tokens as they are: timm's fc_norm
  kUntied,  // of prefix tokens one, of patches another (DINOv3)
};

struct VitOptions {
  std::int64_t dim, depth, heads, patch, registers, hidden;
  std::string pool;
  bool class_token, pre_norm, mask_token, constant_drop;
  QkvBias qkv_bias;
  MlpKind mlp;
  FinalNorm final_norm;
  DropRule drop_rule;
  double drop_path, dropout, layer_scale, norm_eps, init_std;
  VitStart start;

  std::int64_t prefix() const { return registers + (class_token ? 1 : 0); }
};

// The width inside the MLP: mlp_ratio times dim, or two thirds of that where it is gated, so that three maps weigh what two
// did, rounded up to a multiple (Shazeer 2020, arXiv:2002.05202, section 2; DINOv2 and DINOv3).
std::int64_t hidden_of(const Options& o) {
  const double whole = o.number("mlp_ratio") * static_cast<double>(o.integer("dim"));
  if (o.text("mlp") != "swiglu") return static_cast<std::int64_t>(std::lround(whole));
  const std::int64_t least = 2 * static_cast<std::int64_t>(whole) / 3, multiple = o.integer("mlp_multiple");
  return (least + multiple - 1) / multiple * multiple;
}

QkvBias qkv_bias_of(const Options& o) {
  if (!o.boolean("qkv_bias")) return QkvBias::kNone;
  const std::string key = o.text("key_bias");
  return key == "none" ? QkvBias::kQueryValue : key == "masked" ? QkvBias::kMaskedKey : QkvBias::kAll;
}

FinalNorm final_norm_of(const std::string& name) {
  return name == "pooled" ? FinalNorm::kPooled : name == "untied" ? FinalNorm::kUntied : FinalNorm::kTokens;
}

class Vit final : public Backbone {
 public:
  Vit(const BackboneContext& context, const VitOptions& options)
      : options_(options),
        channels_(context.input.channels),
        point_axes_(context.input.point_axes),
        prefix_from_(prefix_from(context.priors, options.depth)) {
    if (options.dim % options.heads != 0) {
      throw std::invalid_argument("backbone vit: heads " + std::to_string(options.heads) + " must divide dim " +
                                  std::to_string(options.dim));
    }
    if (options.pool == "registers" && options.registers == 0)
      throw std::invalid_argument("backbone vit: pool registers needs registers, and there are 0; set model.registers");
    const std::int64_t width = options.dim;
    embed_ = register_module("embed", context.linear("embed", channels_ * options.patch * options.patch, width, true));
    if (options.class_token) class_token_ = register_parameter("class_token", at::empty({1, width}));
    if (options.registers > 0) registers_ = register_parameter("registers", at::empty({options.registers, width}));
    if (options.mask_token) mask_token_ = register_parameter("mask_token", at::empty({1, width}));
    build_priors(context, {describe(context)});
    if (options.pre_norm) pre_norm_ = register_module("norm_pre", make_norm());
    build_blocks(context);
    build_final_norms();
    set_weights(context.random);
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    const Layout whole = layout_of(inputs.image.size(2), inputs.image.size(3));
    Layout layout = layout_before(0, whole);  // of x
    begin_forward({layout}, context);
    Tensor x = with_hidden(embed_->forward(patches_of(inputs, options_.patch)), inputs);
    x = embedded(Site::kBeforePrefix, x, layout, context);
    if (prefix_from_ == 0) x = with_prefix(x);
    x = embedded(Site::kAfterPrefix, x, layout, context);
    if (pre_norm_) x = pre_norm_->forward(x);
    Features features;
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      layout = layout_before(l, whole);
      if (l == prefix_from_ && l > 0) x = with_prefix(x);
      x = run_block(l, x, layout, inputs, context, features);
    }
    features.stages.push_back({x, layout});
    finish(features, final_norm(x));
    return features;
  }

  bool takes_bytes() const override { return true; }

  Tensor pooled(const Features& features) const override {
    const Tensor out = mean_or_token(features);
    return options_.final_norm == FinalNorm::kPooled ? norm_->forward(out) : out;
  }

  std::int64_t width() const override { return options_.dim; }
  Tensor final_norm(const Tensor& tokens) const override {
    if (options_.final_norm == FinalNorm::kPooled) return tokens;
    if (!prefix_norm_) return normed(*norm_, tokens);
    const std::int64_t prefix = options_.prefix();
    return at::cat({prefix_norm_->forward(tokens.slice(1, 0, prefix)), norm_->forward(tokens.slice(1, prefix))}, 1);
  }

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
    if (point_axes_ > 0) {
      throw std::invalid_argument(
          "backbone vit: built for points, it makes no tokens of images; give its blocks tokens");
    }
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
    const std::vector<std::int64_t>& extent = context.input.extent;
    const Layout whole =
        point_axes_ > 0 ? points_layout(point_axes_, options_.prefix()) : layout_of(extent.at(0), extent.at(1));
    StageInfo out{.width = options_.dim, .grid = layout_before(0, whole), .layers = {}};
    out.padded = point_axes_ > 0;
    const double scale = 1 / std::sqrt(static_cast<double>(options_.dim / options_.heads));
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      out.layers.push_back({.layer = l,
                            .layers = options_.depth,
                            .width = options_.dim,
                            .heads = options_.heads,
                            .hidden = options_.hidden,
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
                 .attention = {.path = context.path, .qkv_bias = options_.qkv_bias},
                 .drop_path = drop_path_of(info.layer),
                 .drop_rule = options_.drop_rule,
                 .dropout = options_.dropout,
                 .layer_scale = options_.layer_scale,
                 .norm_eps = options_.norm_eps,
                 .mlp = options_.mlp},
                context.linear);
    }
  }

  static Tensor normed(const Norm& norm, const Tensor& tokens) {
    if (!fused::fits(tokens)) return norm.forward(tokens);
    return fused::fork_norm(tokens, {norm.weight, norm.bias, norm.eps()}).normed;
  }

  std::shared_ptr<Norm> make_norm() const { return std::make_shared<Norm>(options_.dim, options_.norm_eps); }

  void build_final_norms() {
    norm_ = register_module(options_.final_norm == FinalNorm::kPooled ? "fc_norm" : "norm", make_norm());
    if (options_.final_norm != FinalNorm::kUntied) return;
    if (options_.prefix() == 0 || prefix_from_ > 0) {
      throw std::invalid_argument(
          "backbone vit: final_norm untied gives prefix tokens a norm of their own, which needs prefix tokens from the "
          "first block on; add a class token or registers, or take the prior out that lets them join later");
    }
    prefix_norm_ = register_module("cls_norm", make_norm());
  }

  // Growing linearly, or everywhere the same (DeiT-III, PaPE).
  double drop_path_of(std::int64_t layer) const {
    if (options_.constant_drop) return options_.drop_path;
    return linear_drop_path(options_.drop_path, layer, options_.depth);
  }

  // PyTorch's default.
  static void start_uniform(const Initializer& whole, const std::string& name, const Linear& linear) {
    const double bound = 1 / std::sqrt(static_cast<double>(linear.weight.size(1)));
    whole.uniform(linear.weight, name + ".weight", -bound, bound);
    if (linear.bias.defined()) whole.uniform(linear.bias, name + ".bias", -bound, bound);
  }

  LinearStart linear_start() const {
    if (options_.start.uniform) return start_uniform;
    const LinearStart normal = truncated_normal(options_.init_std);
    if (!options_.start.damped) return normal;
    return [normal](const Initializer& whole, const std::string& name, Linear& linear) {
      normal(whole, name, linear);
      if (!name.ends_with(".attention.out") && !name.ends_with(".mlp.out")) return;
      const at::NoGradGuard no_grad;
      const double layer = std::stod(name.substr(std::string_view("blocks.").size()));
      linear.weight.div_(std::sqrt(2 * (layer + 1)));
    };
  }

  void set_weights(const RandomStreams& random) {
    const VitStart& start = options_.start;
    initialize(random, linear_start());
    const Initializer whole(random, "");
    start_uniform(whole, "embed", *embed_);  // a convolution elsewhere
    const at::NoGradGuard no_grad;
    for (const auto& [name, tokens] : {std::pair("class_token", class_token_), std::pair("registers", registers_)}) {
      if (!tokens.defined()) continue;
      if (start.cut) {
        whole.truncated_normal(tokens, name, start.token_std);
      } else {
        whole.normal(tokens, name, 0, start.token_std);
      }
    }
    if (mask_token_.defined()) mask_token_.zero_();
  }

  // Hidden patches have the mask token in place of their content.
  Tensor with_hidden(const Tensor& patches, const Inputs& inputs) const {
    if (!mask_token_.defined()) refuse_hidden(inputs);
    if (!inputs.hidden.defined()) return patches;
    if (inputs.hidden.sizes() != patches.sizes().slice(0, 2)) {
      throw std::invalid_argument("backbone vit: the hidden patches are given as " + c10::str(inputs.hidden.sizes()) +
                                  ", and there are " + c10::str(patches.sizes().slice(0, 2)) + " of them");
    }
    return at::where(inputs.hidden.unsqueeze(-1), mask_token_.to(patches.scalar_type()), patches);
  }

  Tensor mean_or_token(const Features& features) const {
    if (options_.pool == "cls") return features.tokens.select(1, 0);
    if (options_.pool == "registers") return features.tokens.slice(1, class_tokens(), features.layout.prefix).mean(1);
    return features.tokens.slice(1, features.layout.prefix).mean(1);
  }
  std::int64_t class_tokens() const { return options_.class_token ? 1 : 0; }

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
  std::int64_t channels_, point_axes_, prefix_from_;
  std::shared_ptr<Linear> embed_;
  Tensor class_token_, registers_, mask_token_;          // [1, D], [R, D], [1, D]
  std::shared_ptr<Norm> pre_norm_, norm_, prefix_norm_;  // null where there is none
};

std::shared_ptr<Backbone> make_vit(const BackboneContext& context, const Options& o) {
  return std::make_shared<Vit>(
      context, VitOptions{.dim = o.integer("dim"),
                          .depth = o.integer("depth"),
                          .heads = o.integer("heads"),
                          .patch = o.integer("patch"),
                          .registers = o.integer("registers"),
                          .hidden = hidden_of(o),
                          .pool = o.text("pool"),
                          .class_token = o.text("pool") == "cls" || o.text("class_token") == "always",
                          .pre_norm = o.boolean("pre_norm"),
                          .mask_token = o.boolean("mask_token"),
                          .constant_drop = o.text("drop_path_rule") == "constant",
                          .qkv_bias = qkv_bias_of(o),
                          .mlp = o.text("mlp") == "swiglu" ? MlpKind::kSwiGlu : MlpKind::kGelu,
                          .final_norm = final_norm_of(o.text("final_norm")),
                          .drop_rule = o.text("drop_path_draw") == "exactly" ? DropRule::kExactly : DropRule::kEach,
                          .drop_path = o.number("drop_path"),
                          .dropout = o.number("dropout"),
                          .layer_scale = o.number("layer_scale"),
                          .norm_eps = o.number("norm_eps"),
                          .init_std = o.number("init_std"),
                          .start = vit_start(o.text("init"))});
}

}  // namespace

BackboneItem vit() { return {vit_item(), make_vit}; }

}  // namespace locus::engine::backbones
