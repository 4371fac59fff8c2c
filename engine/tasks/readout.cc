// Pooled features, of one block or several.
#include "engine/tasks/readout.h"

namespace locus::engine {
namespace {

constexpr const char* kPooled = "pooled";
constexpr const char* kLastBlocks = "last-blocks";
constexpr const char* kPooledAndMean = "pooled-and-mean";

}  // namespace

void add_readout_options(Item& item) {
  item.option(Option::text("features", kPooled,
                           "what the head reads: what the backbone pools; that of each of the last blocks through the "
                           "final norm, side by side; or the pooled features and the mean of the patch tokens, channel "
                           "by channel")
                  .choices({kPooled, kLastBlocks, kPooledAndMean})
                  .neutral(kPooled));
  item.option(Option::integer("feature_blocks", 4, "how many of the last blocks the head reads")
                  .minimum(1)
                  .maximum(512)
                  .neutral(4)
                  .when("features", {kLastBlocks}));
}

Readout::Readout(Backbone& backbone, const Options& options)
    : backbone_(backbone), mean_(options.text("features") == kPooledAndMean) {
  if (options.text("features") != kLastBlocks) return;
  const std::int64_t count = options.integer("feature_blocks");
  const std::vector<LayerInfo>& layers = backbone.stages().back().layers;
  const auto depth = static_cast<std::int64_t>(layers.size());
  if (count > depth) {
    throw std::invalid_argument("feature_blocks is " + std::to_string(count) +
                                "; the last stage of the backbone has blocks: " + std::to_string(depth));
  }
  for (std::int64_t i = depth - count; i < depth; ++i) {
    blocks_.push_back(layers[static_cast<std::size_t>(i)].layer);
    backbone.request_tap("block-" + std::to_string(blocks_.back()));
  }
}

std::int64_t Readout::width() const {
  const auto blocks = static_cast<std::int64_t>(blocks_.size());
  return backbone_.pooled_width() * std::max<std::int64_t>(blocks, 1) + (mean_ ? backbone_.width() : 0);
}

Tensor Readout::operator()(const Features& features) const {
  if (mean_) {
    const Tensor mean = features.tokens.slice(1, features.layout.prefix).mean(1);
    return at::stack({backbone_.pooled(features), mean}, -1).flatten(1);
  }
  if (blocks_.empty()) return backbone_.pooled(features);
  std::vector<Tensor> out;
  for (const std::int64_t block : blocks_) out.push_back(backbone_.pooled(backbone_.after_block(features, block)));
  return at::cat(out, 1);
}

}  // namespace locus::engine
