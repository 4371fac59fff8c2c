// Heat maps and curves of a picture's document.
#include <algorithm>
#include <cmath>

#include "engine/probe/picture.h"
#include "engine/probe/trained.h"

namespace locus::engine {
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

// Which color stands for which value.
struct Range {
  double low, high;
  bool diverging;
};

Range range_of(const Json& view) {
  return {view.at("low").get<double>(), view.at("high").get<double>(), view.at("scale") == "diverging"};
}

void draw_map(Drawing& canvas, int left, int top, const Json& row, const Range& range, const Grid& grid,
              std::int64_t query) {
  const auto corner = [&](std::int64_t patch) {
    return std::pair(left + static_cast<int>(patch % grid.columns) * kCell,
                     top + static_cast<int>(patch / grid.columns) * kCell);
  };
  for (std::int64_t patch = 0; patch < grid.rows * grid.columns; ++patch) {
    const auto [x, y] = corner(patch);
    canvas.fill(x, y, kCell, kCell,
                color_of(row[static_cast<std::size_t>(patch)], range.low, range.high, range.diverging));
  }
  if (query < 0) return;
  const auto [x, y] = corner(query);
  const int far = kCell - 1;
  canvas.line(x, y, x + far, y, kFrame), canvas.line(x, y + far, x + far, y + far, kFrame);
  canvas.line(x, y, x, y + far, kFrame), canvas.line(x + far, y, x + far, y + far, kFrame);
}

void draw_path(Drawing& canvas, int left, int top, const Json& path, const Grid& grid) {
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
    canvas.line(x0, y0, x1, y1, between(kBegin, kEnd, static_cast<double>(i) / static_cast<double>(path.size())));
  }
}

// One row of a drawing: a map for each head, of `query`, behind an image where there is one.
struct Row {
  std::vector<const Json*> maps;
  Range range;
  std::int64_t query;
  const Json* pixels = nullptr;
};

void draw_pixels(Drawing& canvas, int left, int top, const Json& pixels, const Grid& grid) {
  const int rows = pixels.at("extent")[0], columns = pixels.at("extent")[1], channels = pixels.at("channels");
  const int wide = grid.wide() - kGap, high = grid.high() - kGap;
  for (int y = 0; y < high; ++y) {
    for (int x = 0; x < wide; ++x) {
      const int first = (y * rows / high * columns + x * columns / wide) * channels;
      Color color{};
      for (int c = 0; c < 3; ++c) {
        const int at = first + (channels == 3 ? c : 0);
        color[static_cast<std::size_t>(c)] = pixels.at("values")[static_cast<std::size_t>(at)].get<std::uint8_t>();
      }
      canvas.fill(left + x, top + y, 1, 1, color);
    }
  }
}

Drawing draw_rows(const std::vector<Row>& rows, const Grid& grid) {
  std::size_t columns = 1;
  for (const Row& row : rows) columns = std::max(columns, row.maps.size() + (row.pixels != nullptr ? 1 : 0));
  Drawing canvas(kGap + static_cast<int>(columns) * grid.wide(),
                 kGap + std::max(1, static_cast<int>(rows.size())) * grid.high(), kPaper);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const int top = kGap + static_cast<int>(r) * grid.high();
    int left = kGap;
    if (rows[r].pixels != nullptr) {
      draw_pixels(canvas, left, top, *rows[r].pixels, grid);
      left += grid.wide();
    }
    for (const Json* map : rows[r].maps) {
      draw_map(canvas, left, top, *map, rows[r].range, grid, rows[r].query);
      left += grid.wide();
    }
  }
  return canvas;
}

// The place among the document's queries that lies nearest to the patch.
std::size_t nearest_query(const Json& queries, const Grid& grid, std::int64_t patch) {
  std::size_t best = 0;
  std::int64_t least = -1;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto at = queries[i].get<std::int64_t>();
    const std::int64_t down = at / grid.columns - patch / grid.columns,
                       right = at % grid.columns - patch % grid.columns;
    const std::int64_t apart = down * down + right * right;
    if (least >= 0 && apart >= least) continue;
    least = apart, best = i;
  }
  return best;
}

