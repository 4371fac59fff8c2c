// Decoding: files as the encoders write them, kinds that Pillow cannot write, and bad bytes.
#include "engine/images/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/images/encode.h"
#include "tests/engine/images/files.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(std::span<const std::byte> bytes, const DecodeLimits& limits = {}) {
  try {
    decode(bytes, limits);
  } catch (const ImageError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Encoding, PngKeepsEveryPixel) {
  const Image color = pattern(19, 23, 3);
  EXPECT_EQ(decode(encode_png(color)), color);
  const Image gray = pattern(19, 23, 1), decoded = decode(encode_png(gray));
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(decoded.pixels[3 * i + c], gray.pixels[i]);
  }
}

TEST(Encoding, JpegOfTheHighestQualityIsNearlyTheImage) {
  const Image gray = pattern(16, 24, 1), decoded = decode(encode_jpeg(gray, 100));
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) EXPECT_NEAR(decoded.pixels[3 * i], gray.pixels[i], 2);
}

TEST(Encoding, JpegHalvesChromaAndHasOneComponentForGray) {
  EXPECT_EQ(jpeg_sampling(encode_jpeg(pattern(9, 9, 3))), (std::vector<int>{2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(jpeg_sampling(encode_jpeg(pattern(9, 9, 1))).size(), 2u);
}

TEST(Encoding, AnImageIsTheSameBytesEveryTime) {
  const Image image = pattern(30, 31, 3);
  EXPECT_EQ(encode_jpeg(image), encode_jpeg(image));
  EXPECT_EQ(encode_png(image), encode_png(image));
}

TEST(Encoding, RefusesWhatIsNoImage) {
  EXPECT_THROW(encode_jpeg(pattern(2, 2, 3), 0), std::invalid_argument);
  EXPECT_THROW(encode_jpeg(pattern(2, 2, 3), 101), std::invalid_argument);
  EXPECT_THROW(encode_jpeg(Image{2, 2, 2, std::vector<std::uint8_t>(8)}), std::invalid_argument);
  EXPECT_THROW(encode_png(Image{2, 2, 3, std::vector<std::uint8_t>(11)}), std::invalid_argument);
  EXPECT_THROW(encode_png(Image{}), std::invalid_argument);
}

TEST(Decoding, AnInterlacedPngIsThePlainOne) {
  const Image image = pattern(21, 13, 3);
  EXPECT_EQ(decode(png_file({.height = 21, .width = 13, .color = kPngRgb, .interlaced = true}, image.pixels)), image);
}

TEST(Decoding, OfSixteenBitsTheHighByteIsTaken) {
  const Image image = pattern(5, 6, 3);
  std::vector<std::uint8_t> wide;
  for (const std::uint8_t pixel : image.pixels) wide.insert(wide.end(), {pixel, 0xff});  // rounding would add one
  EXPECT_EQ(decode(png_file({.height = 5, .width = 6, .bits = 16, .color = kPngRgb}, wide)), image);
}

TEST(Decoding, GrayOfSixteenBitsIsRefused) {
  const std::vector<std::uint8_t> rows(2 * 4 * 4, 1);
  const auto file = png_file({.height = 4, .width = 4, .bits = 16, .color = kPngGray}, rows);
  EXPECT_THAT(refusal_of(file), HasSubstr("gray PNG file of 16 bits"));
  EXPECT_EQ(read_header(file).bits, 16);
}

TEST(Decoding, ATransparentColorOfPngIsAColorLikeAnyOther) {
  const Image image = pattern(4, 4, 3);
  EXPECT_EQ(decode(png_file({.height = 4, .width = 4, .color = kPngRgb, .transparent = true}, image.pixels)), image);
}

TEST(Decoding, FewBitsOfGrayAreSpreadOverTheRange) {
  const std::vector<std::uint8_t> rows = {0b00011011};
  const Image image = decode(png_file({.height = 1, .width = 4, .bits = 2, .color = kPngGray}, rows));
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
}

// Inks C, M, Y, K of 0..255 as Adobe writes them: inverted.
TEST(Decoding, InksBecomeLightBlackFirst) {
  const auto muldiv = [](int a, int b) { return (a * b + 127) / 255; };
  for (const bool ycck : {false, true}) {
    for (const std::array<int, 4>& inks : {std::array<int, 4>{0, 0, 0, 0},
                                           {255, 0, 0, 0},
                                           {0, 128, 0, 0},
                                           {10, 20, 200, 0},
                                           {0, 0, 0, 255},
                                           {40, 80, 120, 100}}) {
      const Image image = decode(jpeg_of_inks(inks, ycck));
      for (std::size_t c = 0; c < 3; ++c) {
        const int light = 255 - inks[3], expected = std::max(0, light - muldiv(inks[c], light));
        EXPECT_NEAR(image.pixels[c], expected, ycck ? 3 : 2)
            << "inks " << ::testing::PrintToString(inks) << " channel " << c;
      }
    }
  }
}

TEST(Decoding, OrientationIsReadAndNotFollowed) {
  const std::vector<std::byte> plain = encode_jpeg(pattern(8, 16, 3));
  for (const bool little : {true, false}) {
    for (const int orientation : {1, 3, 6, 8}) {
      const std::vector<std::byte> turned = with_orientation(plain, orientation, little);
      EXPECT_EQ(read_header(turned).orientation, orientation);
      EXPECT_EQ(decode(turned), decode(plain));
    }
  }
  EXPECT_EQ(read_header(with_orientation(plain, 9, true)).orientation, 1) << "there is no ninth";
}

TEST(BadImages, NoBeginningOfAFileDecodes) {
  const Image image = pattern(17, 19, 3);
  for (const std::vector<std::byte>& file : {encode_jpeg(image), encode_png(image)}) {
    for (std::size_t length = 12; length < file.size(); ++length) {
      const std::string refusal = refusal_of(std::span(file).first(length));
      EXPECT_NE(refusal, "") << "the first " << length << " of " << file.size() << " bytes";
    }
  }
}

TEST(BadImages, ATruncatedFileIsSaidToBeTruncated) {
  for (const std::vector<std::byte>& file : {encode_jpeg(pattern(40, 40, 3)), encode_png(pattern(40, 40, 3))})
    EXPECT_THAT(refusal_of(std::span(file).first(file.size() / 2)), HasSubstr("it is truncated"));
}

TEST(BadImages, AHeaderIsReadFromTheBeginningAlone) {
  const std::vector<std::byte> jpeg = encode_jpeg(pattern(100, 90, 3)), png = encode_png(pattern(100, 90, 3));
  EXPECT_EQ(read_header(std::span(jpeg).first(jpeg.size() / 2)).height, 100);
  EXPECT_EQ(read_header(std::span(png).first(60)).width, 90);
  EXPECT_THROW(read_header(std::span(jpeg).first(20)), ImageError);
  EXPECT_THROW(read_header(std::span(png).first(20)), ImageError);
}

TEST(BadImages, EveryDamagedByteOfAPngIsNoticed) {
  const std::vector<std::byte> sound = encode_png(pattern(9, 9, 3));
  for (std::size_t i = 0; i < sound.size(); ++i) {
    std::vector<std::byte> damaged = sound;
    damaged[i] ^= std::byte{0xff};
    EXPECT_NE(refusal_of(damaged), "") << "byte " << i;
  }
}

TEST(BadImages, DamageThatLibjpegOnlyWarnsOfIsAnError) {
  std::vector<std::byte> file = encode_jpeg(pattern(64, 64, 3));
  file[file.size() / 2] = std::byte{0xff};  // a marker in the midst of the data
  file[file.size() / 2 + 1] = std::byte{0xd9};
  EXPECT_THAT(refusal_of(file), HasSubstr("damaged JPEG"));
}

TEST(BadImages, AHeaderThatAsksForTooManyPixelsTakesNoMemory) {
  const std::vector<std::byte> jpeg = with_jpeg_size(encode_jpeg(pattern(8, 8, 3)), 60000, 60000);
  const std::vector<std::byte> png = with_png_size(encode_png(pattern(8, 8, 3)), 2000000000, 2000000000);
  EXPECT_THAT(refusal_of(jpeg), HasSubstr("60000 x 60000 pixels, and at most 178956970"));
  EXPECT_THAT(refusal_of(png), HasSubstr("2000000000 x 2000000000 pixels"));
  EXPECT_EQ(read_header(jpeg).height, 60000);
  EXPECT_EQ(read_header(png).width, 2000000000);
}

TEST(BadImages, TheLimitIsTheProductOfTheSides) {
  const std::vector<std::byte> file = encode_png(pattern(8, 9, 3));
  EXPECT_EQ(refusal_of(file, {.pixels = 72}), "");
  EXPECT_THAT(refusal_of(file, {.pixels = 71}), HasSubstr("8 x 9 pixels, and at most 71"));
}

TEST(BadImages, ASizeOfZeroIsDamage) {
  EXPECT_THAT(refusal_of(with_png_size(encode_png(pattern(8, 8, 3)), 0, 8)), HasSubstr("damaged PNG"));
  EXPECT_THAT(refusal_of(with_jpeg_size(encode_jpeg(pattern(8, 8, 3)), 8, 0)), HasSubstr("damaged JPEG"));
}

TEST(BadImages, OtherKindsAreNamed) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string_view> kinds[] = {
      {"RIFF\x10\0\0\0WEBPVP8 "sv, "a WebP file"},  {"II*\0\x08\0\0\0\0\0\0\0"sv, "a TIFF file"},
      {"MM\0*\0\0\0\x08\0\0\0\0"sv, "a TIFF file"}, {"BM\x10\0\0\0\0\0\0\0\0\0"sv, "a BMP file"},
      {"P6\n8 8\n255\n000"sv, "a PPM or PGM file"}, {"GIF89a\x01\0\x01\0\0\0"sv, "a GIF file"},
      {"Photograph.."sv, "no image that is known"}, {""sv, "no image that is known"}};
  for (const auto& [beginning, name] : kinds) {
    EXPECT_THAT(refusal_of(bytes_of(beginning)), HasSubstr(name));
    EXPECT_THROW(read_header(bytes_of(beginning)), ImageError);
  }
}

TEST(BadImages, TheKindIsThatOfTheBytes) {
  EXPECT_EQ(image_kind(encode_png(pattern(2, 2, 3))), ImageKind::kPng);
  EXPECT_EQ(image_kind(encode_jpeg(pattern(2, 2, 3))), ImageKind::kJpeg);
}

}  // namespace
}  // namespace locus::engine
