// Matrices of axes, kept while they are of use.
#include "engine/layers/resampling.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "engine/base/precision.h"

namespace locus::engine {
namespace {

constexpr std::size_t kMostMatrices = 64;  // of a thread: whole images of a split have some hundred extents

enum class AxisKind { kHalfPixel, kCorners, kPooling };

struct AxisKey {
  AxisKind kind;
  std::int64_t from, to;
  at::Device device;
  at::ScalarType type;
  bool operator==(const AxisKey&) const = default;
};

struct KeptAxis {
  AxisKey key;
  Tensor matrix;
};

void check_axis(std::int64_t from, std::int64_t to) {
  if (from > 0 && to > 0) return;
  throw std::invalid_argument("a map of " + std::to_string(from) + " places along an axis cannot be given " +
                              std::to_string(to));
}

Tensor axis_matrix(const AxisKey& key) {
  thread_local std::deque<KeptAxis> kept;
  for (const KeptAxis& one : kept) {
    if (one.key == key) return one.matrix;
  }
  const c10::InferenceMode normal_tensors(false);
  const at::NoGradGuard no_grad;
  const Tensor made =
      key.kind == AxisKind::kPooling
          ? pooling_matrix(key.from, key.to)
          : interpolation_matrix(key.from, key.to,
                                 key.kind == AxisKind::kCorners ? Alignment::kCorners : Alignment::kHalfPixel);
  if (kept.size() == kMostMatrices) kept.pop_front();
  kept.push_back({key, made.to(key.device, key.type)});
  return kept.back().matrix;
}

AxisKind kind_of(Alignment alignment) {
  return alignment == Alignment::kCorners ? AxisKind::kCorners : AxisKind::kHalfPixel;
}

// In float32 at least.
Tensor full(const Tensor& maps) { return maps.scalar_type() == at::kDouble ? maps : maps.to(at::kFloat); }

Tensor axis_of(const Tensor& maps, AxisKind kind, std::int64_t from, std::int64_t to) {
  return axis_matrix({kind, from, to, maps.device(), maps.scalar_type()});
}

// rows_matrix X columns_matrix^T
Tensor between(const Tensor& rows, const Tensor& maps, const Tensor& columns) {
  return at::matmul(at::matmul(rows, maps), columns.transpose(0, 1));
}

}  // namespace

Tensor interpolation_matrix(std::int64_t from, std::int64_t to, Alignment alignment) {
  check_axis(from, to);
  Tensor out = at::zeros({to, from}, at::kDouble);
  auto weights = out.accessor<double, 2>();
  for (std::int64_t i = 0; i < to; ++i) {
    double place = 0;
    if (alignment == Alignment::kHalfPixel) {
      place = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    } else if (to > 1) {
      place = static_cast<double>(i) * static_cast<double>(from - 1) / static_cast<double>(to - 1);
    }
    place = std::clamp(place, 0.0, static_cast<double>(from - 1));
    const auto low = std::min(static_cast<std::int64_t>(place), from - 1), high = std::min(low + 1, from - 1);
    const double share = place - static_cast<double>(low);
    weights[i][low] += 1 - share;
    weights[i][high] += share;
  }
  return out;
}

Tensor pooling_matrix(std::int64_t from, std::int64_t to) {
  check_axis(from, to);
  Tensor out = at::zeros({to, from}, at::kDouble);
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t first = i * from / to, end = ((i + 1) * from + to - 1) / to;
    out[i].slice(0, first, end).fill_(1 / static_cast<double>(end - first));
  }
  return out;
}

Tensor interpolated(const Tensor& maps, const MapExtent& to, Alignment alignment) {
  return interpolated_rows(maps, to, alignment, 0, to[0]);
}

Tensor interpolated_rows(const Tensor& maps, const MapExtent& to, Alignment alignment, std::int64_t first,
                         std::int64_t end) {
  const Autocast plain(Precision::kFloat32, maps.device());
  const Tensor x = full(maps);
  const bool whole = first == 0 && end == to[0];
  if (whole && x.size(-2) == to[0] && x.size(-1) == to[1]) return x;
  const AxisKind kind = kind_of(alignment);
  const Tensor rows = axis_of(x, kind, x.size(-2), to[0]);
  return between(whole ? rows : rows.slice(0, first, end), x, axis_of(x, kind, x.size(-1), to[1]));
}

Tensor interpolated_rows_back(const Tensor& gradient, const MapExtent& from, const MapExtent& to, Alignment alignment,
                              std::int64_t first, std::int64_t end) {
  const Autocast plain(Precision::kFloat32, gradient.device());
  const Tensor g = full(gradient);
  const AxisKind kind = kind_of(alignment);
  const Tensor rows = axis_of(g, kind, from[0], to[0]).slice(0, first, end);
  return between(rows.transpose(0, 1), g, axis_of(g, kind, from[1], to[1]).transpose(0, 1));
}

Tensor pooled_cells(const Tensor& maps, std::int64_t cells) {
  const Autocast plain(Precision::kFloat32, maps.device());
  const Tensor x = full(maps);
  return between(axis_of(x, AxisKind::kPooling, x.size(-2), cells), x,
                 axis_of(x, AxisKind::kPooling, x.size(-1), cells));
}

}  // namespace locus::engine
