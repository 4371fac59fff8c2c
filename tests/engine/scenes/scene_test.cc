// Scenes: what is asked of them, what they show, and that they are functions of their numbers alone.
#include "engine/scenes/scene.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "core/base/sha256.h"
#include "tests/engine/scenes/wardrobe.h"

namespace locus::engine::scenes {
namespace {

const Garments& garments() {
  static const Garments all = simple_garments();
  return all;
}

Scene scene(const SceneWish& wish, std::uint64_t seed = 0) { return describe(wish, garments(), RandomStreams(seed)); }

SceneWish number(std::int64_t value) {
  SceneWish wish;
  wish.set = "test";
  wish.number = value;
  return wish;
}

TEST(Scene, IsTheSameForTheSameSeedSetAndNumber) {
  EXPECT_EQ(render(scene(number(3)), garments()).image, render(scene(number(3)), garments()).image);
  EXPECT_NE(render(scene(number(3)), garments()).image, render(scene(number(4)), garments()).image);
  EXPECT_NE(render(scene(number(3)), garments()).image, render(scene(number(3), 1), garments()).image);
}

TEST(Scene, IsTheKindThatWasAskedFor) {
  for (int kind = 0; kind < kKinds; ++kind) {
    SceneWish wish = number(kind);
    wish.kind = kind;
    EXPECT_EQ(scene(wish).main().kind, kind);
  }
}

TEST(Scene, OtherObjectsAreFartherAndOfOtherKinds) {
  std::set<std::size_t> counts;
  for (int i = 0; i < 40; ++i) {
    const Scene made = scene(number(i));
    counts.insert(made.objects.size());
    for (std::size_t o = 0; o + 1 < made.objects.size(); ++o) {
      EXPECT_NE(made.objects[o].kind, made.main().kind);
      EXPECT_GE(made.objects[o].distance, made.objects[o + 1].distance);
    }
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{1, 2, 3}));
}

TEST(Scene, SizesStayWithinWhatWasAskedFor) {
  std::set<std::pair<int, int>> sizes;
  for (int i = 0; i < 40; ++i) {
    const Scene made = scene(number(i));
    const int shorter = std::min(made.height, made.width), longer = std::max(made.height, made.width);
    EXPECT_GE(shorter, 96);
    EXPECT_LE(shorter, 160);
    EXPECT_LE(longer, 1.7 * shorter);
    sizes.insert({made.height, made.width});
  }
  EXPECT_GT(sizes.size(), 30u);
  SceneWish square = number(0);
  square.shorter_least = square.shorter_most = 32;
  square.aspect_most = 1;
  EXPECT_EQ(scene(square).height, 32);
  EXPECT_EQ(scene(square).width, 32);
}

TEST(Scene, TheColumnThatWasAskedForIsThatOfTheMainObject) {
  for (const int side : {64, 100}) {
    for (int column = 0; column < kColumns; ++column) {
      SceneWish wish = number(column);
      wish.shorter_least = wish.shorter_most = side;
      wish.aspect_most = 1;
      wish.column = column;
      EXPECT_EQ(scene(wish).column(), column) << "of a width of " << side;
    }
  }
}

TEST(Scene, AnObjectCoversTheMiddleOfItsBoxInColorMaskAndDepth) {
  for (int i = 0; i < 10; ++i) {
    const Scene made = scene(number(i));
    const Rendered out = render(made, garments());
    const Box& box = made.main().box;
    const int y = box.top + box.height / 2, x = box.left + box.width / 2;
    const std::size_t at = static_cast<std::size_t>(y * made.width + x);
    EXPECT_EQ(out.object[at], made.objects.size());
    EXPECT_FLOAT_EQ(out.depth[at], static_cast<float>(made.main().distance));
    for (std::size_t c = 0; c < 3; ++c) EXPECT_LE(out.image.pixels[3 * at + c], made.main().color[c]);
  }
}

TEST(Scene, BesideObjectsThereIsTheBackground) {
  SceneWish wish = number(1);
  wish.backdrop = Backdrop::kPlain;
  const Scene made = scene(wish);
  const Rendered out = render(made, garments());
  std::size_t seen = 0;
  for (std::size_t i = 0; i < out.object.size(); ++i) {
    const bool outside = std::none_of(made.objects.begin(), made.objects.end(), [&](const SceneObject& o) {
      const int y = static_cast<int>(i) / made.width, x = static_cast<int>(i) % made.width;
      return y >= o.box.top && y < o.box.top + o.box.height && x >= o.box.left && x < o.box.left + o.box.width;
    });
    if (!outside) continue;
    ++seen;
    EXPECT_EQ(out.object[i], 0);
    EXPECT_GE(out.depth[i], 6);
    for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(out.image.pixels[3 * i + c], made.background.first[c]);
  }
  EXPECT_GT(seen, 0u);
}

TEST(Scene, EveryBackdropIsDrawn) {
  std::set<Backdrop> kinds;
  for (int i = 0; i < 60; ++i) kinds.insert(scene(number(i)).background.kind);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kBackdrops));
}

TEST(Garments, NeedOneOfEachKind) {
  EXPECT_THROW(garments_of(std::vector<std::uint8_t>(784), {0}), std::invalid_argument);
  EXPECT_THROW(garments_of(std::vector<std::uint8_t>(783), {0}), std::invalid_argument);
  EXPECT_THROW(garments_of(std::vector<std::uint8_t>(784), {10}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine::scenes
