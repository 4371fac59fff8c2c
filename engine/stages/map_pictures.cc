// Panels, colors and a small font of digits.
#include "engine/stages/map_pictures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "engine/data/palette.h"
#include "engine/images/encode.h"
#include "engine/layers/resampling.h"
#include "engine/tasks/dense_scores.h"

namespace locus::engine {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

constexpr int kGap = 4, kBar = 10, kTextHeight = 7;
constexpr Rgb kPaper{255, 255, 255}, kInk{0, 0, 0}, kRight{205, 205, 205}, kWrong{200, 30, 30};

// Dark blue over green to yellow, even in lightness.
constexpr std::array<std::array<double, 3>, 5> kSpread = {
    {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

Rgb spread_color(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kSpread.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(place), kSpread.size() - 2);
  const double part = place - static_cast<double>(low);
  Rgb out{};
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = static_cast<std::uint8_t>(std::lround(kSpread[low][c] * (1 - part) + kSpread[low + 1][c] * part));
  return out;
}

// "#800000" -> 128, 0, 0
Rgb color_of(const std::string& text) {
  unsigned number = 0;
  const char* end = text.data() + text.size();
  const bool sound = text.size() == 7 && text[0] == '#';
  if (!sound || std::from_chars(text.data() + 1, end, number, 16).ptr != end)
    throw std::invalid_argument("the dataset's palette has '" + text + "'; colors are written as #800000");
  return {static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8 & 255),
          static_cast<std::uint8_t>(number & 255)};
}

std::string text_of(const Rgb& color) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", color[0], color[1], color[2]);
  return text;
}

void put(Image& image, int y, int x, const Rgb& color) { std::copy(color.begin(), color.end(), image.row(y) + 3 * x); }

void fill(Image& image, const Rgb& color) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) put(image, y, x, color);
  }
}

void place(Image& onto, const Image& part, int top, int left) {
  for (int y = 0; y < part.height; ++y)
    std::copy_n(part.row(y), std::size_t{3} * static_cast<std::size_t>(part.width), onto.row(top + y) + 3 * left);
}

// Three columns and five rows of bits, the upper left one highest.
int glyph(char c) {
  switch (c) {
    case '0':
      return 0b111101101101111;
    case '1':
      return 0b010110010010111;
    case '2':
      return 0b111001111100111;
    case '3':
      return 0b111001111001111;
    case '4':
      return 0b101101111001001;
    case '5':
      return 0b111100111001111;
    case '6':
      return 0b111100111101111;
    case '7':
      return 0b111001001001001;
    case '8':
      return 0b111101111101111;
    case '9':
      return 0b111101111001111;
    case '.':
      return 0b000000000000010;
    case 'm':
      return 0b000101111111101;
    default:
      return 0;
  }
}

int text_width(const std::string& text) { return 4 * static_cast<int>(text.size()); }

void write(Image& image, int top, int left, const std::string& text) {
  for (const char c : text) {
    const int bits = glyph(c);
    for (int i = 0; i < 15; ++i) {
      const int y = top + i / 3, x = left + i % 3;
      const bool inside = y >= 0 && x >= 0 && y < image.height && x < image.width;
      if (inside && (bits >> (14 - i) & 1) != 0) put(image, y, x, kInk);
    }
    left += 4;
  }
}

std::string meters(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f m", value);
  return text;
}

struct Range {
  double low = 0, high = 1;
};

// Of the numbers that are some.
Range range_of(const Tensor& map) {
  const Tensor known = map.masked_select(map.isfinite());
  if (known.numel() == 0) return {};
  Range out{known.min().item<double>(), known.max().item<double>()};
  if (out.high <= out.low) out.high = out.low + 1e-6;
  return out;
}

// What is no number is black.
Image of_numbers(const Tensor& map, const Range& range) {
  const auto number = map.accessor<double, 2>();
  Image out = Image::blank(static_cast<int>(map.size(0)), static_cast<int>(map.size(1)), 3);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const double value = number[y][x];
      if (std::isfinite(value)) put(out, y, x, spread_color((value - range.low) / (range.high - range.low)));
    }
  }
  return out;
}

// A bar of a panel's width with the numbers of its ends.
Image scale_bar(int width, const Range& range) {
  Image out = Image::blank(kBar + kTextHeight, width, 3);
  fill(out, kPaper);
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < kBar; ++y) put(out, y, x, spread_color(static_cast<double>(x) / std::max(width - 1, 1)));
  }
  const std::string low = meters(range.low), high = meters(range.high);
  write(out, kBar + 2, 0, low);
  if (text_width(low) + text_width(high) + 4 <= width) write(out, kBar + 2, width - text_width(high), high);
  return out;
}

