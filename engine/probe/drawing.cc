// Heat maps and curves of a picture's document.
#include <algorithm>
#include <cmath>

#include "engine/probe/picture.h"

namespace locus {
namespace {

constexpr int kCell = 8, kGap = 6;  // pixels
constexpr Color kPaper = {255, 255, 255}, kHidden = {200, 200, 200}, kFrame = {220, 40, 40};

Color between(Color from, Color to, double part) {
  Color out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = static_cast<std::uint8_t>(std::lround(from[i] + (static_cast<double>(to[i]) - from[i]) * part));
  return out;
}

// Light to dark blue; around zero, red below and blue above.
Color color_of(const Json& value, double low, double high, bool diverging) {
  if (value.is_null()) return kHidden;
  constexpr Color kLight = {247, 251, 255}, kDark = {8, 48, 107}, kRed = {140, 20, 20};
  const double range = high > low ? high - low : 1;
  const double part = std::clamp((value.get<double>() - low) / range, 0.0, 1.0);
  if (!diverging) return between(kLight, kDark, part);
  return part < 0.5 ? between(kRed, kLight, 2 * part) : between(kLight, kDark, 2 * part - 1);
}

const Json& view_named(const Json& picture, const std::string& name) {
  std::string known;
  for (const Json& view : picture.at("views")) {
    if (name.empty() || view.at("id") == name) return view;
    known += (known.empty() ? "" : ", ") + view.at("id").get<std::string>();
  }
  throw std::invalid_argument("the picture has no view '" + name + "'; it has " + known);
}

struct Grid {
  std::int64_t rows, columns;
  int wide() const { return static_cast<int>(columns) * kCell + kGap; }
  int high() const { return static_cast<int>(rows) * kCell + kGap; }
};

void draw_map(Canvas& canvas, int left, int top, const Json& row, const Json& view, const Grid& grid,
              std::int64_t query) {
  const double low = view.at("low").get<double>(), high = view.at("high").get<double>();
  const bool diverging = view.at("scale") == "diverging";
  const auto corner = [&](std::int64_t patch) {
    return std::pair(left + static_cast<int>(patch % grid.columns) * kCell,
                     top + static_cast<int>(patch / grid.columns) * kCell);
  };
  for (std::int64_t patch = 0; patch < grid.rows * grid.columns; ++patch) {
    const auto [x, y] = corner(patch);
    canvas.fill(x, y, kCell, kCell, color_of(row[static_cast<std::size_t>(patch)], low, high, diverging));
  }
  const auto [x, y] = corner(query);
  const int far = kCell - 1;
  canvas.line(x, y, x + far, y, kFrame), canvas.line(x, y + far, x + far, y + far, kFrame);
  canvas.line(x, y, x, y + far, kFrame), canvas.line(x + far, y, x + far, y + far, kFrame);
}

void draw_path(Canvas& canvas, int left, int top, const Json& path, const Grid& grid) {
  constexpr Color kBegin = {8, 48, 107}, kEnd = {220, 90, 20};
  canvas.fill(left, top, grid.wide() - kGap, grid.high() - kGap, {245, 245, 245});
  const auto center = [&](const Json& patch) {
    const auto at = patch.get<std::int64_t>();
    return std::pair(left + static_cast<int>(at % grid.columns) * kCell + kCell / 2,
                     top + static_cast<int>(at / grid.columns) * kCell + kCell / 2);
  };
  for (std::size_t i = 1; i < path.size(); ++i) {
    const auto [x0, y0] = center(path[i - 1]);
    const auto [x1, y1] = center(path[i]);
    canvas.line(x0, y0, x1, y1,
                between(kBegin, kEnd, static_cast<double>(i) / static_cast<double>(path.size())));
  }
}

}  // namespace

Canvas draw(const Json& picture, const std::string& view_name,
            const std::vector<std::pair<std::int64_t, std::int64_t>>& queries) {
  const Json& view = view_named(picture, view_name);
  const Json &values = view.at("values"), &curves = picture.at("curves");
  const Grid grid{picture.at("grid")[0], picture.at("grid")[1]};
  const auto heads = static_cast<int>(values.size()), rows = static_cast<int>(queries.size());
  const int in_row = std::max(heads, 1), curve_rows = (static_cast<int>(curves.size()) + in_row - 1) / in_row;
  Canvas canvas(kGap + in_row * grid.wide(), kGap + (rows + curve_rows) * grid.high(), kPaper);
  for (int r = 0; r < rows; ++r) {
    const auto [y, x] = queries[static_cast<std::size_t>(r)];
    if (y < 0 || x < 0 || y >= grid.rows || x >= grid.columns) {
      throw std::invalid_argument("query " + std::to_string(y) + "," + std::to_string(x) +
                                  " lies outside the grid of " + std::to_string(grid.rows) + " x " +
                                  std::to_string(grid.columns));
    }
    const std::int64_t query = y * grid.columns + x;
    for (int h = 0; h < heads; ++h) {
      draw_map(canvas, kGap + h * grid.wide(), kGap + r * grid.high(),
               values[static_cast<std::size_t>(h)][static_cast<std::size_t>(query)], view, grid, query);
    }
  }
  for (int c = 0; c < static_cast<int>(curves.size()); ++c) {
    draw_path(canvas, kGap + c % in_row * grid.wide(), kGap + (rows + c / in_row) * grid.high(),
              curves[static_cast<std::size_t>(c)].at("path"), grid);
  }
  return canvas;
}

}  // namespace locus
