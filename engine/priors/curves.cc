// Space-filling curves: cells in the order of the curve, then ranks.
#include "engine/priors/curves.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "engine/priors/box_curves.h"

namespace locus::engine {
namespace {

struct Cell {
  std::int64_t x, y;  // column, row; also used as a vector
  Cell operator+(Cell o) const { return {x + o.x, y + o.y}; }
  Cell operator-(Cell o) const { return {x - o.x, y - o.y}; }
};
using Path = std::vector<Cell>;

std::int64_t length(Cell v) { return std::abs(v.x + v.y); }
Cell unit(Cell v) { return {(v.x > 0) - (v.x < 0), (v.y > 0) - (v.y < 0)}; }
Cell half(Cell v) { return {v.x >> 1, v.y >> 1}; }  // floor: negative vectors must round down too

Path snake(std::int64_t rows, std::int64_t columns) {
  Path path;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) path.push_back({r % 2 == 0 ? c : columns - 1 - c, r});
  }
  return path;
}

// Walks the rectangle spanned by a (the direction of travel) and b from p. Unit steps but for at most one
// diagonal.
void hilbert_walk(Cell p, Cell a, Cell b, Path& path) {
  const std::int64_t width = length(a), height = length(b);
  if (height == 1 || width == 1) {
    const Cell step = unit(height == 1 ? a : b);
    for (std::int64_t i = 0; i < std::max(width, height); ++i, p = p + step) path.push_back(p);
    return;
  }
  Cell a2 = half(a), b2 = half(b);
  if (2 * width > 3 * height) {
    if (length(a2) % 2 == 1 && width > 2) a2 = a2 + unit(a);
    hilbert_walk(p, a2, b, path);
    hilbert_walk(p + a2, a - a2, b, path);
    return;
  }
  if (length(b2) % 2 == 1 && height > 2) b2 = b2 + unit(b);
  hilbert_walk(p, b2, a2, path);
  hilbert_walk(p + b2, a, b - b2, path);
  hilbert_walk(p + (a - unit(a)) + (b2 - unit(b)), Cell{} - b2, Cell{} - (a - a2), path);
}

Path hilbert(std::int64_t rows, std::int64_t columns) {
  Path path;
  hilbert_walk({0, 0}, {columns, 0}, {0, rows}, path);
  return path;
}

std::uint64_t spread_bits(std::uint64_t v) {
  std::uint64_t out = 0;
  for (int bit = 0; bit < 32; ++bit) out |= (v >> bit & 1) << (2 * bit);
  return out;
}

Path peano(std::int64_t rows, std::int64_t columns) {
  std::vector<std::pair<std::uint64_t, Cell>> keyed;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      keyed.push_back(
          {spread_bits(static_cast<std::uint64_t>(c)) | spread_bits(static_cast<std::uint64_t>(r)) << 1, {c, r}});
    }
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& l, const auto& r) { return l.first < r.first; });
  Path path;
  for (const auto& [key, cell] : keyed) path.push_back(cell);
  return path;
}

Path zigzag(std::int64_t rows, std::int64_t columns) {
  Path path;
  for (std::int64_t d = 0; d <= rows + columns - 2; ++d) {
    if (d % 2 == 0) {
      for (std::int64_t r = std::min(d, rows - 1); r >= 0 && d - r < columns; --r) path.push_back({d - r, r});
    } else {
      for (std::int64_t c = std::min(d, columns - 1); c >= 0 && d - c < rows; --c) path.push_back({c, d - c});
    }
  }
  return path;
}

constexpr std::string_view kTransposed = "-transposed";

struct Curve {
  std::string_view name;
  Path (*walk)(std::int64_t rows, std::int64_t columns);
};
constexpr Curve kCurves[] = {{"snake", snake}, {"hilbert", hilbert}, {"peano", peano}, {"zigzag", zigzag}};

}  // namespace

const std::vector<std::string>& curve_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Curve& curve : kCurves) {
      list.emplace_back(curve.name);
      list.push_back(std::string(curve.name) + std::string(kTransposed));
    }
    return list;
  }();
  return names;
}

std::vector<std::int32_t> curve_ranks(std::string_view name, std::int64_t rows, std::int64_t columns) {
  const bool transposed = name.ends_with(kTransposed);
  const std::string_view base = transposed ? name.substr(0, name.size() - kTransposed.size()) : name;
  for (const Curve& curve : kCurves) {
    if (curve.name != base) continue;
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(rows * columns));
    std::int32_t rank = 0;
    for (const Cell cell : transposed ? curve.walk(columns, rows) : curve.walk(rows, columns)) {
      const std::int64_t row = transposed ? cell.x : cell.y, column = transposed ? cell.y : cell.x;
      ranks[static_cast<std::size_t>(row * columns + column)] = rank++;
    }
    return ranks;
  }
  throw std::invalid_argument("no curve is called '" + std::string(name) + "'");
}

std::vector<std::int32_t> curve_ranks(std::string_view name, const std::vector<std::int64_t>& extent) {
  if (extent.size() == 2) return curve_ranks(name, extent[0], extent[1]);
  if (extent.size() != 3)
    throw std::invalid_argument("curves fill rectangles and boxes, not " + std::to_string(extent.size()) + " axes");
  const std::int64_t frames = extent[0], rows = extent[1], columns = extent[2];
  if (frames == 1) return curve_ranks(name, rows, columns);
  const bool transposed = name.ends_with(kTransposed);
  const std::string_view base = transposed ? name.substr(0, name.size() - kTransposed.size()) : name;
  const std::vector<BoxCell> path =
      transposed ? box_curve(base, frames, columns, rows) : box_curve(base, frames, rows, columns);
  if (path.empty()) throw std::invalid_argument("no curve is called '" + std::string(name) + "'");
  std::vector<std::int32_t> ranks(path.size());
  std::int32_t rank = 0;
  for (const BoxCell cell : path) {
    const std::int64_t row = transposed ? cell.x : cell.y, column = transposed ? cell.y : cell.x;
    ranks[static_cast<std::size_t>((cell.t * rows + row) * columns + column)] = rank++;
  }
  return ranks;
}

}  // namespace locus::engine
