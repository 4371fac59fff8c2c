// Most operations are one table of 256 values for each channel.
#include "engine/images/colors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/images/histogram.h"
#include "engine/images/hsv.h"

namespace locus::engine::pillow {
namespace {

std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

// A value of the mix of `other` and the image at a factor that is neither 0 nor 1.
std::uint8_t mixed(int other, int own, float factor) {
  const float value = static_cast<float>(other) + factor * static_cast<float>(own - other);
  if (value <= 0) return 0;
  return value >= 255 ? 255 : static_cast<std::uint8_t>(value);
}

// Mixes with an image of one value.
Image mixed_with(const Image& image, int value, double factor) {
  const auto f = static_cast<float>(factor);
  if (f == 1) return image;
  return mapped(image, [&](int v) { return f == 0 ? static_cast<std::uint8_t>(value) : mixed(value, v, f); });
}

Image mixed_with(const Image& image, Image other, double factor) {
  const auto f = static_cast<float>(factor);
  if (f == 0) return other;
  if (f == 1) return image;
  for (std::size_t i = 0; i < other.pixels.size(); ++i) {
    other.pixels[i] = mixed(other.pixels[i], image.pixels[i], f);
  }
  return other;
}

int mean_gray(const Image& image) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t count = image.pixels.size() / channels;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += channels == 1 ? image.pixels[i] : gray_of(&image.pixels[i * channels]);
  }
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

}  // namespace

Image grayscale(const Image& image) {
  if (image.channels == 1) return image;
  Image out = Image::blank(image.height, image.width, image.channels);
  for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
    std::fill_n(&out.pixels[i], 3, gray_of(&image.pixels[i]));
  }
  return out;
}

Image brightness(const Image& image, double factor) { return mixed_with(image, 0, factor); }

Image contrast(const Image& image, double factor) { return mixed_with(image, mean_gray(image), factor); }

Image saturation(const Image& image, double factor) {
  return image.channels == 1 ? image : mixed_with(image, grayscale(image), factor);
}

Image sharpness(const Image& image, double factor) { return mixed_with(image, smoothed(image), factor); }

Image autocontrast(const Image& image) {
  std::vector<Table> tables;
  for (const Histogram& histogram : histograms(image)) {
    const auto [lowest, highest] = used_range(histogram);
    Table table = identity_table();
    if (highest > lowest) {
      const double scale = 255.0 / (highest - lowest), offset = -lowest * scale;
      for (int v = 0; v < 256; ++v) {
        const int value = static_cast<int>(v * scale + offset);
        table[static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
      }
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
  return mapped(image, [&](int v) { return static_cast<std::uint8_t>(v < threshold ? v : 255 - v); });
}

Image solarize_add(const Image& image, int amount) {
  return mapped(image, [&](int v) { return static_cast<std::uint8_t>(v < 128 ? std::clamp(v + amount, 0, 255) : v); });
}

Image posterize(const Image& image, int bits) {
  if (bits >= 8) return image;
  const int kept = bits <= 0 ? 0 : ~((1 << (8 - bits)) - 1);
  return mapped(image, [&](int v) { return static_cast<std::uint8_t>(v & kept); });
}

Image hue(const Image& image, double turn) {
  if (image.channels == 1) return image;
  const int steps = static_cast<int>(255 * turn);
  Image out = image;
  for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
    Pixel hsv = hsv_of({out.pixels[i], out.pixels[i + 1], out.pixels[i + 2]});
    hsv[0] = static_cast<std::uint8_t>(hsv[0] + steps);
    const Pixel rgb = rgb_of(hsv);
    std::copy_n(rgb.begin(), 3, &out.pixels[i]);
  }
  return out;
}

}  // namespace locus::engine::pillow
