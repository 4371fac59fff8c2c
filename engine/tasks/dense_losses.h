// Losses of maps: of classes of pixels, and of depths.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// What a sum over labeled pixels is divided by.
enum class PixelAverage {
  kLabeled,  // the labeled pixels of the batch, at least 1 (Active Spatial Guidance)
  kAll       // all pixels of the batch, and 2^-23 (mmsegmentation)
};

// The cross-entropy of logits [B, C, h, w], enlarged to the mask by half-pixel bilinear interpolation, with the classes of mask
// uint8 [B, H, W]; pixels of kIgnored do not count. Without a labeled pixel loss and gradient are 0. The enlarged logits are
// never there as a whole: loss and gradient are taken in bands of rows, so the gradient may be asked for once and has none of
// its own. In float32, or in the type of float64 logits.
Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& mask, PixelAverage average);

// How a predicted depth is compared with the true one, image by image over the pixels whose depth is known:
//   kMeanDeviation   both less their mean and over sqrt(max(variance, 0.5)) (Active Spatial Guidance)
//   kScaleShift      the prediction by the scale and shift that fit best, which carry gradients (DepthFit)
//   kNone            as they are
enum class DepthAlignment { kMeanDeviation, kScaleShift, kNone };

// L1 + weight (G_0 + G_1 + G_2 + G_3) of prediction and depth, both [B, H, W], over pixels of finite depth above 0. L1 is the mean
// over those of the batch; G_k takes every 2^k-th row and column of the difference e and adds up |e(x + 1) - e(x)| and
// |e(y + 1) - e(y)| of neighbors that both count, over the number of pixels that count there (not of pairs). What has no pixel
// adds 0. Predictions that are not finite count as 0 and get no gradient. (Active Spatial Guidance, its code)
Tensor depth_loss(const Tensor& prediction, const Tensor& depth, DepthAlignment alignment, double gradient_weight);

// The scale s and shift b, [B, 1], that bring s p + b nearest to t by squares over the pixels `counts` [B, n] (0 or 1) of
// predictions p and depths t [B, n]. Where the pixels that count say nothing of a scale, the determinant of the normal equations
// being 1e-6 at most (one pixel, a constant prediction), s = 1 and b = 0.
struct DepthFit {
  Tensor scale, shift;
};
DepthFit fit_depth(const Tensor& prediction, const Tensor& depth, const Tensor& counts);

}  // namespace locus::engine
