// Windows, mirrors, scales.
#include "engine/tasks/views.h"

#include <algorithm>
#include <cmath>

namespace locus::engine {
namespace {

Tensor map_in_windows(const Tensor& image, const Views& views, const MakeMap& make) {
  const std::int64_t stride = views.stride > 0 ? views.stride : views.window;
  Tensor sum, visits;
  for (const WindowSpan& row : windows_along(image.size(2), views.window, stride)) {
    for (const WindowSpan& column : windows_along(image.size(3), views.window, stride)) {
      const auto part = [&](const Tensor& t) {
        return t.slice(2, row.first, row.end).slice(3, column.first, column.end);
      };
      const Tensor map = make(part(image));
      if (!sum.defined()) {
        const Tensor like = map.scalar_type() == at::kDouble ? map : map.to(at::kFloat);
        sum = at::zeros({image.size(0), map.size(1), image.size(2), image.size(3)}, like.options());
        visits = at::zeros({1, 1, image.size(2), image.size(3)}, like.options());
      }
      const MapExtent extent{row.end - row.first, column.end - column.first};
      part(sum).add_(interpolated(map, extent, Alignment::kHalfPixel));
      part(visits).add_(1);
    }
  }
  return sum / visits;
}

}  // namespace

std::vector<WindowSpan> windows_along(std::int64_t length, std::int64_t window, std::int64_t stride) {
  const std::int64_t count = std::max<std::int64_t>(length - window + stride - 1, 0) / stride + 1;
  std::vector<WindowSpan> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t end = std::min(i * stride + window, length);
    out.push_back({std::max<std::int64_t>(end - window, 0), end});
  }
  return out;
}

std::vector<Tensor> maps_of_views(const Tensor& image, const Views& views, const MakeMap& make) {
  std::vector<Tensor> out;
  const auto look = [&](const Tensor& at) { return views.window > 0 ? map_in_windows(at, views, make) : make(at); };
  for (const double scale : views.scales) {
    const auto side = [&](std::int64_t own) {
      return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(static_cast<double>(own) * scale + 0.5)), 1);
    };
    const Tensor seen = interpolated(image, {side(image.size(2)), side(image.size(3))}, Alignment::kHalfPixel);
    out.push_back(look(seen));
    if (views.mirrored) out.push_back(look(seen.flip({3})).flip({3}));
  }
  return out;
}

}  // namespace locus::engine
