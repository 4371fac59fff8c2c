// Diffusion Transformer: patches of an image or of its latent, pre-norm blocks that follow a condition, tokens.
//
// Paper: Peebles and Xie 2023, arXiv:2212.09748 (adaLN-Zero). The condition, what is made of the tokens and the frozen
// table of positions are not in here: a denoising network (engine/tasks/denoiser.h) has the first two, the last is the
// prior sincos-2d.
#include <cmath>

#include "engine/backbones/backbone.h"
#include "engine/backbones/items.h"

namespace locus::engine::backbones {
namespace {

struct DitOptions {
  std::int64_t dim, depth, heads, patch;
  double mlp_ratio;
};

class Dit final : public Backbone {
 public:
  Dit(const BackboneContext& context, const DitOptions& options) : options_(options) {
    if (options.dim % options.heads != 0) {
      throw std::invalid_argument("backbone dit: heads " + std::to_string(options.heads) + " must divide dim " +
                                  std::to_string(options.dim));
    }
    embed_ = register_module(
        "embed", context.linear("embed", context.input.channels * options.patch * options.patch, options.dim, true));
    build_priors(context, {describe(context.input)});
    const auto container = register_module("blocks", std::make_shared<Module>());
    for (const LayerInfo& info : stages()[0].layers) {
      add_block(*container, "blocks", info.layer,
                {.info = info, .attention = {.path = context.path}, .mlp = MlpKind::kGeluTanh, .modulated = true},
                context.linear);
    }
    initialize(context.random, starting());
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    refuse_hidden(inputs);
    const Layout layout = layout_of(inputs.image.size(2), inputs.image.size(3));
    begin_forward({layout}, context);
    Tensor x = embed_->forward(patches_of(inputs.image, options_.patch));
    for (const Site site : {Site::kBeforePrefix, Site::kAfterPrefix}) x = embedded(site, x, layout, context);
    Features features;
    for (std::int64_t l = 0; l < options_.depth; ++l) x = run_block(l, x, layout, inputs, context, features);
    features.stages.push_back({x, layout});
    finish(features, x);  // the last norm is the task's: it follows the condition, too
    return features;
  }

  Tensor pooled(const Features& features) const override { return features.tokens.mean(1); }
  std::int64_t width() const override { return options_.dim; }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    return {layout_of(height, width)};
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    const Layout layout = layout_of(height, width);
    std::int64_t sum = 2 * layout.patches() * embed_->weight.numel();
    for (const auto& block : blocks()) sum += block->flops(layout);
    return sum;
  }

 private:
  Layout layout_of(std::int64_t height, std::int64_t width) const {
    const std::int64_t p = options_.patch;
    if (height % p != 0 || width % p != 0) {
      throw std::invalid_argument("backbone dit: patch " + std::to_string(p) + " must divide an image of " +
                                  std::to_string(height) + " x " + std::to_string(width) + " numbers");
    }
    return {{height / p, width / p}, 0};
  }

  StageInfo describe(const InputFacts& input) const {
    StageInfo out{.width = options_.dim,
                  .grid = layout_of(input.extent.at(0), input.extent.at(1)),
                  .layers = {},
                  .condition = true};
    const auto hidden = static_cast<std::int64_t>(std::lround(options_.mlp_ratio * static_cast<double>(options_.dim)));
    for (std::int64_t l = 0; l < options_.depth; ++l) {
      out.layers.push_back({.layer = l,
                            .layers = options_.depth,
                            .width = options_.dim,
                            .heads = options_.heads,
                            .hidden = hidden,
                            .scale = 1 / std::sqrt(static_cast<double>(options_.dim / options_.heads)),
                            .reference = out.grid});
    }
    return out;
  }

  // The maps from the condition start at 0, so that every block starts as the identity; all others, the patch embedding
  // as one matrix, by Xavier's uniform.
  static LinearStart starting() {
    return [xavier = xavier_uniform()](const Initializer& whole, const std::string& name, Linear& linear) {
      if (!name.ends_with(".modulation")) return xavier(whole, name, linear);
      const at::NoGradGuard no_grad;
      linear.weight.zero_();
      linear.bias.zero_();
    };
  }

