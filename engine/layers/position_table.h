// Learned tables of positions on other grids.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// `patches` [N, D], the rows of a grid `from` (rows, columns) in raster order, resized bicubically to the grid `to`:
// [N', D], with half-pixel centers and a clamped border, computed in float32 or better. `manner`, whose code does so:
//   deit  to the exact size, a = -0.75 (DeiT, MAE, rope-vit; Hugging Face)
//   dino  the same kernel with the sampling factor (new + 0.1) / old, which shifts the samples a little (DINO, DINOv2)
//   timm  antialiased, a = -0.5, the support widened when shrinking (timm; DINOv2's release with registers)
// Differentiable. Throws std::invalid_argument on another manner, and where N is not that of `from`.
Tensor resized_positions(const Tensor& patches, const std::vector<std::int64_t>& from,
                         const std::vector<std::int64_t>& to, std::string_view manner);

}  // namespace locus::engine
