// What Pillow made of small images and files (testdata/pillow.json, written by testdata/pillow.py), to the byte.
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "engine/images/decode.h"
#include "engine/images/resize.h"
#include "tests/engine/images/pattern.h"

namespace locus::engine {
namespace {

const Json& recorded() {
  static const Json all = Json::parse(std::ifstream(LOCUS_SOURCE_ROOT "/tests/engine/images/testdata/pillow.json"));
  return all;
}

std::vector<std::byte> from_base64(const std::string& text) {
  std::vector<std::byte> out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    static const std::string kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t value = kLetters.find(letter);
    if (value == std::string::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<std::byte>(bits >> held & 255));
  }
  return out;
}

TEST(Pillow, ResizesToTheSameBytes) {
  ASSERT_FALSE(recorded().at("resize").empty());
  for (const Json& row : recorded().at("resize")) {
    const auto from = row.at("from").get<std::vector<int>>(), to = row.at("to").get<std::vector<int>>();
    const auto filter = filter_named(row.at("filter").get<std::string>());
    ASSERT_TRUE(filter) << row;
    EXPECT_EQ(digest_of(resize(pattern(from[0], from[1], from[2]), to[0], to[1], *filter)), row.at("sha256"))
        << row << " by Pillow " << recorded().at("pillow");
  }
}

TEST(Pillow, DecodesItsFilesToTheSameBytes) {
  ASSERT_FALSE(recorded().at("decode").empty());
  for (const Json& row : recorded().at("decode")) {
    const Image image = decode(from_base64(row.at("file")));
    EXPECT_EQ(image.height, row.at("height")) << row.at("name");
    EXPECT_EQ(image.width, row.at("width")) << row.at("name");
    EXPECT_EQ(image.channels, 3) << row.at("name");
    EXPECT_EQ(digest_of(image), row.at("sha256")) << row.at("name") << " by Pillow " << recorded().at("pillow");
  }
}

TEST(Pillow, HeadersSayWhatItsFilesHold) {
  for (const Json& row : recorded().at("decode")) {
    const ImageHeader header = read_header(from_base64(row.at("file")));
    EXPECT_EQ(header.height, row.at("height")) << row.at("name");
    EXPECT_EQ(header.width, row.at("width")) << row.at("name");
    const std::string name = row.at("name");
    EXPECT_EQ(header.kind, name.starts_with("jpeg") ? ImageKind::kJpeg : ImageKind::kPng) << name;
    EXPECT_EQ(header.orientation, 1) << name;
    if (name == "jpeg of inks" || name == "png with alpha") {
      EXPECT_EQ(header.channels, 4) << name;
    }
    if (name == "jpeg gray" || name == "png gray" || name == "png palette") {
      EXPECT_EQ(header.channels, 1) << name;
    }
    if (name == "png of one bit") {
      EXPECT_EQ(header.bits, 1);
    }
  }
}

TEST(Pillow, MoreScansThanAllowedAreRefused) {
  for (const Json& row : recorded().at("decode")) {
    if (row.at("name") != "jpeg progressive") continue;
    EXPECT_THROW(decode(from_base64(row.at("file")), {.scans = 2}), ImageError);
    return;
  }
  FAIL() << "there is no progressive file";
}

}  // namespace
}  // namespace locus::engine
