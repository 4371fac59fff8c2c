// Draws and paints scenes.
#include "engine/scenes/scene.h"

#include <algorithm>
#include <cmath>

#include "engine/base/draws.h"

namespace locus::engine::scenes {
namespace {

constexpr double kFarthest = 20, kNearestBackground = 6;
constexpr int kSolid = 128;  // opacity from which a pixel counts as the object's

class Draws {
 public:
  Draws(const RandomStreams& random, const SceneWish& wish) : random_(random), wish_(wish) {}

  double unit(std::string_view what, int which = 0) const {
    return draw_unit(random_, "scenes", wish_.set + "." + std::string(what),
                     {0, static_cast<std::uint64_t>(wish_.number), static_cast<std::uint32_t>(which)});
  }
  double between(std::string_view what, double low, double high, int which = 0) const {
    return low + unit(what, which) * (high - low);
  }
  int integer(std::string_view what, int low, int high, int which = 0) const {
    const int count = high - low + 1;
    return low + std::min(static_cast<int>(unit(what, which) * count), count - 1);
  }
  Color color(std::string_view what, int low, int high, int which = 0) const {
    Color out{};
    for (int c = 0; c < 3; ++c)
      out[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(integer(what, low, high, 3 * which + c));
    return out;
  }

 private:
  const RandomStreams& random_;
  const SceneWish& wish_;
};

Background background_of(const SceneWish& wish, const Draws& draws) {
  Background out;
  out.kind = wish.backdrop.value_or(static_cast<Backdrop>(draws.integer("backdrop", 0, kBackdrops - 1)));
  out.first = draws.color("backdrop.first", 20, 235);
  out.second = draws.color("backdrop.second", 20, 235);
  const int parts = draws.integer("backdrop.parts", 4, 10);
  const bool upright = draws.unit("backdrop.upright") < 0.5;
  // Cell values: drawn, or 0 and 255 in turn.
  const auto filled = [&](int height, int width, bool drawn) {
    out.pattern = Image::blank(height, width, 1);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x)
        out.pattern.row(y)[x] = static_cast<std::uint8_t>(drawn ? draws.integer("backdrop.cell", 0, 255, y * width + x)
                                                                : 255 * ((x + y) % 2));
    }
  };
  switch (out.kind) {
    case Backdrop::kPlain:
      filled(1, 1, false);
      break;
    case Backdrop::kGradient:
      filled(2, 2, true);
      break;
    case Backdrop::kStripes:
      filled(upright ? 1 : parts, upright ? parts : 1, false);
      out.filter = Filter::kNearest;
      break;
    case Backdrop::kChecks:
      filled(parts, parts, false);
      out.filter = Filter::kNearest;
      break;
    case Backdrop::kClouds:
      filled(7, 7, true);
      out.filter = Filter::kBicubic;
      break;
  }
  return out;
}

// Object `which`, its height a part of the shorter side.
SceneObject object_of(const Scene& scene, const Garments& garments, const Draws& draws, int which, int kind,
                      double relative_height) {
  SceneObject out;
  out.kind = kind;
  const auto& rows = garments.of_kind[static_cast<std::size_t>(kind)];
  out.row = rows[static_cast<std::size_t>(draws.integer("object.row", 0, static_cast<int>(rows.size()) - 1, which))];
  out.box.height = std::max(8, static_cast<int>(relative_height * std::min(scene.height, scene.width)));
  out.box.width = std::max(8, static_cast<int>(out.box.height * draws.between("object.aspect", 0.8, 1.25, which)));
  out.box.top = draws.integer("object.top", 0, std::max(0, scene.height - out.box.height), which);
  out.box.left = draws.integer("object.left", 0, std::max(0, scene.width - out.box.width), which);
  out.color = draws.color("object.color", 60, 255, which);
  out.distance = 1 / relative_height;
  return out;
}

void place_in_column(SceneObject& object, const Scene& scene, int column, const Draws& draws) {
  const int first = (column * scene.width + kColumns - 1) / kColumns;
  const int end = ((column + 1) * scene.width + kColumns - 1) / kColumns;
  object.box.left = draws.integer("object.center", first, std::max(first, end - 1)) - object.box.width / 2;
}

std::uint8_t mixed(int first, int second, int share) {  // share of the second, of 255
  return static_cast<std::uint8_t>((first * (255 - share) + second * share + 127) / 255);
}

void paint(const SceneObject& object, int which, const Garments& garments, Rendered& out) {
  const Image garment = resize(garments.image(object.row), object.box.height, object.box.width, Filter::kBilinear);
  const Box& box = object.box;
  const int bottom = std::min(box.top + box.height, out.image.height);
  const int right = std::min(box.left + box.width, out.image.width);
  for (int y = std::max(box.top, 0); y < bottom; ++y) {
    for (int x = std::max(box.left, 0); x < right; ++x) {
      const int value = garment.row(y - box.top)[x - box.left];
      const int opacity = std::min(255, 3 * value), light = 96 + value * 159 / 255;
      std::uint8_t* pixel = out.image.row(y) + 3 * x;
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = mixed(pixel[c], object.color[c] * light / 255, opacity);
      if (opacity < kSolid) continue;
      const auto at =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(out.image.width) + static_cast<std::size_t>(x);
      out.object[at] = static_cast<std::uint8_t>(which + 1);
      out.depth[at] = static_cast<float>(object.distance);
    }
  }
}

}  // namespace

