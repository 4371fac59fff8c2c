// PNG by libpng. Chunks that do not change pixels are not even inflated: text and profiles are where bombs hide.
#include <png.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "engine/images/encode.h"
#include "engine/images/formats.h"
#include "engine/images/guard.h"

namespace locus::engine {
namespace {

constexpr std::size_t kSignature = 8, kChunkHead = 8, kCheck = 4, kHeaderData = 13;
constexpr png_uint_32 kSideMost = 0x7fffffff;      // the format's own; the limit of pixels is ours
constexpr png_alloc_size_t kChunkMost = 8u << 20;  // bytes of a chunk other than image data
constexpr png_uint_32 kChunksMost = 1000;          // of those that libpng keeps

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

bool is_chunk(std::span<const std::byte> bytes, std::size_t at, const char* type) {
  return std::memcmp(bytes.data() + at + 4, type, 4) == 0;
}

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto* escape = static_cast<Escape*>(::png_get_error_ptr(png));
  std::snprintf(escape->message, sizeof(escape->message), "%s", message);
  std::longjmp(escape->jump, 1);
}

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* left = static_cast<std::span<const std::byte>*>(::png_get_io_ptr(png));
  if (count > left->size()) leave(png, "it ends in the middle of its data: it is truncated");
  std::memcpy(to, left->data(), count);
  *left = left->subspan(count);
}

class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::byte> bytes) : left_(bytes) {
    png_ = ::png_create_read_struct(PNG_LIBPNG_VER_STRING, &escape_, leave, [](png_structp, png_const_charp) {});
    if (png_ == nullptr) throw std::bad_alloc();
    info_ = ::png_create_info_struct(png_);
    if (info_ == nullptr) {
      ::png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngDecoder() { ::png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Throws where libpng's error handler is called within `step`.
  template <typename Step>
  void run(const Step& step) {
    if (!ran(escape_, step)) throw ImageError(std::string("is a damaged PNG file: ") + escape_.message);
  }

  void read_info() {
    run([this] {
      static constexpr png_byte kPassed[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0eXIf";
      ::png_set_read_fn(png_, &left_, read_bytes);
      ::png_set_user_limits(png_, kSideMost, kSideMost);
      ::png_set_chunk_malloc_max(png_, kChunkMost);
      ::png_set_chunk_cache_max(png_, kChunksMost);
      ::png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kPassed, sizeof(kPassed) / 5);
      ::png_read_info(png_, info_);
    });
  }

  // Asks for RGB, 8 bits; `passes` over the rows then give it.
  int ask_for_rgb() {
    int passes = 0;
    run([&] {
      ::png_set_palette_to_rgb(png_);
      ::png_set_expand_gray_1_2_4_to_8(png_);
      ::png_set_strip_16(png_);
      ::png_set_strip_alpha(png_);
      ::png_set_gray_to_rgb(png_);
      passes = ::png_set_interlace_handling(png_);
      ::png_read_update_info(png_, info_);
    });
    return passes;
  }

  // Asks for the values of one channel as they are stored, each a byte; `passes` over the rows then give it.
  int ask_for_values() {
    int passes = 0;
    run([&] {
      ::png_set_packing(png_);
      passes = ::png_set_interlace_handling(png_);
      ::png_read_update_info(png_, info_);
    });
    return passes;
  }

  png_structp png() { return png_; }
  png_infop info() { return info_; }

 private:
  Escape escape_;
  std::span<const std::byte> left_;  // of the file, not read yet
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

ImageHeader read_png_header(std::span<const std::byte> bytes) {
  constexpr const char* kShort = "is a damaged PNG file: it ends before its first image data: it is truncated";
  if (bytes.size() < kSignature + kChunkHead + kHeaderData) throw ImageError(kShort);
  if (!is_chunk(bytes, kSignature, "IHDR"))
    throw ImageError("is a damaged PNG file: it does not begin with its header");
  constexpr std::size_t kData = kSignature + kChunkHead;
  const std::uint32_t width = big_endian(bytes, kData), height = big_endian(bytes, kData + 4);
  if (width == 0 || height == 0 || width > kSideMost || height > kSideMost)
    throw ImageError("is a damaged PNG file: its header says " + std::to_string(height) + " x " +
                     std::to_string(width) + " pixels");
  constexpr std::array<int, 7> kChannels = {1, 0, 3, 1,
                                            2, 0, 4};  // by color type: gray, -, RGB, palette, gray and alpha, -, RGBA
  const auto color = static_cast<std::size_t>(bytes[kData + 9]);
  if (color >= kChannels.size() || kChannels[color] == 0)
    throw ImageError("is a damaged PNG file: it has the color type " + std::to_string(color) +
                     ", which PNG does not know");
  ImageHeader out{ImageKind::kPng, static_cast<int>(height), static_cast<int>(width), kChannels[color],
                  static_cast<int>(bytes[kData + 8])};
  for (std::size_t at = kSignature; bytes.size() - at >= kChunkHead;) {
    if (is_chunk(bytes, at, "IDAT")) return out;
    const std::size_t length = big_endian(bytes, at);
    if (length > bytes.size() - at - kChunkHead) break;
    if (is_chunk(bytes, at, "eXIf")) out.orientation = exif_orientation(bytes.subspan(at + kChunkHead, length));
    if (bytes.size() - at - kChunkHead - length < kCheck) break;
    at += kChunkHead + length + kCheck;
  }
  throw ImageError(kShort);
}

namespace {

// Ready to give rows of RGB, 8 bits: reads what precedes the pixels and returns the passes over them.
int begin(PngDecoder& decoder, const DecodeLimits& limits) {
  decoder.read_info();
  const png_uint_32 height = ::png_get_image_height(decoder.png(), decoder.info());
  const png_uint_32 width = ::png_get_image_width(decoder.png(), decoder.info());
  check_pixels(height, width, limits);
  if (::png_get_color_type(decoder.png(), decoder.info()) == PNG_COLOR_TYPE_GRAY &&
      ::png_get_bit_depth(decoder.png(), decoder.info()) == 16) {
    throw ImageError("is a gray PNG file of 16 bits, and libraries disagree about its pixels: convert it to 8 bits");
  }
  const int passes = decoder.ask_for_rgb();
  if (::png_get_rowbytes(decoder.png(), decoder.info()) != std::size_t{3} * width)
    throw std::logic_error("libpng gives no RGB of 8 bits");
  return passes;
}

ImageSize size_of(PngDecoder& decoder) {
  return {static_cast<int>(::png_get_image_height(decoder.png(), decoder.info())),
          static_cast<int>(::png_get_image_width(decoder.png(), decoder.info()))};
}

}  // namespace

Image decode_png(std::span<const std::byte> bytes, const DecodeLimits& limits) {
  PngDecoder decoder(bytes);
  const int passes = begin(decoder, limits);
  const ImageSize size = size_of(decoder);
  Image out = Image::blank(size.height, size.width, 3);
  decoder.run([&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < out.height; ++y) ::png_read_row(decoder.png(), out.row(y), nullptr);
    }
    ::png_read_end(decoder.png(), nullptr);
  });
  return out;
}

Image decode_values(std::span<const std::byte> bytes, StoredValues which, const DecodeLimits& limits) {
  const ImageKind kind = image_kind(bytes);
  if (kind != ImageKind::kPng)
    throw ImageError(std::string("is ") + (kind == ImageKind::kUnknown ? "of an unknown kind" : name_of(kind)) +
                     " where values of pixels lie in PNG files");
  PngDecoder decoder(bytes);
  decoder.read_info();
  const ImageSize size = size_of(decoder);
  check_pixels(size.height, size.width, limits);
  const int color = ::png_get_color_type(decoder.png(), decoder.info()),
            bits = ::png_get_bit_depth(decoder.png(), decoder.info());
  const bool palette = color == PNG_COLOR_TYPE_PALETTE;
  if ((color != PNG_COLOR_TYPE_GRAY && !palette) || bits > 8 || (palette && which == StoredValues::kGray)) {
    throw ImageError(std::string("is a PNG file of ") +
                     (palette                        ? "a palette"
                      : color == PNG_COLOR_TYPE_GRAY ? std::to_string(bits) + " bits"
                                                     : "several channels") +
                     ": values of pixels are one gray channel of 8 bits" +
                     (which == StoredValues::kGray ? "" : ", or the indexes of a palette"));
  }
  const int passes = decoder.ask_for_values();
  Image out = Image::blank(size.height, size.width, 1);
  decoder.run([&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < out.height; ++y) ::png_read_row(decoder.png(), out.row(y), nullptr);
    }
    ::png_read_end(decoder.png(), nullptr);
  });
  return out;
}