  DitOptions options_;
  std::shared_ptr<Linear> embed_;
};

// Parameters are those of the whole denoising network with its learned variance and a label dropped now and then, without
// the frozen table of positions (engine/tasks/denoiser.h): the number that the paper's table has, rounded. Operations are
// the backbone's; modulations are maps of one vector, not of every token.
Json dit_costs() {
  return {
      {"hidden", "round(mlp_ratio * dim)"},
      {"prefix", "0"},
      {"rows", "height / patch"},
      {"columns", "width / patch"},
      {"patches", "rows * columns"},
      {"tokens", "patches"},
      {"mlp", "2 * dim * hidden + hidden + dim"},
      {"block", "4 * dim ^ 2 + 4 * dim + 6 * dim * (dim + 1) + mlp"},
      {"time", "257 * dim + (dim + 1) * dim"},
      {"label", "(classes + 1) * dim"},
      {"final", "2 * dim * (dim + 1) + (dim + 1) * 2 * channels * patch ^ 2"},
      {"parameters", "(channels * patch ^ 2 + 1) * dim + depth * block + time + label + final"},
      {"activations", "depth * tokens * (12 * dim + 2 * hidden + 2 * heads * tokens)"},
      {"keys", "axial * (rows + columns) + (1 - axial) * patches"},
      {"flops",
       "2 * patches * channels * patch ^ 2 * dim + depth * (12 * dim ^ 2 + patches * (8 * dim ^ 2 + 4 * dim * hidden "
       "+ 4 * dim * keys))"}};
}

// Those that adapters may take the place of.
Json dit_linear_maps() {
  Json out = linear_maps_of_blocks("blocks.#");
  out.push_back({{"name", "embed"}, {"in", "channels * patch ^ 2"}, {"out", "dim"}});
  out.push_back({{"name", "blocks.#.modulation"}, {"count", "depth"}, {"in", "dim"}, {"out", "6 * dim"}});
  return out;
}

}  // namespace

BackboneItem dit() {
  Item item("backbone", "dit", 1, "Diffusion Transformer: blocks that a condition scales, shifts and gates");
  item.set("paper", "Peebles and Xie 2023, arXiv:2212.09748");
  item.option(Option::integer("dim", 384, "width of a token").minimum(1).maximum(16384));
  item.option(Option::integer("depth", 12, "number of blocks").minimum(1).maximum(512));
  item.option(Option::integer("heads", 6, "attention heads").minimum(1).maximum(1024));
  item.option(Option::integer("patch", 2, "side of a patch of the image or latent; a dataset may bring another default")
                  .minimum(1)
                  .maximum(1024)
                  .unit("pixels"));
  item.option(Option::number("mlp_ratio", 4.0, "width inside the MLP over dim").above(0.0).maximum(64.0).neutral(4.0));
  item.set(
      "requires",
      Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "extent"}, {"help", "patches tile the image"}}}));
  item.constraint(
      {{"rule", "divides"}, {"of", "heads"}, {"into", "dim"}, {"help", "every head gets dim / heads channels"}});
  Json own = Json::object();
  const auto size = [&](const char* name, std::int64_t dim, std::int64_t depth, std::int64_t heads) {
    item.preset(name, {{"dim", dim}, {"depth", depth}, {"heads", heads}, {"patch", 2}});
    own[name] = Json::array({"sincos-2d"});
  };
  size("small", 384, 12, 6);
  size("base", 768, 12, 12);
  size("large", 1024, 24, 16);
  size("xlarge", 1152, 28, 16);
  size("mini", 64, 4, 4);
  item.facts({{"condition", true},
              {"prefix_tokens", Json::array()},
              {"own_priors", std::move(own)},
              {"costs", dit_costs()},
              {"linear_maps", dit_linear_maps()}});
  return {item, [](const BackboneContext& context, const Options& o) -> std::shared_ptr<Backbone> {
            return std::make_shared<Dit>(context, DitOptions{.dim = o.integer("dim"),
                                                             .depth = o.integer("depth"),
                                                             .heads = o.integer("heads"),
                                                             .patch = o.integer("patch"),
                                                             .mlp_ratio = o.number("mlp_ratio")});
          }};
}

}  // namespace locus::engine::backbones
