// Pictures of priors: documents for the whole catalog, and PNG files that other programs can read.
#include "engine/probe/picture.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/engine/support/sources.h"

namespace locus::engine {
namespace {

Json picture(const std::string& prior, const Json& options = Json::object(), std::vector<std::int64_t> grid = {3, 4}) {
  const Host host({.specification = {{"model", {{"options", {{"dim", 32}, {"heads", 4}, {"patch", 2}}}}},
                                     {"priors", Json::array({{{"id", prior}, {"options", options}}})},
                                     {"channels", 1}},
                   .grid = std::move(grid),
                   .prefix = 0,
                   .layers = 2,
                   .path = "auto",
                   .seed = 0});
  return picture_of(host, 1, 0);
}

const Json& view(const Json& document, const std::string& id) {
  for (const Json& one : document.at("views")) {
    if (one.at("id") == id) return one;
  }
  throw std::out_of_range(id);
}

TEST(Picture, EveryPriorOfTheCatalogHasOne) {
  for (const PriorItem& item : prior_items()) {
    const Json document = picture(item.id());
    EXPECT_EQ(document.at("prior"), item.id());
    EXPECT_EQ(document.at("grid"), (Json{3, 4}));
    ASSERT_FALSE(document.at("views").empty()) << item.id();
    for (const Json& one : document.at("views")) {
      ASSERT_EQ(one.at("heads").size(), one.at("values").size()) << item.id();
      EXPECT_LE(one.at("low").get<double>(), one.at("high").get<double>()) << item.id();
      for (const Json& head : one.at("values")) {
        ASSERT_EQ(head.size(), 12u) << item.id();
        for (const Json& row : head) ASSERT_EQ(row.size(), 12u) << item.id();
      }
    }
  }
}

// Where two documents differ, numbers to the rounding of other machines; empty: nowhere.
std::string difference(const Json& a, const Json& b, const std::string& path) {
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= 2e-3 * std::max(std::abs(x), std::abs(y)) + 1e-4 ? "" : path;
  }
  if (a.type() != b.type() || a.size() != b.size()) return path;
  if (a.is_number() && b.is_number()) {  // four digits; processors may round the last, and what cancels, apart
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= 1.1e-3 * std::max(std::abs(x), std::abs(y)) + 1e-4 ? "" : path;
  }
  if (!a.is_structured()) return a == b ? "" : path;
  for (const auto& [key, value] : a.items()) {
    const bool there = a.is_array() || b.contains(key);
    const std::string inner = path + "/" + key;
    if (!there) return inner;
    const std::string found = difference(value, a.is_array() ? b[std::stoul(key)] : b.at(key), inner);
    if (!found.empty()) return found;
  }
  return "";
}

TEST(Picture, ThoseOfTheCatalogAreCommittedFreshAndSmall) {
  const auto folder = test::in_sources("engine/pictures");
  const char* advice = "Write them anew: <build>/bin/locus-trainer picture --all engine/pictures";
  std::set<std::string> wanted, there;
  std::uintmax_t bytes = 0;
  for (const PriorItem& item : prior_items()) wanted.insert(std::string(item.id()));
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << advice;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().extension(), ".json");
    there.insert(entry.path().stem().string());
    bytes += entry.file_size();
  }
  ASSERT_EQ(there, wanted) << advice;
  EXPECT_LT(bytes, 2'000'000u);
  for (const std::string& prior : wanted) {
    std::ifstream in(folder / (prior + ".json"));
    EXPECT_EQ(difference(catalog_picture(prior), Json::parse(in), ""), "") << prior << ". " << advice;
  }
}

TEST(Picture, AttentionRowsSumToOneAlsoAlongAxes) {
  for (const auto& [prior, options] : std::vector<std::pair<std::string, Json>>{
           {"none", Json::object()}, {"rope-axial", Json::object()}, {"manhattan-decay", {{"form", "decomposed"}}}}) {
    const Json document = picture(prior, options);
    for (const Json& head : view(document, "attention").at("values")) {
      for (const Json& row : head) {
        double sum = 0;
        for (const Json& value : row) sum += value.get<double>();
        EXPECT_NEAR(sum, 1, 1e-3) << prior;
      }
    }
  }
}

TEST(Picture, WithoutAPriorEqualPatchesAreAttendedToEqually) {
  const Json document = picture("none");
  for (const Json& head : view(document, "attention").at("values")) {
    for (const Json& row : head) {
      for (const Json& value : row) EXPECT_NEAR(value.get<double>(), 1.0 / 12, 1e-4);
    }
  }
  EXPECT_EQ(document.at("parameters_added"), 0);
}

TEST(Picture, BiasIsThePriorsOwnToFourDigits) {
  const Json document = picture("alibi-2d");
  const Json& bias = view(document, "bias").at("values");
  EXPECT_DOUBLE_EQ(bias[0][0][1].get<double>(), -0.25);
  EXPECT_DOUBLE_EQ(bias[0][0][5].get<double>(), -0.3536);  // a diagonal step
  EXPECT_EQ(view(document, "bias").at("scale"), "sequential");
  EXPECT_EQ(view(document, "bias").at("high"), 0.0);
}

