// Decoding a part gives the bytes that decoding the whole and cropping gives, whatever the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "engine/images/decode.h"
#include "engine/images/encode.h"
#include "tests/engine/images/files.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

// Parts at even and odd places, at every border and in every corner, single pixels, whole rows and columns, and all of it.
std::vector<Box> parts_of(const ImageSize& size) {
  std::vector<Box> out;
  const auto spans = [](int most) {
    std::set<std::array<int, 2>> pairs;  // first, count
    for (const int first : {0, 1, 15, 16, 33, most - 1}) {
      if (first < 0 || first >= most) continue;
      for (const int count : {1, 17, most - first}) {
        if (count <= most - first) pairs.insert({first, count});
      }
    }
    return pairs;
  };
  for (const auto& [top, height] : spans(size.height)) {
    for (const auto& [left, width] : spans(size.width)) out.push_back({top, left, height, width});
  }
  return out;
}

void expect_parts(std::span<const std::byte> file, const std::string& what) {
  const Image whole = decode(file);
  for (const Box& part : parts_of({whole.height, whole.width})) {
    ASSERT_EQ(decode_part(file, part), crop(whole, part))
        << what << ", " << whole.height << " x " << whole.width << ": " << part.height << " x " << part.width
        << " at row " << part.top << ", column " << part.left;
  }
}

constexpr ImageSize kSizes[] = {{1, 1}, {7, 5}, {40, 67}, {65, 48}};  // odd, below a block, whole blocks

class Sampling : public ::testing::TestWithParam<std::array<int, 2>> {};

TEST_P(Sampling, OfJpegChangesNoPixelOfAPart) {
  const auto [horizontal, vertical] = GetParam();
  for (const ImageSize& size : kSizes) {
    const Image image = pattern(size.height, size.width, 3);
    const JpegSettings plain{.horizontal = horizontal, .vertical = vertical};
    JpegSettings progressive = plain, separate = plain, marked = plain, arithmetic = plain;
    progressive.progressive = true;
    separate.separate = true;
    marked.restart = 3;
    arithmetic.arithmetic = true;
    expect_parts(jpeg_file(plain, image), "baseline");
    expect_parts(jpeg_file(progressive, image), "progressive");
    expect_parts(jpeg_file(separate, image), "a scan for each component");
    expect_parts(jpeg_file(marked, image), "restart markers");
    expect_parts(jpeg_file(arithmetic, image), "arithmetic coding");
  }
}

INSTANTIATE_TEST_SUITE_P(Factors, Sampling,
                         ::testing::Values(std::array{1, 1}, std::array{2, 1}, std::array{2, 2}, std::array{1, 2},
                                           std::array{4, 1}, std::array{1, 4}, std::array{4, 2}, std::array{3, 1}));

TEST(Parts, OfGrayJpegAreThoseOfTheWhole) {
  for (const ImageSize& size : kSizes) {
    const Image image = pattern(size.height, size.width, 3);
    expect_parts(jpeg_file({.gray = true}, image), "gray");
    expect_parts(jpeg_file({.gray = true, .progressive = true}, image), "gray, progressive");
    expect_parts(jpeg_file({.horizontal = 2, .vertical = 2, .gray = true}, image), "gray, sampled 2 x 2");
  }
}

TEST(Parts, OfInksAreThoseOfTheWhole) {
  expect_parts(jpeg_of_inks({10, 200, 30, 40}, /*ycck=*/false), "CMYK");
  expect_parts(jpeg_of_inks({10, 200, 30, 40}, /*ycck=*/true), "YCCK");
}

TEST(Parts, OfATurnedJpegLieInTheImageAsItIsStored) {
  const std::vector<std::byte> plain = encode_jpeg(pattern(30, 50, 3));
  const std::vector<std::byte> turned = with_orientation(plain, 6, /*little_endian=*/true);
  EXPECT_EQ(read_header(turned).orientation, 6);
  const Box part{3, 21, 20, 25};
  EXPECT_EQ(decode_part(turned, part), decode_part(plain, part)) << "decoding applies no orientation";
}

TEST(Parts, OfPngAreThoseOfTheWhole) {
  struct Kind {
    int color, bits, channels;
  };
  for (const Kind& kind : {Kind{kPngGray, 1, 1},
                           {kPngGray, 2, 1},
                           {kPngGray, 4, 1},
                           {kPngGray, 8, 1},
                           {kPngRgb, 8, 3},
                           {kPngRgb, 16, 3},
                           {kPngPalette, 2, 1},
                           {kPngPalette, 8, 1},
                           {kPngGrayAlpha, 8, 2},
                           {kPngGrayAlpha, 16, 2},
                           {kPngRgba, 8, 4},
                           {kPngRgba, 16, 4}}) {
    for (const bool interlaced : {false, true}) {
      const int height = 21, width = 37;
      const std::size_t row = (static_cast<std::size_t>(width * kind.channels * kind.bits) + 7) / 8;
      std::vector<std::uint8_t> rows(row * height);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * i / 7 + i % 13);
      const std::vector<std::byte> file = png_file(
          {.height = height, .width = width, .bits = kind.bits, .color = kind.color, .interlaced = interlaced}, rows);
      expect_parts(file, "color type " + std::to_string(kind.color) + " of " + std::to_string(kind.bits) + " bits" +
                             (interlaced ? ", interlaced" : ""));
    }
  }
}

TEST(Parts, OutsideOfTheImageAreRefused) {
  const Image image = pattern(20, 30, 3);
  for (const std::vector<std::byte>& file : {encode_jpeg(image), encode_png(image)}) {
    for (const Box& part :
         {Box{0, 0, 21, 30}, {0, 1, 20, 30}, {-1, 0, 5, 5}, {0, -1, 5, 5}, {0, 0, 0, 5}, {20, 0, 1, 1}})
      EXPECT_THROW(decode_part(file, part), std::invalid_argument);
  }
}

TEST(Parts, AreBoundByTheLimitsOfTheWhole) {
  const Image image = pattern(20, 30, 3);
  for (const std::vector<std::byte>& file : {encode_jpeg(image), encode_png(image)})
    EXPECT_THROW(decode_part(file, {0, 0, 2, 2}, {.pixels = 599}), ImageError);
  const auto progressive = jpeg_file({.progressive = true}, image);
  EXPECT_THROW(decode_part(progressive, {0, 0, 2, 2}, {.scans = 3}), ImageError);
}

TEST(Parts, OfATruncatedFileAreRefusedWhereTheirRowsAreMissing) {
  const Image image = pattern(160, 40, 3);
  for (const std::vector<std::byte>& file : {encode_jpeg(image), encode_png(image)}) {
    const std::span<const std::byte> half(file.data(), file.size() / 2);
    EXPECT_THROW(decode(half), ImageError);
    EXPECT_THROW(decode_part(half, {150, 0, 10, 10}), ImageError);
  }
  const std::vector<std::byte> file = encode_jpeg(image);
  EXPECT_EQ(decode_part({file.data(), file.size() / 2}, {2, 3, 10, 10}), crop(decode(file), {2, 3, 10, 10}))
      << "what is missing is not read";
}

TEST(Parts, OfOtherKindsAreRefusedAsTheWholeIs) {
  const std::vector<std::byte> gif = {std::byte{'G'}, std::byte{'I'}, std::byte{'F'}, std::byte{'8'}, std::byte{'9'}};
  try {
    decode_part(gif, {0, 0, 1, 1});
    FAIL() << "a GIF file was decoded";
  } catch (const ImageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is a GIF file"));
  }
}

}  // namespace
}  // namespace locus::engine