Image decode_png_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits) {
  PngDecoder decoder(bytes);
  const int passes = begin(decoder, limits);
  const ImageSize size = size_of(decoder);
  check_box(size, part);
  if (part == Box{0, 0, size.height, size.width}) return decode_png(bytes, limits);
  if (passes > 1) return crop(decode_png(bytes, limits), part);
  const std::size_t before = std::size_t{3} * static_cast<std::size_t>(part.left);
  std::vector<png_byte> line(std::size_t{3} * static_cast<std::size_t>(size.width));
  Image out = Image::blank(part.height, part.width, 3);
  decoder.run([&] {  // each row is predicted from the one above
    for (int y = 0; y < part.top + part.height; ++y) {
      ::png_read_row(decoder.png(), line.data(), nullptr);
      if (y < part.top) continue;
      std::copy_n(line.data() + before, std::size_t{3} * static_cast<std::size_t>(part.width), out.row(y - part.top));
    }
  });
  return out;
}

std::vector<std::byte> encode_png(const Image& image) {
  check_encodable(image);
  std::vector<std::byte> out;
  Escape escape;
  png_structp png =
      ::png_create_write_struct(PNG_LIBPNG_VER_STRING, &escape, leave, [](png_structp, png_const_charp) {});
  png_infop info = png == nullptr ? nullptr : ::png_create_info_struct(png);
  if (info == nullptr) {
    ::png_destroy_write_struct(&png, nullptr);
    throw std::bad_alloc();
  }
  const bool done = ran(escape, [&] {
    ::png_set_write_fn(
        png, &out,
        [](png_structp writer, png_bytep bytes, std::size_t count) {
          auto& to = *static_cast<std::vector<std::byte>*>(::png_get_io_ptr(writer));
          const auto* first = reinterpret_cast<const std::byte*>(bytes);
          to.insert(to.end(), first, first + count);
        },
        nullptr);
    ::png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
                   image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                   PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    ::png_write_info(png, info);
    for (int y = 0; y < image.height; ++y) ::png_write_row(png, image.row(y));
    ::png_write_end(png, info);
  });
  ::png_destroy_write_struct(&png, &info);
  if (!done) throw std::invalid_argument(std::string("no PNG file: ") + escape.message);
  return out;
}

}  // namespace locus::engine
