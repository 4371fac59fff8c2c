// The dense prediction transformer's head (Ranftl et al. 2021, arXiv:2103.13413) as Depth Anything and Active Spatial Guidance
// have it: four maps brought to grids of 4, 2, 1 and 1/2 times the patches', then fused from the coarsest.
//
//   R_i = resize_i(Conv1x1(x_i));  Z_i = Conv3x3(R_i), without bias
//   RCU(x) = Conv3x3(ReLU(Conv3x3(ReLU(x)))) + x;  Fuse(x, skip, size) = Conv1x1(up(RCU2(x + RCU1(skip)), size))
//   map = Conv1x1(ReLU(Conv3x3(up(Conv3x3(Fuse(...)), image))))
//
// up is bilinear with the corners in place. `skip: rectified`: RCU adds ReLU(x), as Active Spatial Guidance's code does, whose
// activation works in place. The maps of a network of several stages have such grids already: nothing is resized then. It
// computes in float32 whatever the training does. First weights are PyTorch's.
#include "engine/base/precision.h"
#include "engine/decoders/items.h"
#include "engine/decoders/units.h"

namespace locus::engine::decoders {
namespace {

constexpr std::size_t kLevels = 4;
constexpr std::int64_t kLastWidth = 32;  // before the last map

// Two convolutions beside the input.
class ResidualUnit final : public Module {
 public:
  ResidualUnit(std::int64_t width, bool rectified)
      : rectified_(rectified),
        conv1_(register_module("conv1", std::make_shared<Convolution>(width, width, 3, 1, 1))),
        conv2_(register_module("conv2", std::make_shared<Convolution>(width, width, 3, 1, 1))) {}
  Tensor forward(const Tensor& x) const {
    const Tensor positive = x.relu();
    return conv2_->forward(conv1_->forward(positive).relu()) + (rectified_ ? positive : x);
  }
  std::int64_t flops(std::int64_t places) const { return conv1_->flops(places) + conv2_->flops(places); }

 private:
  bool rectified_;
  std::shared_ptr<Convolution> conv1_, conv2_;
};

class Fusion final : public Module {
 public:
  Fusion(std::int64_t width, bool rectified, bool first)
      : out_(register_module("out_conv", std::make_shared<Convolution>(width, width, 1, 1, 0))) {
    if (!first) skip_ = register_module("resConfUnit1", std::make_shared<ResidualUnit>(width, rectified));
    joint_ = register_module("resConfUnit2", std::make_shared<ResidualUnit>(width, rectified));
  }
  Tensor forward(const Tensor& x, const Tensor& skip, const MapExtent& size) const {
    const Tensor sum = skip_ ? x + skip_->forward(skip) : x;
    return out_->forward(interpolated(joint_->forward(sum), size, Alignment::kCorners));
  }
  std::int64_t flops(std::int64_t before, std::int64_t after) const {
    return (skip_ ? skip_->flops(before) : 0) + joint_->flops(before) + out_->flops(after);
  }

 private:
  std::shared_ptr<Convolution> out_;
  std::shared_ptr<ResidualUnit> skip_, joint_;  // the first null in the first block
};

class Dpt final : public Decoder {
 public:
  Dpt(const DecoderContext& context, const Options& options) : resizes_(!context.hierarchical) {
    const std::vector<std::int64_t> channels = options.integers("channels");
    const std::int64_t width = options.integer("width");
    if (context.widths.size() != kLevels || channels.size() != kLevels) {
      throw std::invalid_argument("decoder dpt fuses four maps, each of its own number of channels; there are maps: " +
                                  std::to_string(context.widths.size()) +
                                  ", and channels: " + std::to_string(channels.size()));
    }
    const auto projects = register_module("projects", std::make_shared<Module>());
    const auto scratch = std::make_shared<Module>();
    for (std::size_t i = 0; i < kLevels; ++i) {
      projects_.push_back(projects->register_module(
          std::to_string(i), std::make_shared<Convolution>(context.widths[i], channels[i], 1, 1, 0)));
    }
    if (resizes_) {
      const auto resize = register_module("resize_layers", std::make_shared<Module>());
      for (const std::int64_t i : {0, 1}) {
        const std::int64_t c = channels[static_cast<std::size_t>(i)];
        enlargements_.push_back(
            resize->register_module(std::to_string(i), std::make_shared<Enlargement>(c, c, i == 0 ? 4 : 2)));
      }
      shrinking_ = resize->register_module("3", std::make_shared<Convolution>(channels[3], channels[3], 3, 2, 1));
    }
    register_module("scratch", scratch);
    build_fusion(*scratch, channels, width, context.outputs, options.text("skip") == "rectified");
  }

