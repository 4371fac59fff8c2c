// What the formats share when images are written.
#include "engine/images/encode.h"

#include <stdexcept>
#include <string>

namespace locus::engine {

void check_encodable(const Image& image) {
  constexpr int kSide = 65500;  // libjpeg's
  const bool size = image.height >= 1 && image.width >= 1 && image.height <= kSide && image.width <= kSide;
  if (size && (image.channels == 1 || image.channels == 3) &&
      image.pixels.size() == std::size_t{1} * image.height * image.width * image.channels)
    return;
  throw std::invalid_argument("an image of " + std::to_string(image.height) + " x " + std::to_string(image.width) +
                              " pixels, " + std::to_string(image.channels) + " channels and " +
                              std::to_string(image.pixels.size()) +
                              " bytes cannot be written: 1 or 3 channels, sides of 1 to " + std::to_string(kSide));
}

}  // namespace locus::engine
