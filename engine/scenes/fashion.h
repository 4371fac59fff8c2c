// The images that scenes are composed of: Fashion-MNIST.
#pragma once

#include <filesystem>

#include "engine/images/image.h"

namespace locus::engine::scenes {

inline constexpr int kKinds = 10;        // of clothing
inline constexpr int kGarmentSide = 28;  // pixels

// One of the two files: gray images on black and their kinds.
struct Garments {
  std::vector<std::uint8_t> pixels;                // [n, 28, 28]
  std::vector<std::vector<std::int64_t>> of_kind;  // rows of each kind 0..9, ascending; none of them empty

  // Gray, 28 x 28.
  Image image(std::int64_t row) const;
};

// Of `pixels` [n, 28, 28] and n kinds. Throws std::invalid_argument where the numbers do not fit or a kind has none.
Garments garments_of(std::vector<std::uint8_t> pixels, const std::vector<std::uint8_t>& kinds);

struct Wardrobe {
  Garments train, test;
};

// Reads the four files of the data set from `folder`. Throws DataError naming the file that is missing or unsound.
Wardrobe read_wardrobe(const std::filesystem::path& folder);

}  // namespace locus::engine::scenes
