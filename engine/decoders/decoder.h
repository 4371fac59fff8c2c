// Decoders: what makes a map of every image out of the features of a backbone: classes of pixels, depths.
#pragma once

#include "engine/backbones/backbone.h"
#include "engine/base/registry.h"
#include "engine/layers/resampling.h"

namespace locus::engine {

// What a decoder is built for.
struct DecoderContext {
  std::vector<std::int64_t> widths;  // of the maps it reads, finest grid first
  bool hierarchical = false;         // each map has a grid of its own, of half the sides of the former one
  std::int64_t outputs = 1;          // numbers of a pixel: classes, or 1
};

// Numbers of the pixels [B, outputs, rows, columns], on a grid of the decoder's choice; whoever asked enlarges them.
struct Decoded {
  Tensor map;
  Tensor auxiliary = {};  // the same of a second head that training alone needs; undefined: there is none
};

// Parameters are uninitialized until start(). Not thread-safe.
class Decoder : public Module, public SelfStarting {
 public:
  // `maps` [B, width, rows, columns] in the order of DecoderContext::widths; `image`: the extent in pixels of the images that
  // the backbone was given. Throws std::invalid_argument where the batch is too small to train on.
  virtual Decoded forward(const std::vector<Tensor>& maps, const MapExtent& image, const ForwardContext& context) = 0;
  // Operations of forward() for one image whose maps have these grids: as Backbone::flops, without what interpolates and pools
  // and without what training alone needs.
  virtual std::int64_t flops(const std::vector<MapExtent>& grids, const MapExtent& image) const = 0;
  virtual bool training_only(std::string_view /*name*/) const { return false; }  // by parameter and buffer
};

// Which features a decoder reads: the tokens after the final norm, or those of several blocks or stages.
enum class DecoderInput { kLast, kPyramid };

struct DecoderItem {
  Item item;  // kind "decoder"; facts: costs, tasks
  DecoderInput input;
  // Throws std::invalid_argument on widths that it has no use for.
  std::shared_ptr<Decoder> (*make)(const DecoderContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<DecoderItem>& decoder_registry();  // first, every line of decoders.def
inline const std::deque<DecoderItem>& decoder_items() { return decoder_registry().all(); }
inline const DecoderItem& decoder_item(std::string_view id) { return decoder_registry().find(id); }

// The decoder of those backbones whose configuration names none.
inline constexpr const char* kPlainDecoder = "linear";

}  // namespace locus::engine
