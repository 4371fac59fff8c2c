// Garments for tests: 30 of simple shapes, so that no data set is needed.
#pragma once

#include "engine/scenes/fashion.h"

namespace locus::engine::scenes {

// Three of each kind: a solid ellipse on black, wider for higher kinds and brighter for later ones.
inline Garments simple_garments() {
  std::vector<std::uint8_t> pixels, kinds;
  for (int which = 0; which < 3 * kKinds; ++which) {
    const int kind = which % kKinds, half = 6 + kind / 2;
    kinds.push_back(static_cast<std::uint8_t>(kind));
    for (int y = 0; y < kGarmentSide; ++y) {
      for (int x = 0; x < kGarmentSide; ++x) {
        const int dy = 2 * y - kGarmentSide + 1, dx = 2 * x - kGarmentSide + 1;
        const bool inside = dx * dx * 12 * 12 + dy * dy * half * half < 4 * half * half * 12 * 12;
        pixels.push_back(static_cast<std::uint8_t>(inside ? 150 + 50 * (which / kKinds) : 0));
      }
    }
  }
  return garments_of(std::move(pixels), kinds);
}

inline Wardrobe simple_wardrobe() { return {simple_garments(), simple_garments()}; }

}  // namespace locus::engine::scenes
