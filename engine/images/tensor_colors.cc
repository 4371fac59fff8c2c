// torchvision's float32 arithmetic on 8-bit values.
#include "engine/images/tensor_colors.h"

#include <algorithm>
#include <cmath>

#include "engine/images/histogram.h"

namespace locus::engine::torchvision {
namespace {

std::uint8_t cut(float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

float tensor_gray_of(const std::uint8_t* rgb) {
  const float red_green = 0.2989f * static_cast<float>(rgb[0]) + 0.587f * static_cast<float>(rgb[1]);
  return std::floor(red_green + 0.114f * static_cast<float>(rgb[2]));
}

struct Mix {
  float own, other;
  explicit Mix(double factor) : own(static_cast<float>(factor)), other(static_cast<float>(1.0 - factor)) {}
  std::uint8_t operator()(int value, float with) const { return cut(static_cast<float>(value) * own + with * other); }
};

float tensor_mean_gray(const Image& image) {
  const auto channels = static_cast<std::size_t>(image.channels);
  double sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += channels) {
    sum += channels == 1 ? image.pixels[i] : tensor_gray_of(&image.pixels[i]);
  }
  return static_cast<float>(sum / static_cast<double>(image.pixels.size() / channels));
}

}  // namespace

Image brightness(const Image& image, double factor) {
  const auto f = static_cast<float>(factor);
  return mapped(image, [&](int v) { return cut(static_cast<float>(v) * f); });
}

Image contrast(const Image& image, double factor) {
  const Mix mix(factor);
  const float mean = tensor_mean_gray(image);
  return mapped(image, [&](int v) { return mix(v, mean); });
}

Image saturation(const Image& image, double factor) {
  Image out = image;
  if (image.channels == 1) return out;
  const Mix mix(factor);
  for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
    const float gray = tensor_gray_of(&image.pixels[i]);
    for (std::size_t c = 0; c < 3; ++c) out.pixels[i + c] = mix(out.pixels[i + c], gray);
  }
  return out;
}

Image sharpness(const Image& image, double factor) {
  Image out = image;
  if (image.height <= 2 || image.width <= 2) return out;
  const Image smooth = smoothed(image);
  const auto f = static_cast<float>(1.0 - factor);
  for (int y = 1; y + 1 < image.height; ++y) {
    std::uint8_t* to = out.row(y);
    const std::uint8_t* soft = smooth.row(y);
    for (int i = image.channels; i < (image.width - 1) * image.channels; ++i) {
      to[i] = cut(static_cast<float>(to[i]) + static_cast<float>(soft[i] - to[i]) * f);
    }
  }
  return out;
}

Image autocontrast(const Image& image) {
  std::vector<Table> tables;
  for (const Histogram& histogram : histograms(image)) {
    const auto [lowest, highest] = used_range(histogram);
    Table table = identity_table();
    const float inverse = static_cast<float>(highest - lowest) * static_cast<float>(1.0 / 255);
    for (int v = 0; highest > lowest && v < 256; ++v) {
      table[static_cast<std::size_t>(v)] = cut(static_cast<float>(v - lowest) / inverse);
    }
    tables.push_back(table);
  }
  return mapped_by_channel(image, tables);
}

Image equalize(const Image& image) { return leveled(image); }

Image invert(const Image& image) {
  return mapped(image, [](int v) { return static_cast<std::uint8_t>(255 - v); });
}

Image solarize(const Image& image, double threshold) {
  const auto bound = static_cast<float>(threshold);
  return mapped(image, [&](int v) { return static_cast<std::uint8_t>(static_cast<float>(v) >= bound ? 255 - v : v); });
}

Image posterize(const Image& image, int bits) {
  if (bits >= 8) return image;
  const int kept = ((1 << std::max(bits, 0)) - 1) << (8 - std::max(bits, 0));
  return mapped(image, [&](int v) { return static_cast<std::uint8_t>(v & kept); });
}

}  // namespace locus::engine::torchvision
