// Pieces that decoders share.
#pragma once

#include "engine/decoders/decoder.h"
#include "engine/layers/convolution.h"
#include "engine/layers/norm.h"

namespace locus::engine {

// A convolution without bias, a norm, ReLU. Not thread-safe.
class ConvUnit : public Module, public SelfStarting {
 public:
  virtual Tensor forward(const Tensor& x, bool training) = 0;
  virtual std::int64_t flops(std::int64_t places) const = 0;  // of images of that many places
};
// Makes a unit of a side from `in` to `out` channels, zeros around the image.
using MakeUnit = std::function<std::shared_ptr<ConvUnit>(std::int64_t in, std::int64_t out, std::int64_t side)>;

// Parts "0" and "1": group norm of 32 groups; PyTorch's first weights (Active Spatial Guidance's token decoder).
std::shared_ptr<ConvUnit> group_unit(std::int64_t in, std::int64_t out, std::int64_t side);
// Parts "conv" and "bn": batch norm; weights normal with deviation sqrt(2 / fan-out) (mmsegmentation's ConvModule).
std::shared_ptr<ConvUnit> batch_unit(std::int64_t in, std::int64_t out, std::int64_t side);

// Pyramid pooling (Zhao et al. 2017, arXiv:1612.01105): beside x itself, x pooled to 1, 2, 3 and 6 cells a side, each through
// a unit of side 1 and enlarged again, half-pixel bilinear; all of it through a unit of side 3.
struct PyramidPooling {
  static constexpr std::int64_t kCells[] = {1, 2, 3, 6};
  std::vector<std::shared_ptr<ConvUnit>> units;
  std::shared_ptr<ConvUnit> joint;

  Tensor forward(const Tensor& x, bool training) const;
  std::int64_t flops(std::int64_t places) const;
};

// The pyramid of UPerNet (Xiao et al. 2018, arXiv:1807.10221) over maps, the last the coarsest:
//
//   L_i = lateral_i(x_i), where a lateral is missing x_i;  L_last = pooling(L_last);  L_{i-1} += up(L_i), the last first
//   joint([out_0(L_0), up(out_1(L_1)), ...]), where an out is missing L_i;  up half-pixel bilinear
//
// Who has it makes its units, under names of its own.
struct Pyramid {
  std::vector<std::shared_ptr<ConvUnit>> laterals, outs;  // of as many levels, from the first on
  PyramidPooling pooling;
  std::shared_ptr<ConvUnit> joint;

  Tensor forward(const std::vector<Tensor>& maps, bool training) const;  // on the grid of the first
  std::int64_t flops(const std::vector<MapExtent>& grids) const;
};

// [B, C, rows, columns] with whole channels of samples dropped, and the others divided by 1 - rate; drawn by name, step and
// sample. Nothing where the network does not train.
Tensor dropped_channels(const Tensor& x, double rate, std::string_view name, const ForwardContext& context);

// The extent of a map.
inline MapExtent extent_of(const Tensor& map) { return {map.size(-2), map.size(-1)}; }
inline std::int64_t places_of(const MapExtent& grid) { return grid[0] * grid[1]; }

// Starts the modules of `whole` that start themselves, by their names below it. `whole` itself is left out.
void start_parts(const Module& whole, const Initializer& own);

}  // namespace locus::engine