std::vector<const Json*> of_query(const Json& heads, std::size_t query) {
  std::vector<const Json*> out;
  for (const Json& head : heads) out.push_back(&head[query]);
  return out;
}

std::vector<Row> rows_of_prior(const Json& document, const std::string& view_name, std::size_t query) {
  const std::int64_t patch = document.at("queries")[query];
  std::string wanted = view_name, known;
  std::vector<Row> rows;
  for (const Json& layer : document.at("layers")) {
    for (const Json& view : layer.at("views")) {
      const std::string id = view.at("id");
      if (wanted.empty()) wanted = id;
      if (known.find(id) == std::string::npos) known += (known.empty() ? "" : ", ") + id;
      if (id != wanted) continue;
      for (const Json& state : document.at("states"))
        rows.push_back({of_query(view.at(state.get<std::string>()), query), range_of(view), patch});
    }
  }
  if (rows.empty()) throw std::invalid_argument("the picture has no view '" + wanted + "'; it has " + known);
  return rows;
}

// Each row from 0 to its largest value: attention of layers differs in order of magnitude.
Range from_zero(const std::vector<const Json*>& maps) {
  double high = 0;
  for (const Json* map : maps) {
    for (const Json& value : *map) high = std::max(high, value.is_null() ? 0 : value.get<double>());
  }
  return {0, high, false};
}

std::vector<Row> rows_of_attention(const Json& document, std::size_t query) {
  std::vector<Row> rows;
  for (const Json& layer : document.at("layers")) {
    for (std::size_t i = 0; i < layer.at("images").size(); ++i) {
      const Json& image = layer.at("images")[i];
      for (const char* which : {"with", "without"}) {
        if (image.at(which).is_null()) continue;
        const auto maps = of_query(image.at(which).at("queries"), query);
        rows.push_back({maps, from_zero(maps), document.at("queries")[query].get<std::int64_t>(),
                        &document.at("images")[i].at("pixels")});
      }
    }
  }
  return rows;
}

}  // namespace

Drawing draw(const Json& picture, const std::string& view_name,
             const std::vector<std::pair<std::int64_t, std::int64_t>>& queries) {
  const Json& view = view_named(picture, view_name);
  const Json &values = view.at("values"), &curves = picture.at("curves");
  const Grid grid{picture.at("grid")[0], picture.at("grid")[1]};
  const auto heads = static_cast<int>(values.size()), rows = static_cast<int>(queries.size());
  const int in_row = std::max(heads, 1), curve_rows = (static_cast<int>(curves.size()) + in_row - 1) / in_row;
  Drawing canvas(kGap + in_row * grid.wide(), kGap + (rows + curve_rows) * grid.high(), kPaper);
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
               values[static_cast<std::size_t>(h)][static_cast<std::size_t>(query)], range_of(view), grid, query);
    }
  }
  for (int c = 0; c < static_cast<int>(curves.size()); ++c) {
    draw_path(canvas, kGap + c % in_row * grid.wide(), kGap + (rows + c / in_row) * grid.high(),
              curves[static_cast<std::size_t>(c)].at("path"), grid);
  }
  return canvas;
}

Drawing draw_trained(const Json& document, const std::string& view, std::int64_t query) {
  const Grid grid{document.at("grid")[0], document.at("grid")[1]};
  const std::int64_t middle = grid.rows / 2 * grid.columns + grid.columns / 2;
  const std::size_t row = nearest_query(document.at("queries"), grid, query < 0 ? middle : query);
  return draw_rows(
      document.at("kind") == "attention" ? rows_of_attention(document, row) : rows_of_prior(document, view, row), grid);
}

}  // namespace locus::engine
