// Videos as tokens.
#pragma once

#include <array>

#include "engine/layers/layout.h"

namespace locus::engine {

// Frames, rows and columns of pixels that make one token.
using Tubelet = std::array<std::int64_t, 3>;

// The tubelets of videos [B, C, T, H, W] in raster order of (t, y, x), each a row of its numbers, channels first, then
// frames, rows and columns: [B, N, C t h w]. A three-dimensional convolution as wide as its stride is a linear map of
// these (Arnab et al. 2021, ViViT, arXiv:2103.15691, section 3.2). Throws std::invalid_argument where the tubelet does
// not divide the video. Differentiable.
Tensor tubelets_of(const Tensor& video, const Tubelet& tubelet);

// Where the tubelets of such videos lie: (T / t, H / h, W / w) behind `prefix` tokens. Throws likewise.
Layout tubelet_layout(const std::vector<std::int64_t>& video, const Tubelet& tubelet, std::int64_t prefix);

}  // namespace locus::engine
