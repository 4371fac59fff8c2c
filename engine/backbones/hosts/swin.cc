// Swin Transformer: attention within windows, every other block's windows shifted, patches merged between stages.
//
//   v1  x += attention(norm1 x);  x += mlp(norm2 x);  merging: map(norm(cells))
//   v2  x += norm1(attention x);  x += norm2(mlp x);  merging: norm(map(cells)); the norms of blocks start at 0, so that
//       every block starts as the identity
//
// A cell is four patches side by side in the order (row, column) = (0, 0), (1, 0), (0, 1), (1, 1); odd sides get a row or
// column of zeros. Windows and shifts are set by the grids at construction and kept on others, which they are filled up
// to tile (Partition). Published code differs where a grid is not larger than its window:
//
//   ms         both sides of the window become the shorter side of the grid, and nothing is shifted (microsoft's). Where
//              windows do not tile the grid at construction, the network is refused, as published
//   timm       the same for each axis by itself; grids are shifted before they are filled up, not after
//   detection  windows and shifts stay, and images are filled up to whole patches
//
// The networks as published have relative-bias {decay: false}, the second version log-cpb {attention: cosine}; to this
// host these are priors like others.
//
// Papers: Liu et al. 2021, arXiv:2103.14030; Liu et al. 2022, arXiv:2111.09883 (v2).
#include <cmath>

#include "engine/backbones/items.h"
#include "engine/backbones/staged.h"

namespace locus::engine::backbones {
namespace {

constexpr double kSwinNormEps = 1e-5, kSwinDeviation = 0.02;

enum class Compat { kMs, kTimm, kDetection };

struct SwinOptions {
  StageSizes sizes;
  std::int64_t patch, window;
  Compat compat;
  bool second, qkv_bias;
  double drop_path, init_std;

  QkvBias bias() const {
    if (!qkv_bias) return QkvBias::kNone;
    return second ? QkvBias::kQueryValue : QkvBias::kAll;
  }
};

std::string sides(const std::vector<std::int64_t>& extent) {
  return std::to_string(extent.at(0)) + " x " + std::to_string(extent.at(1));
}

// Four patches become one of the next stage's width.
class Merging final : public StageEntry {
 public:
  Merging(std::int64_t width, std::int64_t out, bool norm_last, const LinearFactory& linear, const std::string& name)
      : norm_last_(norm_last) {
    norm_ = register_module("norm", std::make_shared<Norm>(norm_last ? out : 4 * width, kSwinNormEps));
    map_ = register_module("map", linear(name + ".map", 4 * width, out, /*with_bias=*/false));
  }

  Tensor forward(const Tensor& tokens, const Layout& layout, const ForwardContext&) override {
    const std::int64_t rows = layout.extent[0], columns = layout.extent[1];
    const Tensor grid = at::constant_pad_nd(tokens.unflatten(1, {rows, columns}), {0, 0, 0, columns % 2, 0, rows % 2});
    const Tensor split = grid.unflatten(2, {-1, 2}).unflatten(1, {-1, 2});            // [B, rows, 2, columns, 2, D]
    const Tensor cells = split.permute({0, 1, 3, 4, 2, 5}).flatten(3).flatten(1, 2);  // [B, N', 4 D]
    return norm_last_ ? norm_->forward(map_->forward(cells)) : map_->forward(norm_->forward(cells));
  }

  std::int64_t flops(const Layout& layout) const override {
    return 2 * ((layout.extent[0] + 1) / 2) * ((layout.extent[1] + 1) / 2) * map_->weight.numel();
  }

 private:
  bool norm_last_;
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<Linear> map_;
};

class Swin final : public StagedBackbone {
 public:
  Swin(const BackboneContext& context, SwinOptions options) : options_(std::move(options)), path_(context.path) {
    options_.sizes.check("swin");
    const std::int64_t width = options_.sizes.dims[0],
                       numbers = context.input.channels * options_.patch * options_.patch;
    embed_ = register_module("embed", context.linear("embed", numbers, width, true));
    embed_norm_ = register_module("embed_norm", std::make_shared<Norm>(width, kSwinNormEps));
    build_stages(
        context, describe(context.input.extent),
        [&](const StageInfo& from, const StageInfo& to, const std::string& name) {
          return std::make_shared<Merging>(from.width, to.width, options_.second, context.linear, name);
        },
        [&](const StageInfo& stage, std::int64_t place) { return block(stage, place); });
    norm_ = register_module("norm", std::make_shared<Norm>(options_.sizes.dims.back(), kSwinNormEps));
    set_weights(context.random);
  }

