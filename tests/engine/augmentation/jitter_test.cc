// Color jitter.
#include "engine/augmentation/jitter.h"

#include <gtest/gtest.h>

#include "engine/images/colors.h"
#include "tests/engine/augmentation/given_draws.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using test::WrittenDraws;

TEST(Jitter, GoesByTheOrderOfItsKeys) {
  const Image image = pattern(12, 15, 3);
  const WrittenDraws draws({{"jitter.order", {0.9, 0.1, 0.5, 0.3}},
                            {"jitter.brightness", {0}},
                            {"jitter.contrast", {0.75}},
                            {"jitter.saturation", {0.25}},
                            {"jitter.hue", {0.75}}});
  Image expected = pillow::contrast(image, 0.6 + 0.75 * 0.8);
  expected = pillow::hue(expected, 0.05);
  expected = pillow::saturation(expected, 0.8 + 0.25 * 0.4);
  expected = pillow::brightness(expected, 0.7);
  EXPECT_EQ(jittered(image, {0.3, 0.4, 0.2, 0.1}, draws), expected);
}

TEST(Jitter, DrawsNothingForWhatDoesNotChange) {
  const Image image = pattern(12, 15, 3);
  const WrittenDraws draws({{"jitter.order", {0.4, 0.3, 0.2, 0.1}}, {"jitter.saturation", {0.5}}});
  EXPECT_EQ(jittered(image, {0, 0, 1.5, 0}, draws), pillow::saturation(image, 0 + 0.5 * 2.5))
      << "a factor is not below 0";
}

TEST(Jitter, OrdersDifferFromVisitToVisit) {
  const RandomStreams random(5);
  std::set<std::vector<double>> keys;
  for (std::int64_t row = 0; row < 20; ++row) {
    const StreamDraws draws(random, 0, row);
    const auto order = draws.units("jitter.order", 4);
    EXPECT_EQ(order.size(), 4u);
    EXPECT_EQ(order[1],
              draw_unit(random, kAugmentation, "jitter.order", {0, (static_cast<std::uint64_t>(row) << 24) + 1, 0}));
    keys.insert(order);
  }
  EXPECT_EQ(keys.size(), 20u);
}

}  // namespace
}  // namespace locus::engine