  Decoded forward(const std::vector<Tensor>& maps, const MapExtent& image, const ForwardContext&) override {
    const Autocast full(Precision::kFloat32, maps.at(0).device());
    std::vector<Tensor> levels;
    for (std::size_t i = 0; i < kLevels; ++i) {
      const Tensor x = projects_[i]->forward(maps.at(i).to(projects_[i]->weight.scalar_type()));
      levels.push_back(narrow_[i]->forward(resized(x, i)));
    }
    Tensor x = levels.back();
    for (std::size_t i = kLevels; i-- > 0;) {
      const MapExtent fine = extent_of(levels[0]);
      const MapExtent size = i == 0 ? MapExtent{2 * fine[0], 2 * fine[1]} : extent_of(levels[i - 1]);
      x = fusions_[i]->forward(x, levels[i], size);
    }
    x = interpolated(out1_->forward(x), image, Alignment::kCorners);
    return {map_->forward(out2_->forward(x).relu())};
  }

  std::int64_t flops(const std::vector<MapExtent>& grids, const MapExtent& image) const override {
    std::vector<std::int64_t> places;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kLevels; ++i) {
      const std::int64_t own = places_of(grids.at(i));
      places.push_back(resized_places(grids.at(i), i));
      sum += projects_[i]->flops(own) + narrow_[i]->flops(places[i]);
      if (resizes_ && i < enlargements_.size()) sum += enlargements_[i]->flops(own);
    }
    if (resizes_) sum += shrinking_->flops(places[3]);
    for (std::size_t i = 0; i < kLevels; ++i)
      sum += fusions_[i]->flops(places[i], i == 0 ? 4 * places[0] : places[i - 1]);
    return sum + out1_->flops(4 * places[0]) + out2_->flops(places_of(image)) + map_->flops(places_of(image));
  }

  void start(const Initializer& own) override { start_parts(*this, own); }

 private:
  void build_fusion(Module& scratch, const std::vector<std::int64_t>& channels, std::int64_t width,
                    std::int64_t outputs, bool rectified) {
    for (std::size_t i = 0; i < kLevels; ++i) {
      const std::string number = std::to_string(i + 1);
      narrow_.push_back(scratch.register_module(
          "layer" + number + "_rn", std::make_shared<Convolution>(channels[i], width, 3, 1, 1, /*with_bias=*/false)));
      fusions_.push_back(
          scratch.register_module("refinenet" + number, std::make_shared<Fusion>(width, rectified, i + 1 == kLevels)));
    }
    out1_ = scratch.register_module("output_conv1", std::make_shared<Convolution>(width, width / 2, 3, 1, 1));
    const auto last = scratch.register_module("output_conv2", std::make_shared<Module>());
    out2_ = last->register_module("0", std::make_shared<Convolution>(width / 2, kLastWidth, 3, 1, 1));
    map_ = last->register_module("2", std::make_shared<Convolution>(kLastWidth, outputs, 1, 1, 0));
  }

  Tensor resized(const Tensor& x, std::size_t level) const {
    if (!resizes_ || level == 2) return x;
    return level == 3 ? shrinking_->forward(x) : enlargements_[level]->forward(x);
  }
  std::int64_t resized_places(const MapExtent& grid, std::size_t level) const {
    if (!resizes_) return places_of(grid);
    const std::int64_t factor[] = {16, 4, 1};
    return level < 3 ? factor[level] * places_of(grid) : ((grid[0] + 1) / 2) * ((grid[1] + 1) / 2);
  }