  std::vector<Layout> layouts(std::int64_t height, std::int64_t width) const override {
    const std::int64_t p = options_.patch;
    if (options_.compat != Compat::kDetection && (height % p != 0 || width % p != 0)) {
      throw std::invalid_argument("backbone swin: patch " + std::to_string(p) + " must divide an image of " +
                                  sides({height, width}) +
                                  " pixels; compat detection fills images up to whole patches");
    }
    std::int64_t rows = (height + p - 1) / p, columns = (width + p - 1) / p;
    std::vector<Layout> out;
    for (std::size_t s = 0; s < options_.sizes.dims.size(); ++s) {
      out.push_back({{rows, columns}, 0});
      rows = (rows + 1) / 2, columns = (columns + 1) / 2;
    }
    return out;
  }

 protected:
  Tensor stem(const Tensor& image, const ForwardContext&) override {
    const std::int64_t p = options_.patch, below = (p - image.size(2) % p) % p, right = (p - image.size(3) % p) % p;
    const Tensor whole = below + right == 0 ? image : at::constant_pad_nd(image, {0, right, 0, below});
    return embed_norm_->forward(embed_->forward(patches_of(whole, p)));
  }

  std::int64_t stem_flops(std::int64_t height, std::int64_t width) const override {
    return 2 * layouts(height, width)[0].patches() * embed_->weight.numel();
  }

  Tensor final_norm(const Tensor& tokens) const override { return norm_->forward(tokens); }

 private:
  // What the shifted blocks of a stage have on that grid; the others have the same windows where they lie.
  Partition windows_on(const Layout& grid, std::size_t stage) const {
    const std::int64_t window = options_.window, half = window / 2;
    Partition out{{window, window}, {half, half}, options_.compat != Compat::kTimm};
    if (options_.compat == Compat::kTimm) {
      for (std::size_t a = 0; a < 2; ++a) {
        if (grid.extent[a] <= window) out.window[a] = grid.extent[a], out.shift[a] = 0;
      }
    }
    if (options_.compat != Compat::kMs) return out;
    const std::int64_t shorter = std::min(grid.extent[0], grid.extent[1]);
    if (shorter <= window) out = {{shorter, shorter}, {0, 0}};
    if (grid.extent[0] % out.window[0] != 0 || grid.extent[1] % out.window[1] != 0) {
      throw std::invalid_argument("backbone swin: windows of " + sides(out.window) + " do not tile the grid of " +
                                  sides(grid.extent) + " in stage " + std::to_string(stage) +
                                  ", which compat ms asks for; choose another window or size of images, or compat timm "
                                  "or detection, which fill windows up");
    }
    return out;
  }

  std::vector<StageInfo> describe(const std::vector<std::int64_t>& extent) {
    std::vector<StageInfo> out = options_.sizes.describe(layouts(extent.at(0), extent.at(1)));
    for (std::size_t s = 0; s < out.size(); ++s) {
      partitions_.push_back(windows_on(out[s].grid, s));
      out[s].windows = true;
      out[s].masked = out[s].layers.size() > 1 && partitions_[s].masks();
      for (LayerInfo& info : out[s].layers) info.reference = {partitions_[s].window, 0};
    }
    return out;
  }

  BlockOptions block(const StageInfo& stage, std::int64_t place) const {
    const LayerInfo& info = stage.layers[static_cast<std::size_t>(place)];
    Partition partition = partitions_[static_cast<std::size_t>(stage.index)];
    if (place % 2 == 0) partition.shift = {0, 0};
    return {.info = info,
            .attention = {.path = path_, .partition = std::move(partition), .qkv_bias = options_.bias()},
            .drop_path = linear_drop_path(options_.drop_path, info.layer, info.layers),
            .norm_eps = kSwinNormEps,
            .post_norm = options_.second};
  }

  void set_weights(const RandomStreams& random) {
    initialize(random, truncated_normal(options_.init_std));
    // The patch embedding is a convolution: PyTorch's default, uniform within one over the root of its fan-in.
    const Initializer whole(random, "");
    const double bound = 1 / std::sqrt(static_cast<double>(embed_->weight.size(1)));
    whole.uniform(embed_->weight, "embed.weight", -bound, bound);
    whole.uniform(embed_->bias, "embed.bias", -bound, bound);
    if (!options_.second) return;
    const at::NoGradGuard no_grad;
    for (const auto& block : blocks()) {
      for (const auto& entry : block->named_parameters()) {
        if (entry.key().starts_with("norm")) entry.value().zero_();
      }
    }
  }

