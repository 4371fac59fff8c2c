// JPEG by libjpeg-turbo: slow integer DCT and fancy upsampling, which are its defaults and Pillow's. Warnings are errors:
// libjpeg goes on where a file is damaged and fills the rest with gray.
#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/images/encode.h"
#include "engine/images/formats.h"
#include "engine/images/guard.h"

namespace locus::engine {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMarkerMost = 0xffff;

// libjpeg's error manager with the way out. The manager comes first: libjpeg hands out its address.
struct JpegErrors {
  jpeg_error_mgr manager = {};
  Escape escape;
};

JpegErrors& errors_of(j_common_ptr codec) { return *reinterpret_cast<JpegErrors*>(codec->err); }

[[noreturn]] void leave(j_common_ptr codec) {
  JpegErrors& errors = errors_of(codec);
  static_assert(sizeof(Escape::message) >= JMSG_LENGTH_MAX);
  errors.manager.format_message(codec, errors.escape.message);
  std::longjmp(errors.escape.jump, 1);
}

[[noreturn]] void leave_saying(j_common_ptr codec, const char* message) {
  Escape& escape = errors_of(codec).escape;
  std::snprintf(escape.message, sizeof(escape.message), "%s", message);
  std::longjmp(escape.jump, 1);
}

void leave_on_warning(j_common_ptr codec, int level) {
  if (level < 0) leave(codec);
}

jpeg_error_mgr* set_up(JpegErrors& errors) {
  jpeg_error_mgr* manager = ::jpeg_std_error(&errors.manager);
  manager->error_exit = leave;
  manager->emit_message = leave_on_warning;
  manager->output_message = [](j_common_ptr) {};
  return manager;
}

// The whole file is in memory, so whoever asks for more is past its end.
boolean past_the_end(j_decompress_ptr codec) {
  leave_saying(reinterpret_cast<j_common_ptr>(codec), "it ends in the middle of its data: it is truncated");
}

void skip(j_decompress_ptr codec, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > codec->src->bytes_in_buffer) past_the_end(codec);
  codec->src->next_input_byte += count;
  codec->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

// libjpeg's decoder over bytes in memory, which must outlive it.
class JpegDecoder {
 public:
  JpegDecoder(std::span<const std::byte> bytes, int scans) {
    codec_.err = set_up(errors_);
    run([&] { jpeg_create_decompress(&codec_); });
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.bytes_in_buffer = bytes.size();
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = past_the_end;
    source_.skip_input_data = skip;
    source_.resync_to_restart = ::jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    codec_.src = &source_;
    progress_.manager.progress_monitor = check_scans;
    progress_.most = scans;
    codec_.progress = &progress_.manager;
  }
  ~JpegDecoder() { ::jpeg_destroy_decompress(&codec_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  jpeg_decompress_struct& codec() { return codec_; }

  template <typename Step>
  void run(const Step& step) {
    if (!ran(errors_.escape, step)) throw ImageError(std::string("is a damaged JPEG file: ") + errors_.escape.message);
  }

  void read_header() {
    run([this] { ::jpeg_read_header(&codec_, TRUE); });
  }

 private:
  struct Progress {
    jpeg_progress_mgr manager = {};
    int most = 0;
  };

  static void check_scans(j_common_ptr codec) {
    if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number <=
        reinterpret_cast<Progress*>(codec->progress)->most)
      return;
    leave_saying(codec, "it has more scans than any sound file");
  }

  JpegErrors errors_;
  jpeg_source_mgr source_ = {};
  Progress progress_;
  jpeg_decompress_struct codec_ = {};
};

std::uint8_t scaled(int a, int b) {  // a b / 255, rounded
  const int t = a * b + 128;
  return static_cast<std::uint8_t>(((t >> 8) + t) >> 8);
}

// Inks as Adobe writes them, inverted, to RGB; the way of Pillow: black first, the other inks within what it leaves.
void rgb_of_inks(const JSAMPLE* inks, int width, std::uint8_t* rgb) {
  for (int x = 0; x < width; ++x, inks += 4, rgb += 3) {
    const int left = inks[3];  // 255 less black, which is 255 less the byte
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(std::max(0, left - scaled(255 - inks[c], left)));
  }
}

// Whether libjpeg decodes a part of such an image as it decodes the whole. It does for every sampling of the luma over
// chroma that is sampled least; inks, and components sampled in other ways, are so rare that they are left out.
bool decodes_parts(const jpeg_decompress_struct& codec) {
  if (codec.num_components == 1) return true;
  const jpeg_component_info* components = codec.comp_info;
  return codec.num_components == 3 && std::all_of(components + 1, components + 3, [](const jpeg_component_info& one) {
           return one.h_samp_factor == 1 && one.v_samp_factor == 1;
         });
}

}  // namespace

ImageHeader read_jpeg_header(std::span<const std::byte> bytes) {
  JpegDecoder decoder(bytes, DecodeLimits{}.scans);
  jpeg_decompress_struct& codec = decoder.codec();
  decoder.run([&] { ::jpeg_save_markers(&codec, kExifMarker, kMarkerMost); });
  decoder.read_header();
  ImageHeader out{ImageKind::kJpeg, static_cast<int>(codec.image_height), static_cast<int>(codec.image_width),
                  codec.num_components, codec.data_precision};
  constexpr char kExif[] = {'E', 'x', 'i', 'f', '\0', '\0'};
  for (const jpeg_marker_struct* marker = codec.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->data_length < sizeof(kExif) || std::memcmp(marker->data, kExif, sizeof(kExif)) != 0) continue;
    out.orientation =
        exif_orientation(std::as_bytes(std::span(marker->data, marker->data_length)).subspan(sizeof(kExif)));
    break;
  }
  return out;
}

