// RMT: a stem of convolutions, stages of blocks whose MLPs hold a convolution, strided convolutions between them.
//
//   stem    four 3 x 3 convolutions (strides 2, 1, 2, 1), each with batch norm, GELU between them and none at the end
//   block   x += scale1 attention(norm1 x);  x += scale2 out(h + DWConv3x3(h)), h = GELU(in(norm2 x))
//   entry   a 3 x 3 convolution of stride 2 with batch norm
//   pooled  mean over the tokens of SiLU(batch norm(map x)); there is no norm behind the last block
//
// Every stride gives ceil(side / 2) places, so that images of any size are taken. The factors of the channels are those
// of LayerScale, which weight decay pulls on (in the published code they are of four dimensions, and its rule exempts
// those of one).
//
// The network as published has cpe {place: every-block}, rope-axial {flavor: rmt}, manhattan-decay and lepe; SDT-H is the
// same network with spatial-decay in place of the last three. To this host these are priors like others.
//
// Papers: Fan et al. 2024, arXiv:2309.11523, and the published code of it; "Learning Spatial Decay for Vision
// Transformers" (SDT-H).
#include <ATen/ops/silu.h>

#include <array>

#include "engine/backbones/items.h"
#include "engine/backbones/staged.h"
#include "engine/layers/convolution.h"
#include "engine/layers/grid_convolution.h"

namespace locus::engine::backbones {
namespace {

constexpr double kRmtNormEps = 1e-6, kRmtDeviation = 0.02;
constexpr std::int64_t kRmtSide = 3;  // of every convolution

struct RmtOptions {
  StageSizes sizes;
  std::vector<double> layer_scale;  // of each stage
  std::int64_t pool_width;
  bool scales_decay;
  double drop_path, init_std;
};

std::int64_t halved(std::int64_t side) { return (side + 1) / 2; }

// A 3 x 3 convolution and batch norm: what the stem is made of and what leads from stage to stage.
class NormedConvolution final : public StageEntry {
 public:
  NormedConvolution(std::int64_t in, std::int64_t out, std::int64_t stride) {
    convolution_ = register_module("conv", std::make_shared<Convolution>(in, out, kRmtSide, stride, kRmtSide / 2));
    norm_ = register_module("norm", std::make_shared<BatchNorm>(out));
  }

  // [B, C, rows, columns] -> [B, C', rows', columns']
  Tensor image_forward(const Tensor& image, bool training) const {
    return norm_->forward(convolution_->forward(image), training);
  }
  Tensor forward(const Tensor& tokens, const Layout& layout, const ForwardContext& context) override {
    return image_as_tokens(image_forward(patches_as_image(tokens, layout), context.training), layout);
  }
  std::int64_t image_flops(std::int64_t places) const { return convolution_->flops(places); }
  std::int64_t flops(const Layout& layout) const override {
    return image_flops(halved(layout.extent[0]) * halved(layout.extent[1]));
  }

 private:
  std::shared_ptr<Convolution> convolution_;
  std::shared_ptr<BatchNorm> norm_;
};

class Rmt final : public StagedBackbone {
 public:
  Rmt(const BackboneContext& context, RmtOptions options) : options_(std::move(options)), path_(context.path) {
    options_.sizes.check("rmt");
    check();
    build_stem(context.input.channels);
    build_stages(
        context, options_.sizes.describe(layouts(context.input.extent.at(0), context.input.extent.at(1))),
        [](const StageInfo& from, const StageInfo& to, const std::string&) {
          return std::make_shared<NormedConvolution>(from.width, to.width, /*stride=*/2);
        },
        [this](const StageInfo& stage, std::int64_t place) { return block(stage, place); });
    const auto pool = register_module("pool", std::make_shared<Module>());
    pool_map_ = pool->register_module(
        "map", context.linear("pool.map", options_.sizes.dims.back(), options_.pool_width, /*with_bias=*/true));
    pool_norm_ = pool->register_module("norm", std::make_shared<BatchNorm>(options_.pool_width));
    initialize(context.random, truncated_normal(options_.init_std));
  }

  Features forward(const Inputs& inputs, const ForwardContext& context) override {
    training_ = context.training;
    return StagedBackbone::forward(inputs, context);
  }