  bool resizes_;
  std::vector<std::shared_ptr<Convolution>> projects_, narrow_;
  std::vector<std::shared_ptr<Enlargement>> enlargements_;
  std::shared_ptr<Convolution> shrinking_, out1_, out2_, map_;
  std::vector<std::shared_ptr<Fusion>> fusions_;
};

Json dpt_costs() {
  return {
      // Places of each level once it is resized.
      {"fine", "hierarchical * cells_0 + (1 - hierarchical) * 16 * cells_0"},
      {"second", "hierarchical * cells_1 + (1 - hierarchical) * 4 * cells_1"},
      {"last", "hierarchical * cells_3 + (1 - hierarchical) * ceil(rows_3 / 2) * ceil(columns_3 / 2)"},
      {"projects", "width_0 * channels[0] + width_1 * channels[1] + width_2 * channels[2] + width_3 * channels[3]"},
      {"wide", "channels[0] + channels[1] + channels[2] + channels[3]"},
      {"resize",
       "16 * channels[0] ^ 2 + 4 * channels[1] ^ 2 + 9 * channels[3] ^ 2 + channels[0] + channels[1] + channels[3]"},
      {"unit", "18 * width ^ 2 + 2 * width"},
      {"half", "floor(width / 2)"},
      {"parameters",
       "level_norms + projects + wide + (1 - hierarchical) * resize + 9 * wide * width + 4 * (width ^ 2 + width) + 7 * "
       "unit + 9 * width * half + half + 288 * half + 32 + 33 * outputs"},
      {"flops",
       "2 * (width_0 * channels[0] * cells_0 + width_1 * channels[1] * cells_1 + width_2 * channels[2] * cells_2 + "
       "width_3 * channels[3] * cells_3) + (1 - hierarchical) * 2 * (16 * channels[0] ^ 2 * cells_0 + 4 * channels[1] "
       "^ "
       "2 * cells_1 + 9 * channels[3] ^ 2 * last) + 18 * width * (channels[0] * fine + channels[1] * second + "
       "channels[2] * cells_2 + channels[3] * last) + 36 * width ^ 2 * (2 * fine + 2 * second + 2 * cells_2 + last) + "
       "2 "
       "* width ^ 2 * (4 * fine + fine + second + cells_2) + 72 * width * half * fine + image_height * image_width * "
       "(576 * "
       "half + 64 * outputs)"},
      {"activations",
       "channels[0] * fine + channels[1] * second + channels[2] * cells_2 + 10 * width * (fine + second + cells_2 + "
       "last) + 4 * fine * (width + half) + image_height * image_width * (half + 64 + outputs)"}};
}

}  // namespace

DecoderItem dpt() {
  Item item("decoder", "dpt", 1, "The dense prediction transformer's head: four maps of four sizes, fused; in float32");
  item.option(Option::integer("width", 256, "channels of what is fused").minimum(2).maximum(4096));
  item.option(Option::list("channels", "integer", Json::array({256, 512, 1024, 1024}),
                           "channels of the four maps before they are brought to that width")
                  .minimum(1)
                  .maximum(8192)
                  .min_items(4));
  item.option(
      Option::text("skip", "plain",
                   "what a residual unit adds: its input (MiDaS, Depth Anything), or that with negative numbers "
                   "made 0 (the code of Active Spatial Guidance)")
          .choices({"plain", "rectified"}));
  add_pyramid(item);
  item.set("paper", "DPT");
  item.set("requires", pyramid_rules());
  item.facts({{"maps", 4}, {"tasks", dense_tasks()}, {"costs", dpt_costs()}});
  return {std::move(item), DecoderInput::kPyramid,
          [](const DecoderContext& context, const Options& options) -> std::shared_ptr<Decoder> {
            return std::make_shared<Dpt>(context, options);
          }};
}

}  // namespace locus::engine::decoders
