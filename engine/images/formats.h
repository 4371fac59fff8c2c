// The formats that decode.h chooses from. Used by it alone.
#pragma once

#include "engine/images/decode.h"

namespace locus::engine {

ImageHeader read_jpeg_header(std::span<const std::byte> bytes);
Image decode_jpeg(std::span<const std::byte> bytes, const DecodeLimits& limits);
Image decode_jpeg_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits);

ImageHeader read_png_header(std::span<const std::byte> bytes);
Image decode_png(std::span<const std::byte> bytes, const DecodeLimits& limits);
Image decode_png_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits);

// Throws ImageError where an image of that size is over the limit.
void check_pixels(std::int64_t height, std::int64_t width, const DecodeLimits& limits);

// The orientation of an EXIF block (a TIFF header and its first directory: EXIF 2.3, section 4.5); 1 where it has none
// or is damaged, since nothing else depends on it.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace locus::engine