  // By the statistics of the batch after a forward of training, which then move the running ones.
  Tensor pooled(const Features& features) const override {
    const Tensor mapped = pool_map_->forward(features.tokens).transpose(1, 2).unsqueeze(-1);  // [B, C, N, 1]
    return at::silu(pool_norm_->forward(mapped, training_)).mean({2, 3});
  }
  std::int64_t pooled_width() const override { return options_.pool_width; }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    std::int64_t rows = halved(height), columns = halved(width);
    std::vector<Layout> out;
    for (std::size_t s = 0; s < options_.sizes.dims.size(); ++s) {
      rows = halved(rows), columns = halved(columns);
      out.push_back({{rows, columns}, 0});
    }
    return out;
  }

 protected:
  Tensor stem(const Tensor& image, const ForwardContext& context) override {
    Tensor x = image;
    for (std::size_t i = 0; i < stem_.size(); ++i) {
      if (i > 0) x = at::gelu(x);
      x = stem_[i]->image_forward(x, context.training);
    }
    return x.flatten(2).transpose(1, 2);
  }

  std::int64_t stem_flops(std::int64_t height, std::int64_t width) const override {
    const std::int64_t half = halved(height) * halved(width), quarter = layouts(height, width)[0].patches();
    return stem_[0]->image_flops(half) + stem_[1]->image_flops(half) + stem_[2]->image_flops(quarter) +
           stem_[3]->image_flops(quarter);
  }

  std::int64_t pool_flops(const Layout& last) const override { return 2 * last.patches() * pool_map_->weight.numel(); }

  Tensor final_norm(const Tensor& tokens) const override { return tokens; }

  Decay own_decay(std::string_view name, const Tensor& parameter) const override {
    const bool scale = name.ends_with(".scale1") || name.ends_with(".scale2");
    return scale && options_.scales_decay ? Decay::kDecayed : Backbone::own_decay(name, parameter);
  }

 private:
  void check() const {
    if (options_.layer_scale.size() != options_.sizes.dims.size()) {
      throw std::invalid_argument("backbone rmt: layer_scale has " + std::to_string(options_.layer_scale.size()) +
                                  " entries and dims " + std::to_string(options_.sizes.dims.size()) +
                                  ": one for each stage, 0 where there are none");
    }
    if (options_.sizes.dims[0] < 2)
      throw std::invalid_argument(
          "backbone rmt: the stem has half the width of the first stage, which must be at least 2");
  }

  void build_stem(std::int64_t channels) {
    const std::int64_t whole = options_.sizes.dims[0], half = whole / 2;
    const auto container = register_module("stem", std::make_shared<Module>());
    const std::array<std::array<std::int64_t, 3>, 4> shapes = {
        {{channels, half, 2}, {half, half, 1}, {half, whole, 2}, {whole, whole, 1}}};
    for (const auto& [in, out, stride] : shapes) {
      stem_.push_back(container->register_module(std::to_string(stem_.size()),
                                                 std::make_shared<NormedConvolution>(in, out, stride)));
    }
  }

  BlockOptions block(const StageInfo& stage, std::int64_t place) const {
    const LayerInfo& info = stage.layers[static_cast<std::size_t>(place)];
    return {.info = info,
            .attention = {.path = path_},
            .drop_path = linear_drop_path(options_.drop_path, info.layer, info.layers),
            .layer_scale = options_.layer_scale[static_cast<std::size_t>(stage.index)],
            .norm_eps = kRmtNormEps,
            .mlp = MlpKind::kConvolution};
  }

