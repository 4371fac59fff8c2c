// Patches of images as rows, in one pass over them.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine::fused {

// Whether patch_rows() takes such images: contiguous [B, C, H, W] on the CPU, of float32 or float64 without a gradient, or
// of bytes.
bool takes_patches(const Tensor& images);

// The patches of images in raster order, each a row of its numbers, channels first: [B, N, C patch^2]. `patch` divides H
// and W. Of bytes the row has what `values` float32 [C or 1, 256] says of each, by channel; otherwise it is undefined.
// Thread-safe.
Tensor patch_rows(const Tensor& images, std::int64_t patch, const Tensor& values);

}  // namespace locus::engine::fused
