// Pixels interleaved as images have them, and in planes as tensors do.
#pragma once

#include "engine/images/image.h"

namespace locus::engine {

// Writes channel after channel, rows from the top, to `planes`, which has room for height * width * channels bytes. Thread-safe.
void to_planes(const Image& image, std::uint8_t* planes);

}  // namespace locus::engine