  RmtOptions options_;
  std::string path_;
  bool training_ = false;  // in the last forward
  std::vector<std::shared_ptr<NormedConvolution>> stem_;
  std::shared_ptr<Linear> pool_map_;
  std::shared_ptr<BatchNorm> pool_norm_;
};

// Formulas over the options and the dataset's facts; those of a stage speak of it. Convolutions have biases, batch norms
// two parameters a channel.
Json costs() {
  return {{"rows", "ceil(height / 2 ^ (stage + 2))"},
          {"columns", "ceil(width / 2 ^ (stage + 2))"},
          {"patches", "rows * columns"},
          {"keys", "patches - axial * (patches - rows - columns)"},  // that a token attends to
          {"half", "floor(dims[0] / 2)"},
          {"stem", "9 * (channels * half + half ^ 2 + half * dims[0] + dims[0] ^ 2) + 6 * half + 6 * dims[0]"},
          {"former", "(1 - zero(stage)) * dims[max(stage - 1, 0)]"},
          {"entry", "(1 - zero(stage)) * (9 * former + 3) * dim"},
          {"channel_scales", "(1 - zero(layer_scale[stage])) * dim"},
          {"mlp", "2 * dim + 2 * dim * hidden + 11 * hidden + dim + channel_scales"},  // with its norm
          {"block", "2 * dim + 4 * dim ^ 2 + 4 * dim + channel_scales + mlp"},
          {"pool", "(dims[stages - 1] + 3) * pool_width"},
          {"parameters", "stem + sum_stages(entry + depth * block) + pool + (pool_width + 1) * classes"},
          {"stem_places", "ceil(height / 2) * ceil(width / 2)"},
          {"first_places", "ceil(height / 4) * ceil(width / 4)"},
          {"activations",
           "6 * half * stem_places + 5 * dims[0] * first_places + sum_stages(patches * (2 * (1 - zero(stage)) * dim + "
           "depth * (8 * dim + 3 * hidden + 2 * heads * keys)))"},
          {"stem_flops",
           "18 * ((channels * half + half ^ 2) * stem_places + (half * dims[0] + dims[0] ^ 2) * first_places)"},
          {"pool_flops", "2 * zero(stages - 1 - stage) * dim * pool_width"},
          {"block_flops", "8 * dim ^ 2 + 4 * dim * hidden + 18 * hidden + 4 * dim * keys"},
          {"flops", "stem_flops + sum_stages(patches * (18 * former * dim + depth * block_flops + pool_flops))"}};
}

// One of the published sizes, and how its decay is set: how many stages attend along lines, and the range in each.
struct RmtSize {
  const char* name;
  std::int64_t dim, first, second, third, fourth;  // width of the first stage, blocks of each
  std::int64_t last;                               // width of the last stage
  std::int64_t early;                              // hidden width of the first two stages over theirs
  bool scaled;
  int lines;
  std::array<int, 4> range;
};
constexpr RmtSize kSizes[] = {{"tiny", 64, 2, 2, 8, 2, 512, 3, false, 2, {4, 4, 6, 6}},
                              {"small", 64, 3, 4, 18, 4, 512, 4, false, 3, {4, 4, 6, 6}},
                              {"base", 80, 4, 8, 25, 8, 512, 4, true, 3, {5, 5, 6, 6}},
                              {"large", 112, 4, 8, 25, 8, 640, 4, true, 3, {6, 6, 6, 6}}};

Json options_of(const RmtSize& size) {
  const std::int64_t d = size.dim;
  return {{"dims", {d, 2 * d, 4 * d, size.last}},
          {"depths", {size.first, size.second, size.third, size.fourth}},
          {"heads", {d / 16, 2 * d / 32, 4 * d / 32, size.last / 32}},
          {"hidden", {size.early * d, size.early * 2 * d, 3 * 4 * d, 3 * size.last}},
          {"layer_scale", size.scaled ? Json({0.0, 0.0, 1e-6, 1e-6}) : Json({0.0, 0.0, 0.0, 0.0})}};
}

// As a specification writes them: decay along lines in the early stages, over the grid in the late ones.
Json priors_of(int lines, const std::vector<int>& range) {
  Json stages = Json::array();
  for (std::size_t s = 0; s < range.size(); ++s) {
    stages.push_back(
        {{"form", static_cast<int>(s) < lines ? "decomposed" : "full"}, {"range", static_cast<double>(range[s])}});
  }
  return Json::array({{{"cpe", {{"place", "every-block"}}}},
                      {{"rope-axial", {{"flavor", "rmt"}}}},
                      {{"manhattan-decay", {{"stages", std::move(stages)}}}},
                      {{"lepe", Json::object()}}});
}

// Those of SDT-H, whatever the size: stages 1 and 2 along lines.
Json priors_of_sdt() {
  const Json lines = {{"mode", "decomposed"}}, grid = {{"mode", "full"}};
  return Json::array({{{"cpe", {{"place", "every-block"}}}},
                      {{"spatial-decay",
                        {{"rope", "raster"}, {"lepe", "5x5"}, {"stages", Json::array({lines, lines, grid, grid})}}}}});
}

void add_rmt_options(Item& item) {
  const Json tiny = options_of(kSizes[0]);
  item.option(Option::list("dims", "integer", tiny.at("dims"), "width of each stage").minimum(1).min_items(1));
  item.option(Option::list("depths", "integer", tiny.at("depths"), "blocks of each stage").minimum(1).min_items(1));
  item.option(
      Option::list("heads", "integer", tiny.at("heads"), "attention heads of each stage").minimum(1).min_items(1));
  item.option(Option::list("hidden", "integer", tiny.at("hidden"), "width inside the MLPs of each stage")
                  .minimum(1)
                  .min_items(1));
  item.option(Option::integer("pool_width", 1024, "width of what a head reads").minimum(1).maximum(65536));
  item.option(Option::list("layer_scale", "number", tiny.at("layer_scale"),
                           "what the learned factors of each branch's channels start from in each stage; 0 for none")
                  .minimum(0.0)
                  .maximum(1.0)
                  .min_items(1)
                  .neutral(tiny.at("layer_scale")));
  item.option(
      Option::boolean("layer_scale_decay", true, "weight decay pulls on these factors, as in the published code")
          .neutral(true));
  item.option(Option::number("drop_path", 0.0,
                             "probability that a sample skips a branch of the last block, growing linearly from 0 over "
                             "all blocks; published: tiny 0.1, small 0.15, base 0.4, large 0.5")
                  .minimum(0.0)
                  .maximum(0.99)
                  .neutral(0.0));
  item.option(Option::number("init_std", kRmtDeviation,
                             "deviation of the initial weights of linear maps, normal and cut at -2 and 2")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(kRmtDeviation));
}

// Those that adapters may take the place of, in each stage.
Json rmt_linear_maps() {
  Json out = linear_maps_of_blocks("stages.@.blocks.#");
  out.push_back({{"name", "pool.map"}, {"in", "dims[stages - 1]"}, {"out", "pool_width"}});
  return out;
}

// The sizes of the paper, and one for trying out, of two stages.
void add_sizes(Item& item) {
  Json own = {{"mini", priors_of(1, {4, 4})}};
  for (const RmtSize& size : kSizes) {
    item.preset(size.name, options_of(size));
    own[size.name] = priors_of(size.lines, {size.range.begin(), size.range.end()});
  }
  item.preset("mini", {{"dims", {32, 64}},
                       {"depths", {1, 2}},
                       {"heads", {2, 4}},
                       {"hidden", {96, 192}},
                       {"pool_width", 128},
                       {"layer_scale", {0.0, 0.0}},
                       {"init_std", 0.08}});
  item.facts({{"stages",
               {{"option", "dims"},
                {"each", {{"dim", "dims"}, {"heads", "heads"}, {"depth", "depths"}, {"hidden", "hidden"}}}}},
              {"prefix_tokens", Json::array()},
              {"own_priors", std::move(own)},
              {"other_networks", {{"sdt-h", priors_of_sdt()}}},
              {"costs", costs()},
              {"linear_maps", rmt_linear_maps()}});
}

}  // namespace