TEST(Picture, HiddenPatchesAreNull) {
  const Json document = picture("lookhere", {{"groups", {"halves"}}});
  const Json& up = view(document, "bias").at("values")[0];
  EXPECT_TRUE(up[0][4].is_null()) << "the first head looks up";
  EXPECT_TRUE(up[4][0].is_number());
  EXPECT_GT(view(document, "bias").at("low").get<double>(), -1e6) << "hidden patches set no color";
}

TEST(Picture, CurvesAreVisitsOfEveryPatch) {
  const Json document = picture("violin");
  ASSERT_EQ(document.at("curves").size(), 8u);
  for (const Json& curve : document.at("curves")) {
    auto path = curve.at("path").get<std::vector<int>>();
    if (curve.at("name") == "snake") {
      EXPECT_EQ(path, (std::vector<int>{0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11}));
    }
    std::sort(path.begin(), path.end());
    for (int i = 0; i < 12; ++i) EXPECT_EQ(path.at(static_cast<std::size_t>(i)), i) << curve.at("name");
  }
}

TEST(Picture, CurvesHaveTheNamesThatThePriorGivesThem) {
  const auto names = [](const Json& options) {
    std::vector<std::string> out;
    const Json document = picture("violin", options);
    for (const Json& curve : document.at("curves")) out.push_back(curve.at("name"));
    return out;
  };
  EXPECT_EQ(names({{"curves", {"hilbert", "snake"}}}), (std::vector<std::string>{"hilbert", "snake"}));
  EXPECT_EQ(names({{"distance", "random"}}), std::vector<std::string>{"random"});
}

TEST(Picture, LikenessOfAStemEmbeddingIsOneWithItself) {
  const Json document = picture("sincos-2d");
  const Json& values = view(document, "likeness").at("values")[0];
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(values[i][i].get<double>(), 1, 1e-3);
  EXPECT_GT(values[0][1].get<double>(), values[0][3].get<double>());
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}

// Reads a PNG with zlib: checks every chunk, returns the rows with their filter bytes.
std::string decoded(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), std::string("\x89PNG\r\n\x1a\n", 8));
  std::string data;
  std::size_t at = 8;
  while (at < png.size()) {
    const std::uint32_t length = big_endian(png, at);
    const std::string body = png.substr(at + 4, 4 + length);
    EXPECT_EQ(big_endian(png, at + 8 + length),
              crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (body.starts_with("IDAT")) data += body.substr(4);
    at += 12 + length;
  }
  EXPECT_EQ(at, png.size());
  std::string out(10'000'000, '\0');
  auto size = static_cast<uLongf>(out.size());
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                       static_cast<uLong>(data.size())),
            Z_OK);
  out.resize(size);
  return out;
}

TEST(Png, AnotherReaderFindsThePixelsThatWereDrawn) {
  Drawing canvas(300, 200, {1, 2, 3});
  canvas.fill(10, 20, 5, 5, {200, 100, 50});
  canvas.line(0, 0, 299, 199, {9, 9, 9});
  canvas.fill(290, 190, 100, 100, {7, 7, 7});  // cut at the border
  const std::string png = canvas.png(), rows = decoded(png);
  EXPECT_EQ(big_endian(png, 16), 300u);
  EXPECT_EQ(big_endian(png, 20), 200u);
  EXPECT_LT(png.size(), 18'000u) << "a tenth of its pixels' bytes";
  ASSERT_EQ(rows.size(), 200u * (1 + 300 * 3));
  for (int y = 0; y < 200; ++y) {
    ASSERT_EQ(rows[static_cast<std::size_t>(y) * 901], 0);
    for (int x = 0; x < 300; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(static_cast<std::uint8_t>(
                      rows[static_cast<std::size_t>(y) * 901 + 1 + static_cast<std::size_t>(x) * 3 + c]),
                  canvas.at(x, y)[c]);
      }
    }
  }
  EXPECT_EQ(canvas.at(12, 22), (Color{200, 100, 50}));
  EXPECT_EQ(canvas.at(299, 199), (Color{7, 7, 7}));
  EXPECT_EQ(canvas.at(0, 0), (Color{9, 9, 9}));
  EXPECT_THROW(canvas.at(300, 0), std::out_of_range);
}

TEST(Png, LinesReachBothEnds) {
  for (const auto& [x0, y0, x1, y1] :
       std::vector<std::array<int, 4>>{{2, 3, 17, 3}, {5, 18, 5, 1}, {18, 17, 3, 2}, {1, 1, 1, 1}}) {
    Drawing canvas(20, 20, {0, 0, 0});
    canvas.line(x0, y0, x1, y1, {255, 0, 0});
    EXPECT_EQ(canvas.at(x0, y0)[0], 255);
    EXPECT_EQ(canvas.at(x1, y1)[0], 255);
  }
}

TEST(Drawing, ShowsARowForEachQueryAColumnForEachHeadAndTheCurves) {
  const Json document = picture("violin");
  const Drawing one = draw(document, "scale", {{0, 0}}), two = draw(document, "scale", {{0, 0}, {2, 3}});
  EXPECT_GT(two.height(), one.height());
  EXPECT_EQ(two.width(), one.width());
  const Drawing other = draw(document, "attention", {{0, 0}});
  EXPECT_NE(one.png(), other.png());
  EXPECT_THROW(draw(document, "aura", {{0, 0}}), std::invalid_argument);
  EXPECT_THROW(draw(document, "", {{3, 0}}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