Image side_by_side(const std::vector<Image>& panels, int below) {
  const int height = panels[0].height, width = panels[0].width, count = static_cast<int>(panels.size());
  Image out = Image::blank(height + below, count * width + (count - 1) * kGap, 3);
  fill(out, kPaper);
  for (int i = 0; i < count; ++i) place(out, panels[static_cast<std::size_t>(i)], 0, i * (width + kGap));
  return out;
}

std::string png_of(const Image& image) {
  const std::vector<std::byte> bytes = encode_png(image);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

MapPictures::MapPictures(const Json& facts, Normalization normalization) : normalization_(std::move(normalization)) {
  const Json palette = facts.value("palette", Json::array()), names = facts.value("class_names", Json::array());
  const auto classes = facts.value("classes", std::size_t{0});
  for (std::size_t c = 0; c < classes; ++c) {
    palette_.push_back(c < palette.size() ? color_of(palette[c].get<std::string>()) : class_color(static_cast<int>(c)));
    names_.push_back(c < names.size() ? names[c].get<std::string>() : std::to_string(c));
  }
}

Json MapPictures::legend() const {
  Json out = Json::array();
  for (std::size_t c = 0; c < palette_.size(); ++c)
    out.push_back({{"name", names_[c]}, {"color", text_of(palette_[c])}});
  return out;
}

Image MapPictures::of_classes(const Tensor& map) const {
  const auto number = map.accessor<std::uint8_t, 2>();
  Image out = Image::blank(static_cast<int>(map.size(0)), static_cast<int>(map.size(1)), 3);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const std::size_t c = number[y][x];
      if (c != kIgnored && c < palette_.size()) put(out, y, x, palette_[c]);
    }
  }
  return out;
}

// [C, rows, columns] normalized, at the extent of the target.
Image MapPictures::of_input(const Tensor& image, std::int64_t height, std::int64_t width) const {
  Tensor x = image.to(at::kCPU, at::kDouble);
  for (std::int64_t c = 0; c < std::min<std::int64_t>(x.size(0), std::ssize(normalization_.mean)); ++c)
    x[c].mul_(normalization_.deviation[static_cast<std::size_t>(c)])
        .add_(normalization_.mean[static_cast<std::size_t>(c)]);
  x = (255 * interpolated(x, {height, width}, Alignment::kHalfPixel)).round().clamp(0, 255);
  const Tensor rgb = (x.size(0) >= 3 ? x.slice(0, 0, 3) : x.slice(0, 0, 1).expand({3, -1, -1}))
                         .permute({1, 2, 0})
                         .to(at::kByte)
                         .contiguous();
  Image out = Image::blank(static_cast<int>(height), static_cast<int>(width), 3);
  std::copy_n(rgb.data_ptr<std::uint8_t>(), out.pixels.size(), out.pixels.begin());
  return out;
}

Image MapPictures::segmentation(const Image& input, const Tensor& said, const Tensor& mask) const {
  Image error = Image::blank(input.height, input.width, 3);
  const auto found = said.accessor<std::uint8_t, 2>(), truth = mask.accessor<std::uint8_t, 2>();
  for (int y = 0; y < error.height; ++y) {
    for (int x = 0; x < error.width; ++x) {
      if (truth[y][x] != kIgnored) put(error, y, x, found[y][x] == truth[y][x] ? kRight : kWrong);
    }
  }
  return side_by_side({input, of_classes(said), of_classes(mask), error}, 0);
}

Image MapPictures::depths(const Image& input, const Tensor& said, const Tensor& depth) {
  const Tensor fitted = aligned_depth(said, depth, 0);
  const Tensor truth = depth.to(at::kDouble).masked_fill(fitted.isnan(), std::nan(""));
  const Tensor error = (fitted - truth).abs();
  const Range own = range_of(truth), apart{0, std::max(range_of(error).high, 1e-6)};
  const std::vector<Image> panels = {input, of_numbers(fitted, own), of_numbers(truth, own), of_numbers(error, apart)};
  const int below = kGap + kBar + kTextHeight;
  Image out = side_by_side(panels, below);
  for (const int i : {1, 2, 3})
    place(out, scale_bar(input.width, i == 3 ? apart : own), input.height + kGap, i * (input.width + kGap));
  return out;
}

std::vector<std::string> MapPictures::draw(const Batch& batch, const Tensor& said) const {
  const bool classes = batch.contains(kMask);
  if (!classes && !batch.contains(kDepth))
    throw std::invalid_argument("pictures are of masks and depths, and the batch has neither");
  const Tensor target = batch.at(classes ? kMask : kDepth).to(at::kCPU), answer = said.to(at::kCPU);
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < target.size(0); ++i) {
    const Image input = of_input(batch.at(kImage)[i], target.size(1), target.size(2));
    out.push_back(png_of(classes ? segmentation(input, answer[i], target[i]) : depths(input, answer[i], target[i])));
  }
  return out;
}

void write_picture(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (!out) throw std::runtime_error("the picture " + path.string() + " cannot be written");
}

}  // namespace locus::engine
