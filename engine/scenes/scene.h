// A scene: one to three garments before a background, near and far. What it consists of is drawn first (describe), then it
// is painted (render); what is written of it, and how, is for others. Both are functions of their arguments alone, in whole
// numbers after the draws, and thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "engine/base/random.h"
#include "engine/images/resize.h"
#include "engine/scenes/fashion.h"

namespace locus::engine::scenes {

using Color = std::array<std::uint8_t, 3>;  // red, green, blue

// What lies behind: two colors, mixed as a small gray pattern says that is resized to the scene.
enum class Backdrop { kPlain, kGradient, kStripes, kChecks, kClouds };
inline constexpr int kBackdrops = 5;
inline constexpr int kColumns = 16;  // parts of the width that tell where a garment is

struct Background {
  Backdrop kind = Backdrop::kPlain;
  Color first{}, second{};
  Image pattern;  // gray: 0 is the first color, 255 the second
  Filter filter = Filter::kBilinear;
};

struct SceneObject {
  int kind = 0;          // of clothing
  std::int64_t row = 0;  // of the garments
  Box box;               // in pixels of the scene; may leave it
  Color color{};
  double distance = 1;  // in scene heights at which a garment of height 1 fills one
};

struct Scene {
  int height = 0, width = 0;
  Background background;
  std::vector<SceneObject> objects;  // from far to near; the last is the main one, from which labels come

  const SceneObject& main() const { return objects.back(); }
  int column() const;  // 0..15: where the center of the main object is
};

// What is asked of a scene; what is not asked for is drawn.
struct SceneWish {
  std::string set;          // name of the draws
  std::int64_t number = 0;  // within the set
  int shorter_least = 96, shorter_most = 160;
  double aspect_least = 1, aspect_most = 1.7;  // longer side over shorter; 1 and 1: square
  bool wide = false;                           // the width is the longer side; else drawn
  double main_least = 0.45, main_most = 0.8;   // height of the main object over the shorter side
  int objects_most = 3;
  std::optional<int> kind;  // of the main object
  std::optional<Backdrop> backdrop;
  std::optional<int> column;  // of the main object; then it may leave the scene
};

// A scene from the draws of purpose "scenes", and names "<set>.<what>" with element `number`.
Scene describe(const SceneWish& wish, const Garments& garments, const RandomStreams& random);

struct Rendered {
  Image image;                       // RGB
  std::vector<std::uint8_t> object;  // [height, width]: 0 background, i + 1 where objects[i] is in front
  // [height, width]: along the optical axis to what is seen, in meters for garments of 1 m before a camera whose focal length is the
  // shorter side; the background is from 20 (top) to 6.
  std::vector<float> depth;
};
Rendered render(const Scene& scene, const Garments& garments);

}  // namespace locus::engine::scenes
