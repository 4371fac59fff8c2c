// Tokens of blocks and stages as maps.
#include "engine/decoders/host_maps.h"

#include "engine/layers/grid_convolution.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kQuarters = 4;  // maps of a network of one stage

MapExtent grid_of(const Layout& layout) { return {layout.extent.at(0), layout.extent.at(1)}; }

void check_grid(const Layout& layout) {
  if (!layout.points && layout.extent.size() == 2) return;
  throw std::invalid_argument(
      "a decoder makes maps of tokens that lie on a grid of rows and columns, and those of this backbone do not; "
      "choose "
      "another model.backbone, or a task that reads pooled features");
}

bool takes(const Backbone& backbone, const MapExtent& image) {
  try {
    backbone.layouts(image[0], image[1]);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

HostMaps::HostMaps(Backbone& backbone, DecoderInput input, const std::vector<std::int64_t>& taps,
                   const MapExtent& image)
    : backbone_(backbone),
      last_(input == DecoderInput::kLast),
      stages_(input == DecoderInput::kPyramid && backbone.stages().size() > 1) {
  const std::vector<Layout> layouts = backbone.layouts(image[0], image[1]);
  for (const Layout& layout : layouts) check_grid(layout);
  const MapExtent last = grid_of(layouts.back());
  if (!takes(backbone, {image[0] + 1, image[1] + 1})) multiple_ = image[0] / last[0];
  if (last_) {
    widths_ = {backbone.width()};
  } else if (stages_) {
    if (!taps.empty())
      throw std::invalid_argument(
          "taps names blocks of a network of one stage; of this one each stage is read, leave taps out");
    read_stages(layouts);
  } else {
    read_blocks(taps);
    for (const std::string& tap : taps_) backbone.request_tap(tap);
  }
}

void HostMaps::read_stages(const std::vector<Layout>& layouts) {
  const auto norms = register_module("norms", std::make_shared<Module>());
  for (std::size_t s = 0; s < layouts.size(); ++s) {
    widths_.push_back(backbone_.stages()[s].width);
    norms_.push_back(norms->register_module(std::to_string(s), std::make_shared<Norm>(widths_.back(), 1e-5)));
  }
}

void HostMaps::read_blocks(std::vector<std::int64_t> taps) {
  const StageInfo& stage = backbone_.stages().front();
  const auto blocks = static_cast<std::int64_t>(stage.layers.size());
  if (taps.empty()) {
    if (blocks < kQuarters) {
      throw std::invalid_argument(
          "the decoder reads the last block of each quarter of the network, which has blocks: " +
          std::to_string(blocks) + "; name those to read, as in taps: [0]");
    }
    for (std::int64_t i = 1; i <= kQuarters; ++i) taps.push_back(i * blocks / kQuarters - 1);
  }
  for (const std::int64_t tap : taps) {
    if (tap >= 0 && tap < blocks) {
      taps_.push_back("block-" + std::to_string(stage.layers[static_cast<std::size_t>(tap)].layer));
      widths_.push_back(stage.width);
      continue;
    }
    throw std::invalid_argument("taps names block " + std::to_string(tap) + "; those of the backbone are 0 to " +
                                std::to_string(blocks - 1));
  }
}

std::vector<Tensor> HostMaps::operator()(const Features& features) const {
  if (last_) return {patches_as_image(features.tokens, features.layout)};
  std::vector<Tensor> out;
  if (stages_) {
    for (std::size_t s = 0; s < norms_.size(); ++s) {
      const FeatureMap& stage = features.stages.at(s);
      out.push_back(patches_as_image(norms_[s]->forward(stage.tokens), stage.layout));
    }
    return out;
  }
  for (const std::string& tap : taps_)
    out.push_back(patches_as_image(features.taps.at(tap), features.tap_layouts.find(tap)->second));
  return out;
}

std::vector<MapExtent> HostMaps::grids(const MapExtent& image) const {
  const std::vector<Layout> layouts = backbone_.layouts(image[0], image[1]);
  if (last_) return {grid_of(layouts.back())};
  std::vector<MapExtent> out;
  for (std::size_t i = 0; i < widths_.size(); ++i) out.push_back(grid_of(stages_ ? layouts[i] : layouts.back()));
  return out;
}

void HostMaps::start() {
  const RandomStreams none(0);
  for (const auto& norm : norms_) norm->start(Initializer(none, ""));
}

}  // namespace locus::engine
