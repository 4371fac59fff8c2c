// Image files in memory: what they are, and their pixels. JPEG and PNG are read; the kind is decided by the first bytes,
// never by a name. The pixels are those of Pillow 9.5 to 12 after convert("RGB"), to the byte. Everything is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "engine/images/crop.h"

namespace locus::engine {

// Bytes are not a sound image of a kind that is read. The message follows the file's name: "is a GIF file; ...".
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class ImageKind { kUnknown, kJpeg, kPng, kWebp, kTiff, kBmp, kNetpbm, kGif };

// By the first 12 bytes.
ImageKind image_kind(std::span<const std::byte> bytes);
// "JPEG", "WebP", ...
const char* name_of(ImageKind kind);

// What a file says of itself before its pixels.
struct ImageHeader {
  ImageKind kind = ImageKind::kUnknown;
  int height = 0, width = 0;
  int channels = 0;     // as stored, alpha included; the indexes of a palette are 1
  int bits = 0;         // of a channel
  int orientation = 1;  // 1..8 (EXIF tag 0x0112); decoding ignores it
};

// Needs the bytes up to the first scan (JPEG) or the first image data (PNG) and decodes no pixels. Throws ImageError
// where they are of another kind, damaged or end before that.
ImageHeader read_header(std::span<const std::byte> bytes);

// What a file may ask for before memory is taken.
struct DecodeLimits {
  std::int64_t pixels = 178'956'970;  // height times width; the number from which Pillow refuses: 2^29 / 3
  int scans = 500;                    // of a progressive JPEG: each passes over all pixels
};

// The pixels as RGB, 8 bits. EXIF orientation, color profiles and gamma are ignored, alpha is dropped, gray becomes three
// equal channels, of 16 bits the high byte is taken. Throws ImageError on a file of another kind, on one that is damaged or
// ends early (warnings of libjpeg are errors here), on gray PNG of 16 bits and on what is over a limit.
Image decode(std::span<const std::byte> bytes, const DecodeLimits& limits = {});

// Which PNG files hold values instead of colors.
enum class StoredValues { kGray, kGrayOrPalette };

// The values of a PNG file of one channel as they are stored, gray of 8 bits or fewer or the indexes of a palette, whatever its
// colors: 1 channel. Throws ImageError on another kind of file, on other PNG files than `which` says, on one that is damaged and on
// what is over a limit.
Image decode_values(std::span<const std::byte> bytes, StoredValues which, const DecodeLimits& limits = {});

// The same bytes as crop(decode(bytes, limits), part), with less work: of JPEG the rows and columns beside the part are not
// transformed, and nothing below it is read; of PNG nothing below it is inflated. Damage of what is not read goes unnoticed.
// Progressive JPEG is read to its end, and inks and interlaced PNG are decoded as a whole. Throws as decode(), and
// std::invalid_argument where the part leaves the image or has no pixels.
Image decode_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits = {});

}  // namespace locus::engine
