// Losses of maps.
#include "engine/tasks/dense_losses.h"

#include <algorithm>

#include "engine/data/sample.h"
#include "engine/layers/resampling.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kBandNumbers = 1 << 24;            // logits of a band of rows
constexpr double kFloatEpsilon = 1.1920928955078125e-07;  // 2^-23
constexpr double kLeastVariance = 0.5, kLeastDeterminant = 1e-6;
constexpr std::int64_t kGradientScales = 4;

Tensor wide_map(const Tensor& t) { return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat); }

// Sums over a batch, of all bands.
struct PixelSums {
  Tensor loss;      // float64 []
  Tensor labeled;   // int64 []
  Tensor gradient;  // of the loss by the small logits; undefined unless asked for
};

PixelSums pixel_sums(const Tensor& logits, const Tensor& mask, bool with_gradient) {
  const at::NoGradGuard no_gradient;
  const Tensor x = wide_map(logits.detach());
  const MapExtent to{mask.size(1), mask.size(2)}, from{x.size(2), x.size(3)};
  const std::int64_t band = std::max<std::int64_t>(1, kBandNumbers / (x.size(0) * x.size(1) * to[1]));
  PixelSums out{at::zeros({}, x.options().dtype(at::kDouble)), mask.ne(kIgnored).sum(), {}};
  if (with_gradient) out.gradient = at::zeros_like(x);
  for (std::int64_t first = 0; first < to[0]; first += band) {
    const std::int64_t end = std::min(first + band, to[0]);
    const Tensor part = mask.slice(1, first, end), counts = part.ne(kIgnored).unsqueeze(1);
    const Tensor label = part.to(at::kLong).unsqueeze(1).masked_fill(counts.logical_not(), 0);
    const Tensor logs = interpolated_rows(x, to, Alignment::kHalfPixel, first, end).log_softmax(1);
    const Tensor own = logs.gather(1, label);
    out.loss = out.loss - own.masked_fill(counts.logical_not(), 0).sum(at::kDouble);
    if (!with_gradient) continue;
    Tensor slope = logs.exp();
    slope.scatter_add_(1, label, at::full_like(own, -1));
    slope = slope.masked_fill(counts.logical_not(), 0);
    out.gradient = out.gradient + interpolated_rows_back(slope, from, to, Alignment::kHalfPixel, first, end);
  }
  return out;
}

// The number `value`, whose derivative by `x` is `gradient`.
Tensor with_gradient(const Tensor& value, const Tensor& x, const Tensor& gradient) {
  return value + ((x - x.detach()) * gradient).sum();
}

Tensor strided(const Tensor& t, std::int64_t step) {
  return t.slice(1, 0, t.size(1), step).slice(2, 0, t.size(2), step);
}

// Differences of neighbors that both count, along an axis.
Tensor steps_along(const Tensor& e, const Tensor& counts, std::int64_t axis) {
  const std::int64_t n = e.size(axis);
  if (n < 2) return at::zeros({}, e.options());
  const Tensor both = counts.slice(axis, 1, n) * counts.slice(axis, 0, n - 1);
  return ((e.slice(axis, 1, n) - e.slice(axis, 0, n - 1)).abs() * both).sum();
}

// Less the mean and over the deviation, by image: [B, n].
Tensor standardized(const Tensor& x, const Tensor& counts) {
  const Tensor n = counts.sum(1, /*keepdim=*/true).clamp_min(1);
  const Tensor apart = x - (x * counts).sum(1, true) / n;
  const Tensor variance = (apart.square() * counts).sum(1, true) / n;
  return apart / variance.clamp_min(kLeastVariance).sqrt();
}

}  // namespace

Tensor pixel_cross_entropy(const Tensor& logits, const Tensor& mask, PixelAverage average) {
  if (logits.dim() != 4 || mask.dim() != 3 || logits.size(0) != mask.size(0) || mask.scalar_type() != at::kByte) {
    throw std::invalid_argument("logits " + c10::str(logits.sizes()) + " and a mask " + c10::str(mask.sizes()) +
                                " of " + c10::str(mask.scalar_type()) +
                                " are given; wanted are [B, C, h, w] and uint8 [B, H, W]");
  }
  const bool learns = at::GradMode::is_enabled() && logits.requires_grad();
  const PixelSums sums = pixel_sums(logits, mask, learns);
  const Tensor divisor = average == PixelAverage::kLabeled
                             ? sums.labeled.clamp_min(1).to(at::kDouble)
                             : at::full({}, static_cast<double>(mask.numel()) + kFloatEpsilon, sums.loss.options());
  const Tensor x = wide_map(logits);
  const Tensor value = (sums.loss / divisor).to(x.scalar_type());
  return learns ? with_gradient(value, x, (sums.gradient / divisor).to(x.scalar_type())) : value;
}

// The determinant a11 sum (p - mean p)^2 is that of the normal equations, and exactly 0 for a constant prediction.
DepthFit fit_depth(const Tensor& prediction, const Tensor& depth, const Tensor& counts) {
  const Tensor n = counts.sum(1, true), least = n.clamp_min(1);
  const Tensor mean_p = (prediction * counts).sum(1, true) / least, mean_t = (depth * counts).sum(1, true) / least;
  const Tensor apart = (prediction - mean_p) * counts;
  const Tensor spread = apart.square().sum(1, true), joint = (apart * (depth - mean_t)).sum(1, true);
  const Tensor known = (n * spread).gt(kLeastDeterminant);
  const Tensor scale = joint / at::where(known, spread, at::ones_like(spread));
  return {at::where(known, scale, at::ones_like(scale)),
          at::where(known, mean_t - scale * mean_p, at::zeros_like(scale))};
}

Tensor depth_loss(const Tensor& prediction, const Tensor& depth, DepthAlignment alignment, double gradient_weight) {
  if (prediction.dim() != 3 || prediction.sizes() != depth.sizes()) {
    throw std::invalid_argument("a prediction " + c10::str(prediction.sizes()) + " and a depth " +
                                c10::str(depth.sizes()) + " are given; wanted are two of [B, H, W]");
  }
  const Tensor raw = wide_map(prediction);
  const Tensor known = depth.gt(0).logical_and(depth.isfinite());
  const Tensor counts = known.to(raw.scalar_type()).flatten(1);
  const Tensor t = at::where(known, depth.to(raw.scalar_type()), at::zeros({}, raw.options())).flatten(1);
  Tensor p = at::where(raw.isfinite(), raw, at::zeros({}, raw.options())).flatten(1), target = t;
  if (alignment == DepthAlignment::kMeanDeviation) {
    p = standardized(p, counts);
    target = standardized(t, counts);
  } else if (alignment == DepthAlignment::kScaleShift) {
    const DepthFit fit = fit_depth(p, t, counts);
    p = fit.scale * p + fit.shift;
  }
  const Tensor e = ((p - target) * counts).view(raw.sizes()), m = counts.view(raw.sizes());
  Tensor loss = e.abs().sum() / m.sum().clamp_min(1);
  for (std::int64_t k = 0; k < kGradientScales; ++k) {
    const Tensor coarse = strided(e, std::int64_t{1} << k), here = strided(m, std::int64_t{1} << k);
    const Tensor steps = steps_along(coarse, here, 2) + steps_along(coarse, here, 1);
    loss = loss + gradient_weight * steps / here.sum().clamp_min(1);
  }
  return loss;
}

}  // namespace locus::engine