BackboneItem rmt() {
  Item item("backbone", "rmt", 1,
            "RMT: convolutions at the stem, between stages and in the MLPs; the network of SDT-H, too");
  item.set("paper", "Fan et al. 2024, arXiv:2309.11523");
  add_rmt_options(item);
  add_sizes(item);
  refuse_uneven_stages(item, {"depths", "heads", "hidden"});
  item.refuse("layer_scale - stages",
              "layer_scale has {layer_scale} entries and dims {stages}: one for each stage, 0 where there are none",
              "layer_scale");
  item.refuse("zero(max(dims[0] - 1, 0))", "the stem has half the width of the first stage, which must be at least 2",
              "dims");
  return {item, [](const BackboneContext& context, const Options& o) -> std::shared_ptr<Backbone> {
            return std::make_shared<Rmt>(context, RmtOptions{.sizes = {.dims = o.integers("dims"),
                                                                       .depths = o.integers("depths"),
                                                                       .heads = o.integers("heads"),
                                                                       .hidden = o.integers("hidden")},
                                                             .layer_scale = o.numbers("layer_scale"),
                                                             .pool_width = o.integer("pool_width"),
                                                             .scales_decay = o.boolean("layer_scale_decay"),
                                                             .drop_path = o.number("drop_path"),
                                                             .init_std = o.number("init_std")});
          }};
}

}  // namespace locus::engine::backbones
