// Tells kinds of files apart, and what all of them share.
#include "engine/images/decode.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/images/formats.h"

namespace locus::engine {
namespace {

bool starts(std::span<const std::byte> bytes, std::string_view with, std::size_t at = 0) {
  return bytes.size() >= at + with.size() &&
         std::equal(with.begin(), with.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

[[noreturn]] void refuse_kind(ImageKind kind) {
  if (kind == ImageKind::kUnknown)
    throw ImageError("begins like no image that is known; JPEG and PNG are read: look whether it is an image at all");
  throw ImageError(std::string("is a ") + name_of(kind) + " file; JPEG and PNG are read: convert it to PNG");
}

}  // namespace

ImageKind image_kind(std::span<const std::byte> bytes) {
  using namespace std::string_view_literals;
  if (starts(bytes, "\xff\xd8\xff"sv)) return ImageKind::kJpeg;
  if (starts(bytes, "\x89PNG\r\n\x1a\n"sv)) return ImageKind::kPng;
  if (starts(bytes, "RIFF"sv) && starts(bytes, "WEBP"sv, 8)) return ImageKind::kWebp;
  if (starts(bytes, "II*\0"sv) || starts(bytes, "MM\0*"sv)) return ImageKind::kTiff;
  if (starts(bytes, "BM"sv)) return ImageKind::kBmp;
  if (starts(bytes, "GIF8"sv)) return ImageKind::kGif;
  if (bytes.size() > 2 && starts(bytes, "P"sv)) {
    const auto digit = static_cast<char>(bytes[1]), space = static_cast<char>(bytes[2]);
    if (digit >= '1' && digit <= '7' && "\t\n\r "sv.find(space) != std::string_view::npos) return ImageKind::kNetpbm;
  }
  return ImageKind::kUnknown;
}

const char* name_of(ImageKind kind) {
  switch (kind) {
    case ImageKind::kJpeg:
      return "JPEG";
    case ImageKind::kPng:
      return "PNG";
    case ImageKind::kWebp:
      return "WebP";
    case ImageKind::kTiff:
      return "TIFF";
    case ImageKind::kBmp:
      return "BMP";
    case ImageKind::kNetpbm:
      return "PPM or PGM";
    case ImageKind::kGif:
      return "GIF";
    case ImageKind::kUnknown:
      break;
  }
  return "unknown";
}

ImageHeader read_header(std::span<const std::byte> bytes) {
  const ImageKind kind = image_kind(bytes);
  if (kind == ImageKind::kJpeg) return read_jpeg_header(bytes);
  if (kind == ImageKind::kPng) return read_png_header(bytes);
  refuse_kind(kind);
}

Image decode(std::span<const std::byte> bytes, const DecodeLimits& limits) {
  const ImageKind kind = image_kind(bytes);
  if (kind == ImageKind::kJpeg) return decode_jpeg(bytes, limits);
  if (kind == ImageKind::kPng) return decode_png(bytes, limits);
  refuse_kind(kind);
}

Image decode_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits) {
  const ImageKind kind = image_kind(bytes);
  if (kind == ImageKind::kJpeg) return decode_jpeg_part(bytes, part, limits);
  if (kind == ImageKind::kPng) return decode_png_part(bytes, part, limits);
  refuse_kind(kind);
}

void check_pixels(std::int64_t height, std::int64_t width, const DecodeLimits& limits) {
  if (height <= limits.pixels / width) return;
  throw ImageError("says that it has " + std::to_string(height) + " x " + std::to_string(width) +
                   " pixels, and at most " + std::to_string(limits.pixels) +
                   " are decoded: shrink it if it is an image at all");
}

int exif_orientation(std::span<const std::byte> tiff) {
  const bool little = starts(tiff, "II");
  if (!little && !starts(tiff, "MM")) return 1;
  // `width` bytes at `at`; 0 beyond the end.
  const auto number = [&](std::size_t at, std::size_t width) {
    std::uint32_t value = 0;
    if (at > tiff.size() || tiff.size() - at < width) return value;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t place = at + (little ? width - 1 - i : i);
      value = value << 8 | static_cast<std::uint32_t>(tiff[place]);
    }
    return value;
  };
  constexpr std::uint32_t kOrientation = 0x0112, kEntry = 12;
  const std::size_t directory = number(4, 4);
  const std::uint32_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (entry >= tiff.size()) break;
    if (number(entry, 2) != kOrientation) continue;
    const std::uint32_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace locus::engine
