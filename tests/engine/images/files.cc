// By the libraries, without error handling of our own: what they are asked for is sound.
#include "tests/engine/images/files.h"

#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace locus::engine {
namespace {

void put(std::span<std::byte> bytes, std::size_t at, std::uint32_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> 8 * (width - 1 - i) & 255);
}

}  // namespace

std::vector<std::byte> png_file(const PngSettings& settings, std::span<const std::uint8_t> rows) {
  std::vector<std::byte> out;
  png_structp png = ::png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = ::png_create_info_struct(png);
  ::png_set_write_fn(
      png, &out,
      [](png_structp writer, png_bytep bytes, std::size_t count) {
        auto& to = *static_cast<std::vector<std::byte>*>(::png_get_io_ptr(writer));
        const auto* first = reinterpret_cast<const std::byte*>(bytes);
        to.insert(to.end(), first, first + count);
      },
      nullptr);
  ::png_set_IHDR(png, info, static_cast<png_uint_32>(settings.width), static_cast<png_uint_32>(settings.height),
                 settings.bits, settings.color, settings.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (settings.color == kPngPalette) {
    std::vector<png_color> palette;
    for (int i = 0; i < 1 << settings.bits; ++i)
      palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(255 - i), static_cast<png_byte>(7 * i)});
    ::png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  if (settings.transparent) {
    const png_color_16 color = {0, rows[0], rows[1], rows[2], 0};
    ::png_set_tRNS(png, info, nullptr, 0, &color);
  }
  ::png_write_info(png, info);
  const std::size_t bytes = ::png_get_rowbytes(png, info);
  std::vector<png_bytep> at;
  for (std::size_t y = 0; y < static_cast<std::size_t>(settings.height); ++y)
    at.push_back(const_cast<png_bytep>(rows.subspan(y * bytes, bytes).data()));
  ::png_write_image(png, at.data());
  ::png_write_end(png, info);
  ::png_destroy_write_struct(&png, &info);
  return out;
}

std::vector<std::byte> jpeg_file(const JpegSettings& settings, const Image& image) {
  jpeg_error_mgr errors;
  jpeg_compress_struct codec;
  codec.err = ::jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&codec, &bytes, &size);
  codec.image_width = static_cast<JDIMENSION>(image.width);
  codec.image_height = static_cast<JDIMENSION>(image.height);
  codec.input_components = 3;
  codec.in_color_space = JCS_RGB;
  ::jpeg_set_defaults(&codec);
  if (settings.gray) ::jpeg_set_colorspace(&codec, JCS_GRAYSCALE);
  ::jpeg_set_quality(&codec, 90, TRUE);
  codec.comp_info[0].h_samp_factor = settings.horizontal;
  codec.comp_info[0].v_samp_factor = settings.vertical;
  codec.arith_code = settings.arithmetic ? TRUE : FALSE;
  codec.restart_interval = static_cast<unsigned>(settings.restart);
  if (settings.progressive) ::jpeg_simple_progression(&codec);
  std::array<jpeg_scan_info, 3> scans = {};
  if (settings.separate) {
    for (std::size_t i = 0; i < scans.size(); ++i) {
      scans[i].comps_in_scan = 1;
      scans[i].component_index[0] = static_cast<int>(i);
      scans[i].Se = DCTSIZE2 - 1;
    }
    codec.scan_info = scans.data();
    codec.num_scans = settings.gray ? 1 : 3;
  }
  ::jpeg_start_compress(&codec, TRUE);
  for (int y = 0; y < image.height; ++y) {
    auto* row = const_cast<JSAMPLE*>(image.row(y));
    ::jpeg_write_scanlines(&codec, &row, 1);
  }
  ::jpeg_finish_compress(&codec);
  ::jpeg_destroy_compress(&codec);
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  std::vector<std::byte> out(first, first + size);
  std::free(bytes);
  return out;
}

std::vector<std::byte> jpeg_of_inks(const std::array<int, 4>& inks, bool ycck) {
  constexpr int kSide = 16;
  jpeg_error_mgr errors;
  jpeg_compress_struct codec;
  codec.err = ::jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ::jpeg_mem_dest(&codec, &bytes, &size);
  codec.image_width = codec.image_height = kSide;
  codec.input_components = 4;
  codec.in_color_space = JCS_CMYK;
  ::jpeg_set_defaults(&codec);
  ::jpeg_set_colorspace(&codec, ycck ? JCS_YCCK : JCS_CMYK);
  ::jpeg_set_quality(&codec, 100, TRUE);
  ::jpeg_start_compress(&codec, TRUE);
  std::vector<JSAMPLE> line;
  for (int x = 0; x < kSide; ++x) {
    for (const int ink : inks) line.push_back(static_cast<JSAMPLE>(255 - ink));
  }
  for (int y = 0; y < kSide; ++y) {
    JSAMPROW row = line.data();
    ::jpeg_write_scanlines(&codec, &row, 1);
  }
  ::jpeg_finish_compress(&codec);
  ::jpeg_destroy_compress(&codec);
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  std::vector<std::byte> out(first, first + size);
  std::free(bytes);
  return out;
}

std::vector<int> jpeg_sampling(std::span<const std::byte> file) {
  jpeg_error_mgr errors;
  jpeg_decompress_struct codec;
  codec.err = ::jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  ::jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  ::jpeg_read_header(&codec, TRUE);
  std::vector<int> out;
  for (int i = 0; i < codec.num_components; ++i) {
    out.push_back(codec.comp_info[i].h_samp_factor);
    out.push_back(codec.comp_info[i].v_samp_factor);
  }
  ::jpeg_destroy_decompress(&codec);
  return out;
}

std::vector<std::byte> with_orientation(std::span<const std::byte> jpeg, int orientation, bool little_endian) {
  std::vector<std::uint8_t> block = {0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0};
  const std::vector<std::uint8_t> big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
                                         3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0,    0,    0};
  const std::vector<std::uint8_t> little = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3,
                                            0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0,    0};
  block.insert(block.end(), little_endian ? little.begin() : big.begin(), little_endian ? little.end() : big.end());
  block[10 + 18 + (little_endian ? 0 : 1)] = static_cast<std::uint8_t>(orientation);
  std::vector<std::byte> out(jpeg.begin(), jpeg.begin() + 2);
  for (const std::uint8_t byte : block) out.push_back(static_cast<std::byte>(byte));
  out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
  return out;
}

std::vector<std::byte> with_jpeg_size(std::vector<std::byte> jpeg, int height, int width) {
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] != std::byte{0xff} || jpeg[i + 1] != std::byte{0xc0}) continue;  // start of a baseline frame
    put(jpeg, i + 5, static_cast<std::uint32_t>(height), 2);
    put(jpeg, i + 7, static_cast<std::uint32_t>(width), 2);
    return jpeg;
  }
  throw std::logic_error("no frame");
}

std::vector<std::byte> with_png_size(std::vector<std::byte> png, std::uint32_t height, std::uint32_t width) {
  put(png, 16, width, 4);
  put(png, 20, height, 4);
  const auto check = ::crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);  // type and data
  put(png, 29, static_cast<std::uint32_t>(check), 4);
  return png;
}

}  // namespace locus::engine
