// Curves over boxes: cells in the order of the curve.
#include "engine/priors/box_curves.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace locus::engine {
namespace {

using BoxPath = std::vector<BoxCell>;

BoxCell operator+(BoxCell a, BoxCell b) { return {a.t + b.t, a.y + b.y, a.x + b.x}; }
BoxCell operator-(BoxCell a, BoxCell b) { return {a.t - b.t, a.y - b.y, a.x - b.x}; }
BoxCell operator-(BoxCell a) { return {-a.t, -a.y, -a.x}; }

std::int64_t sign(std::int64_t v) { return (v > 0) - (v < 0); }
std::int64_t length(BoxCell v) { return std::abs(v.t + v.y + v.x); }  // of a vector along one axis
BoxCell unit(BoxCell v) { return {sign(v.t), sign(v.y), sign(v.x)}; }

// Half of a side, rounded down (of negative vectors too), then to an even length where there is room for it.
BoxCell half(BoxCell v) {
  const BoxCell floor = {v.t >> 1, v.y >> 1, v.x >> 1};
  return length(floor) % 2 == 1 && length(v) > 2 ? floor + unit(v) : floor;
}

BoxPath snake(std::int64_t frames, std::int64_t rows, std::int64_t columns) {
  BoxPath path;
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t at = t % 2 == 0 ? i : rows * columns - 1 - i, y = at / columns, along = at % columns;
      path.push_back({t, y, y % 2 == 0 ? along : columns - 1 - along});
    }
  }
  return path;
}

// The anti-diagonal y + x = d of one frame, even ones running up and right.
void diagonal(std::int64_t t, std::int64_t d, std::int64_t rows, std::int64_t columns, BoxPath& path) {
  const std::int64_t low = std::max<std::int64_t>(0, d - columns + 1), high = std::min(d, rows - 1);
  for (std::int64_t i = low; i <= high; ++i) {
    const std::int64_t y = d % 2 == 0 ? high - (i - low) : i;
    path.push_back({t, y, d - y});
  }
}

BoxPath zigzag(std::int64_t frames, std::int64_t rows, std::int64_t columns) {
  BoxPath path;
  for (std::int64_t e = 0; e <= frames + rows + columns - 3; ++e) {
    for (std::int64_t i = 0; i < frames; ++i) {
      const std::int64_t t = e % 2 == 0 ? i : frames - 1 - i, d = e - t;
      if (d >= 0 && d <= rows + columns - 2) diagonal(t, d, rows, columns, path);
    }
  }
  return path;
}

std::uint64_t spread_bits(std::int64_t v) {
  std::uint64_t out = 0;
  for (int bit = 0; bit < 21; ++bit) out |= (static_cast<std::uint64_t>(v) >> bit & 1) << (3 * bit);
  return out;
}

BoxPath peano(std::int64_t frames, std::int64_t rows, std::int64_t columns) {
  std::vector<std::pair<std::uint64_t, BoxCell>> keyed;
  for (const BoxCell cell : snake(frames, rows, columns))
    keyed.push_back({spread_bits(cell.x) | spread_bits(cell.y) << 1 | spread_bits(cell.t) << 2, cell});
  std::sort(keyed.begin(), keyed.end(), [](const auto& l, const auto& r) { return l.first < r.first; });
  BoxPath path;
  for (const auto& [key, cell] : keyed) path.push_back(cell);
  return path;
}

// Walks the box spanned by a (the direction of travel), b and c from p.
void hilbert_walk(BoxCell p, BoxCell a, BoxCell b, BoxCell c, BoxPath& path) {
  const std::int64_t w = length(a), h = length(b), d = length(c);
  if (w == 0 || h == 0 || d == 0) return;
  if ((w == 1) + (h == 1) + (d == 1) >= 2) {
    const BoxCell step = unit(w > 1 ? a : h > 1 ? b : c);
    for (std::int64_t i = 0; i < w * h * d; ++i, p = p + step) path.push_back(p);
    return;
  }
  const BoxCell a2 = half(a), b2 = half(b), c2 = half(c), last_a = a - unit(a);
  if (2 * w > 3 * h && 2 * w > 3 * d) {  // long: two boxes in a row
    hilbert_walk(p, a2, b, c, path);
    hilbert_walk(p + a2, a - a2, b, c, path);
  } else if (3 * h > 4 * d) {  // flat: three boxes, as on rectangles
    hilbert_walk(p, b2, c, a2, path);
    hilbert_walk(p + b2, a, b - b2, c, path);
    hilbert_walk(p + last_a + (b2 - unit(b)), -b2, c, -(a - a2), path);
  } else if (3 * d > 4 * h) {
    hilbert_walk(p, c2, a2, b, path);
    hilbert_walk(p + c2, a, b, c - c2, path);
    hilbert_walk(p + last_a + (c2 - unit(c)), -c2, -(a - a2), b, path);
  } else {  // about a cube: five boxes
    const BoxCell last_b2 = b2 - unit(b), last_c = c - unit(c);
    hilbert_walk(p, b2, c2, a2, path);
    hilbert_walk(p + b2, c, a2, b - b2, path);
    hilbert_walk(p + last_b2 + last_c, a, -b2, -(c - c2), path);
    hilbert_walk(p + last_a + b2 + last_c, -c, -(a - a2), b - b2, path);
    hilbert_walk(p + last_a + last_b2, -b2, c2, -(a - a2), path);
  }
}

BoxPath hilbert(std::int64_t frames, std::int64_t rows, std::int64_t columns) {
  BoxPath path;
  hilbert_walk({0, 0, 0}, {0, 0, columns}, {0, rows, 0}, {frames, 0, 0}, path);
  return path;
}

struct BoxCurve {
  std::string_view name;
  BoxPath (*walk)(std::int64_t frames, std::int64_t rows, std::int64_t columns);
};
constexpr BoxCurve kBoxCurves[] = {{"snake", snake}, {"hilbert", hilbert}, {"peano", peano}, {"zigzag", zigzag}};

}  // namespace

std::vector<BoxCell> box_curve(std::string_view base, std::int64_t frames, std::int64_t rows, std::int64_t columns) {
  for (const BoxCurve& curve : kBoxCurves) {
    if (curve.name == base) return curve.walk(frames, rows, columns);
  }
  return {};
}

}  // namespace locus::engine