Image decode_jpeg(std::span<const std::byte> bytes, const DecodeLimits& limits) {
  JpegDecoder decoder(bytes, limits.scans);
  jpeg_decompress_struct& codec = decoder.codec();
  decoder.read_header();
  check_pixels(codec.image_height, codec.image_width, limits);
  const bool inks = codec.num_components == 4;
  codec.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  Image out = Image::blank(static_cast<int>(codec.image_height), static_cast<int>(codec.image_width), 3);
  std::vector<JSAMPLE> line(inks ? std::size_t{4} * codec.image_width : 0);
  decoder.run([&] {
    ::jpeg_start_decompress(&codec);
    while (codec.output_scanline < codec.output_height) {
      std::uint8_t* to = out.row(static_cast<int>(codec.output_scanline));
      JSAMPROW row = inks ? line.data() : to;
      ::jpeg_read_scanlines(&codec, &row, 1);
      if (inks) rgb_of_inks(row, out.width, to);
    }
    ::jpeg_finish_decompress(&codec);
  });
  return out;
}

Image decode_jpeg_part(std::span<const std::byte> bytes, const Box& part, const DecodeLimits& limits) {
  JpegDecoder decoder(bytes, limits.scans);
  jpeg_decompress_struct& codec = decoder.codec();
  decoder.read_header();
  check_pixels(codec.image_height, codec.image_width, limits);
  const ImageSize size{static_cast<int>(codec.image_height), static_cast<int>(codec.image_width)};
  check_box(size, part);
  if (part == Box{0, 0, size.height, size.width}) return decode_jpeg(bytes, limits);
  if (!decodes_parts(codec)) return crop(decode_jpeg(bytes, limits), part);
  codec.out_color_space = JCS_RGB;
  // Upsampling takes the outermost columns of what is decoded for those of the image, and smooths them otherwise: one block
  // more on each side keeps them out of the part. Rows that are skipped still serve the upsampling of the next one.
  const int block = DCTSIZE * codec.max_h_samp_factor;
  const int first = std::max(0, part.left - block), end = std::min(size.width, part.left + part.width + block);
  auto left = static_cast<JDIMENSION>(first), width = static_cast<JDIMENSION>(end - first);
  std::vector<JSAMPLE> line(std::size_t{3} * codec.image_width);
  Image out = Image::blank(part.height, part.width, 3);
  decoder.run([&] {
    ::jpeg_start_decompress(&codec);
    if (width < codec.output_width) ::jpeg_crop_scanline(&codec, &left, &width);  // begins at a whole block
    if (part.top > 0) ::jpeg_skip_scanlines(&codec, static_cast<JDIMENSION>(part.top));
    const std::size_t before = std::size_t{3} * (static_cast<JDIMENSION>(part.left) - left);
    JSAMPROW row = line.data();
    for (int y = 0; y < part.height; ++y) {
      ::jpeg_read_scanlines(&codec, &row, 1);
      std::copy_n(row + before, std::size_t{3} * static_cast<std::size_t>(part.width), out.row(y));
    }
  });
  return out;
}

namespace {

// libjpeg's encoder and the bytes that it made.
class JpegEncoder {
 public:
  JpegEncoder() {
    codec_.err = set_up(errors_);
    run([&] {
      jpeg_create_compress(&codec_);
      ::jpeg_mem_dest(&codec_, &bytes_, &size_);
    });
  }
  ~JpegEncoder() {
    ::jpeg_destroy_compress(&codec_);
    std::free(bytes_);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  jpeg_compress_struct& codec() { return codec_; }

  template <typename Step>
  void run(const Step& step) {
    if (!ran(errors_.escape, step)) throw std::invalid_argument(std::string("no JPEG file: ") + errors_.escape.message);
  }

  std::vector<std::byte> bytes() const {
    const auto* first = reinterpret_cast<const std::byte*>(bytes_);
    return {first, first + size_};
  }

 private:
  JpegErrors errors_;
  jpeg_compress_struct codec_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
  if (quality < 1 || quality > 100)
    throw std::invalid_argument("a JPEG file has a quality of 1 to 100, not " + std::to_string(quality));
  check_encodable(image);
  JpegEncoder encoder;
  jpeg_compress_struct& codec = encoder.codec();
  encoder.run([&] {
    codec.image_width = static_cast<JDIMENSION>(image.width);
    codec.image_height = static_cast<JDIMENSION>(image.height);
    codec.input_components = image.channels;
    codec.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    ::jpeg_set_defaults(&codec);  // chroma 4:2:0
    ::jpeg_set_quality(&codec, quality, TRUE);
    ::jpeg_start_compress(&codec, TRUE);
    while (codec.next_scanline < codec.image_height) {
      auto* row = const_cast<JSAMPLE*>(image.row(static_cast<int>(codec.next_scanline)));
      ::jpeg_write_scanlines(&codec, &row, 1);
    }
    ::jpeg_finish_compress(&codec);
  });
  return encoder.bytes();
}

}  // namespace locus::engine