int Scene::column() const {
  const int center = std::clamp(main().box.left + main().box.width / 2, 0, width - 1);
  return center * kColumns / width;
}

Scene describe(const SceneWish& wish, const Garments& garments, const RandomStreams& random) {
  const Draws draws(random, wish);
  Scene out;
  const int shorter = draws.integer("shorter", wish.shorter_least, wish.shorter_most);
  const int longer = static_cast<int>(shorter * draws.between("aspect", wish.aspect_least, wish.aspect_most));
  const bool wide = draws.unit("wide") < 0.6 || wish.wide;
  out.height = wide ? shorter : longer;
  out.width = wide ? longer : shorter;
  out.background = background_of(wish, draws);
  const int kind = wish.kind.value_or(draws.integer("kind", 0, kKinds - 1));
  const int others = draws.integer("objects", 1, wish.objects_most) - 1;
  for (int i = 1; i <= others; ++i) {  // smaller and of another kind
    const int other = (kind + draws.integer("other.kind", 1, kKinds - 1, i)) % kKinds;
    out.objects.push_back(
        object_of(out, garments, draws, i, other, draws.between("other.height", 0.2, 0.6 * wish.main_least + 0.1, i)));
  }
  std::stable_sort(out.objects.begin(), out.objects.end(),
                   [](const SceneObject& a, const SceneObject& b) { return a.distance > b.distance; });
  out.objects.push_back(
      object_of(out, garments, draws, 0, kind, draws.between("main.height", wish.main_least, wish.main_most)));
  if (wish.column) place_in_column(out.objects.back(), out, *wish.column, draws);
  return out;
}

Rendered render(const Scene& scene, const Garments& garments) {
  Rendered out;
  out.image = Image::blank(scene.height, scene.width, 3);
  const Image shares = resize(scene.background.pattern, scene.height, scene.width, scene.background.filter);
  const std::size_t count = shares.pixels.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      out.image.pixels[3 * i + c] = mixed(scene.background.first[c], scene.background.second[c], shares.pixels[i]);
  }
  out.object.assign(count, 0);
  out.depth.reserve(count);
  for (int y = 0; y < scene.height; ++y) {
    const double share = scene.height == 1 ? 0 : static_cast<double>(y) / (scene.height - 1);
    out.depth.insert(out.depth.end(), static_cast<std::size_t>(scene.width),
                     static_cast<float>(kFarthest + share * (kNearestBackground - kFarthest)));
  }
  for (std::size_t i = 0; i < scene.objects.size(); ++i) paint(scene.objects[i], static_cast<int>(i), garments, out);
  return out;
}

}  // namespace locus::engine::scenes
