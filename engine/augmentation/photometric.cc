// Photometric distortion.
#include "engine/augmentation/photometric.h"

#include "engine/augmentation/draw.h"
#include "engine/images/opencv_colors.h"

namespace locus::engine {
namespace {

constexpr double kShift = 32;  // of brightness
constexpr double kFactorLeast = 0.5, kFactorMost = 1.5;
constexpr int kHueShift = 18, kHueTurn = 180;

bool happens(const SampleDraws& draws, std::string_view name) { return draws.unit(name) < 0.5; }

float factor_of(const SampleDraws& draws, std::string_view name) {
  return static_cast<float>(uniform_of(draws.unit(name), kFactorLeast, kFactorMost));
}

// Channel `channel` of the image in HSV through `value`, and back.
template <typename Value>
Image with_hsv(const Image& image, std::size_t channel, const Value& value) {
  Image hsv = opencv::hsv_of(image);
  for (std::size_t i = channel; i < hsv.pixels.size(); i += 3) hsv.pixels[i] = value(hsv.pixels[i]);
  return opencv::rgb_of(hsv);
}

}  // namespace

Image distorted(Image image, const SampleDraws& draws) {
  const auto contrast = [&] {
    if (happens(draws, "photo.contrast"))
      image = opencv::linear(image, factor_of(draws, "photo.contrast.factor"), /*shift=*/0);
  };
  if (happens(draws, "photo.brightness")) {
    const double shift = uniform_of(draws.unit("photo.brightness.shift"), -kShift, kShift);
    image = opencv::linear(image, /*factor=*/1, static_cast<float>(shift));
  }
  const bool early = happens(draws, "photo.mode");
  if (early) contrast();
  if (image.channels == 3 && happens(draws, "photo.saturation")) {
    const float factor = factor_of(draws, "photo.saturation.factor");
    image = with_hsv(image, 1, [&](std::uint8_t value) {
      return static_cast<std::uint8_t>(std::min(static_cast<float>(value) * factor, 255.0f));
    });
  }
  if (image.channels == 3 && happens(draws, "photo.hue")) {
    const auto shift = static_cast<int>(integer_of(draws.unit("photo.hue.shift"), -kHueShift, kHueShift - 1));
    image = with_hsv(
        image, 0, [&](std::uint8_t value) { return static_cast<std::uint8_t>((value + shift + kHueTurn) % kHueTurn); });
  }
  if (!early) contrast();
  return image;
}

}  // namespace locus::engine