  SwinOptions options_;
  std::string path_;
  std::vector<Partition> partitions_;  // of the shifted blocks of each stage
  std::shared_ptr<Linear> embed_;
  std::shared_ptr<Norm> embed_norm_, norm_;
};

std::shared_ptr<Backbone> make_swin(const BackboneContext& context, const Options& o) {
  const std::string compat = o.text("compat");
  SwinOptions options{
      .sizes = {.dims = o.integers("dims"), .depths = o.integers("depths"), .heads = o.integers("heads"), .hidden = {}},
      .patch = o.integer("patch"),
      .window = o.integer("window"),
      .compat = compat == "ms"     ? Compat::kMs
                : compat == "timm" ? Compat::kTimm
                                   : Compat::kDetection,
      .second = o.integer("version") == 2,
      .qkv_bias = o.boolean("qkv_bias"),
      .drop_path = o.number("drop_path"),
      .init_std = o.number("init_std")};
  for (const std::int64_t dim : options.sizes.dims)
    options.sizes.hidden.push_back(std::lround(o.number("mlp_ratio") * static_cast<double>(dim)));
  return std::make_shared<Swin>(context, std::move(options));
}

void add_swin_options(Item& item) {
  item.option(Option::list("dims", "integer", {96, 192, 384, 768}, "width of each stage").min_items(1));
  item.option(
      Option::list("depths", "integer", {2, 2, 6, 2}, "blocks of each stage; every other one is shifted").min_items(1));
  item.option(Option::list("heads", "integer", {3, 6, 12, 24}, "attention heads of each stage").min_items(1));
  item.option(Option::integer("patch", 4, "side of a patch; a dataset may bring another default")
                  .minimum(1)
                  .maximum(1024)
                  .unit("pixels"));
  item.option(Option::integer("window", 7, "side of a window; half of it, rounded down, is the shift")
                  .minimum(1)
                  .maximum(1024)
                  .unit("patches"));
  item.option(Option::text("compat", "ms",
                           "grids that are not larger than a window: shrink it to a square and shift nothing (ms), "
                           "shrink and shift by axis (timm), or keep windows and shifts (detection)")
                  .choices({"ms", "timm", "detection"}));
  item.option(Option::integer("version", 1, "2: norms stand behind attention and MLP, keys have no bias (Swin V2)")
                  .minimum(1)
                  .maximum(2));
  item.option(
      Option::boolean("qkv_bias", true, "biases of the maps to queries, keys and values; in version 2 keys have none")
          .neutral(true));
  item.option(Option::number("mlp_ratio", 4.0, "width inside the MLP over that of the stage")
                  .above(0.0)
                  .maximum(64.0)
                  .neutral(4.0));
  item.option(Option::number("drop_path", 0.0,
                             "probability that a sample skips a branch of the last block, growing linearly from 0 over "
                             "all blocks; published: tiny 0.2, small 0.3, base 0.5, large 0.2")
                  .minimum(0.0)
                  .maximum(0.99)
                  .neutral(0.0));
  item.option(Option::number("init_std", kSwinDeviation, "deviation of the initial weights, normal and cut at -2 and 2")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(kSwinDeviation));
}

// The sizes of both papers, those of the second with the windows of its networks for images of 256 pixels, and one for
// images of 28.
void add_swin_sizes(Item& item) {
  const struct {
    const char* name;
    std::int64_t dim, third, window;  // `third`: blocks of the third stage
  } sizes[] = {{"tiny", 96, 6, 8}, {"small", 96, 18, 8}, {"base", 128, 18, 8}, {"large", 192, 18, 16}};
  for (const auto& [name, dim, third, window] : sizes) {
    const std::int64_t heads = dim / 32;
    Json options = {{"dims", {dim, 2 * dim, 4 * dim, 8 * dim}},
                    {"depths", {2, 2, third, 2}},
                    {"heads", {heads, 2 * heads, 4 * heads, 8 * heads}},
                    {"patch", 4},
                    {"window", 7}};
    item.preset(name, options);
    options["version"] = 2;
    options["window"] = window;
    item.preset(std::string("v2-") + name, options);
  }
  item.preset("mini", {{"dims", {32, 64}}, {"depths", {2, 2}}, {"heads", {2, 4}}, {"patch", 2}, {"window", 7}});
}

// Formulas as those of vit, over the stages (docs/formats/catalog.md): `rows` and `columns` are those of a window.
Json swin_costs() {
  return {
      {"hidden", "round(mlp_ratio * dim)"},
      {"prefix", "0"},
      {"grid_rows", "ceil(height / (patch * 2 ^ stage))"},
      {"grid_columns", "ceil(width / (patch * 2 ^ stage))"},
      {"shorter", "min(grid_rows, grid_columns)"},
      {"rows", "compat.ms * min(window, shorter) + compat.timm * min(window, grid_rows) + compat.detection * window"},
      {"columns",
       "compat.ms * min(window, shorter) + compat.timm * min(window, grid_columns) + compat.detection * window"},
      {"larger", "compat.ms * shorter + compat.timm * max(grid_rows, grid_columns) + compat.detection * (window + 1)"},
      {"masked", "min(depth - 1, 1) * min(window - 1, 1) * (1 - zero(max(larger - window, 0)))"},
      {"patches", "grid_rows * grid_columns"},
      {"over", "grid_rows - rows * floor(grid_rows / rows) + grid_columns - columns * floor(grid_columns / columns)"},
      {"pairs", "ceil(grid_rows / rows) * ceil(grid_columns / columns) * (rows * columns) ^ 2"},
      {"mlp", "2 * dim + 2 * dim * hidden + hidden + dim"},
      {"block", "2 * dim + 4 * dim ^ 2 + dim + qkv_bias * (4 - version) * dim + mlp"},
      {"former", "dims[max(stage - 1, 0)]"},
      {"merging", "(1 - zero(stage)) * (4 * former * dim + (2 - version) * 8 * former + (version - 1) * 2 * dim)"},
      {"parameters",
       "(channels * patch ^ 2 + 3) * dims[0] + sum_stages(merging + depth * block) + 2 * dims[stages - 1] + "
       "(dims[stages - 1] + 1) * classes"},
      {"flops",
       "sum_stages(zero(stage) * 2 * patches * channels * patch ^ 2 * dim + (1 - zero(stage)) * 8 * patches * former * "
       "dim "
       "+ depth * (patches * (8 * dim ^ 2 + 4 * dim * hidden) + 4 * dim * pairs))"},
      {"activations", "sum_stages(depth * (patches * (8 * dim + 2 * hidden) + 2 * heads * pairs))"}};
}

// Those that adapters may take the place of, in each stage.
Json swin_linear_maps() {
  Json out = linear_maps_of_blocks("stages.@.blocks.#");
  out.push_back({{"name", "embed"}, {"in", "channels * patch ^ 2"}, {"out", "dims[0]"}});
  out.push_back({{"name", "stages.@.entry.map"}, {"count", "1 - zero(stage)"}, {"in", "4 * former"}, {"out", "dim"}});
  return out;
}

}  // namespace

BackboneItem swin() {
  Item item("backbone", "swin", 1, "Swin Transformer: shifted windows, stages of merged patches");
  item.set("paper", "Liu et al. 2021, arXiv:2103.14030; version 2: Liu et al. 2022, arXiv:2111.09883");
  add_swin_options(item);
  add_swin_sizes(item);
  const Json first = {{"relative-bias", {{"decay", false}}}}, second = {{"log-cpb", {{"attention", "cosine"}}}};
  Json own = Json::object();
  for (const auto& [size, options] : item.json().at("presets").items())
    own[size] = Json::array({options.value("version", 1) == 2 ? second : first});
  item.facts({{"stages", {{"option", "dims"}, {"each", {{"dim", "dims"}, {"heads", "heads"}, {"depth", "depths"}}}}},
              {"windows", true},
              {"prefix_tokens", Json::array()},
              {"costs", swin_costs()},
              {"linear_maps", swin_linear_maps()},
              {"own_priors", std::move(own)}});
  refuse_uneven_stages(item, {"depths", "heads"});
  item.refuse(
      "compat.ms * over",
      "windows of {rows} x {columns} do not tile the grid of {grid_rows} x {grid_columns} in stage {stage}, which "
      "compat ms asks for; choose another window or size of images, or compat timm or detection, which fill "
      "windows up",
      "window", /*each_stage=*/true);
  item.set("requires", Json::array({{{"rule", "divides"},
                                     {"of", "patch"},
                                     {"into", "extent"},
                                     {"when", {{"option", "compat"}, {"values", {"ms", "timm"}}}},
                                     {"help", "patches tile the image; compat detection fills it up"}}}));
  return {item, make_swin};
}

}  // namespace locus::engine::backbones
