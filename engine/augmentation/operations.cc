// The two tables.
#include "engine/augmentation/operations.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/images/blur.h"
#include "engine/images/colors.h"
#include "engine/images/tensor_colors.h"
#include "engine/images/tensor_geometry.h"

namespace locus::engine {
namespace {

constexpr std::string_view kFactor = "factor; 1 leaves the image as it is";
constexpr std::string_view kPixels = "pixels";
constexpr std::string_view kDegrees = "degrees, counter-clockwise";
constexpr std::string_view kShear = "shift of a row or column in its distance from the edge";
constexpr std::string_view kBits = "high bits that are kept";
constexpr std::string_view kThreshold = "lowest value that is inverted";

constexpr Operation kPillow[] = {
    {"autocontrast", "", false, [](const Image& i, double, const Canvas&) { return pillow::autocontrast(i); }},
    {"brightness", kFactor, false, [](const Image& i, double f, const Canvas&) { return pillow::brightness(i, f); }},
    {"contrast", kFactor, false, [](const Image& i, double f, const Canvas&) { return pillow::contrast(i, f); }},
    {"equalize", "", false, [](const Image& i, double, const Canvas&) { return pillow::equalize(i); }},
    {"flip", "", false, [](const Image& i, double, const Canvas&) { return flipped(i); }},
    {"gaussian-blur", "standard deviation in pixels", false,
     [](const Image& i, double sigma, const Canvas&) { return pillow::gaussian_blur(i, sigma); }},
    {"grayscale", "", false, [](const Image& i, double, const Canvas&) { return pillow::grayscale(i); }},
    {"hue", "whole turns, -0.5..0.5", false, [](const Image& i, double t, const Canvas&) { return pillow::hue(i, t); }},
    {"invert", "", false, [](const Image& i, double, const Canvas&) { return pillow::invert(i); }},
    {"posterize", kBits, false,
     [](const Image& i, double bits, const Canvas&) { return pillow::posterize(i, static_cast<int>(bits)); }},
    {"rotate", kDegrees, true,
     [](const Image& i, double degrees, const Canvas& c) { return rotated(i, degrees, c.sampling, c.fill); }},
    {"saturation", kFactor, false, [](const Image& i, double f, const Canvas&) { return pillow::saturation(i, f); }},
    {"sharpness", kFactor, false, [](const Image& i, double f, const Canvas&) { return pillow::sharpness(i, f); }},
    {"shear-x", kShear, true,
     [](const Image& i, double f, const Canvas& c) { return affine(i, shear_x(f), c.sampling, c.fill); }},
    {"shear-y", kShear, true,
     [](const Image& i, double f, const Canvas& c) { return affine(i, shear_y(f), c.sampling, c.fill); }},
    {"solarize", kThreshold, false, [](const Image& i, double t, const Canvas&) { return pillow::solarize(i, t); }},
    {"solarize-add", "amount added to values below 128", false,
     [](const Image& i, double a, const Canvas&) { return pillow::solarize_add(i, static_cast<int>(a)); }},
    {"translate-x", kPixels, true,
     [](const Image& i, double p, const Canvas& c) { return affine(i, translation(p, 0), c.sampling, c.fill); }},
    {"translate-y", kPixels, true,
     [](const Image& i, double p, const Canvas& c) { return affine(i, translation(0, p), c.sampling, c.fill); }},
};

constexpr Operation kTorchvision[] = {
    {"autocontrast", "", false, [](const Image& i, double, const Canvas&) { return torchvision::autocontrast(i); }},
    {"brightness", kFactor, false,
     [](const Image& i, double f, const Canvas&) { return torchvision::brightness(i, f); }},
    {"contrast", kFactor, false, [](const Image& i, double f, const Canvas&) { return torchvision::contrast(i, f); }},
    {"equalize", "", false, [](const Image& i, double, const Canvas&) { return torchvision::equalize(i); }},
    {"identity", "", false, [](const Image& i, double, const Canvas&) { return i; }},
    {"invert", "", false, [](const Image& i, double, const Canvas&) { return torchvision::invert(i); }},
    {"posterize", kBits, false,
     [](const Image& i, double bits, const Canvas&) { return torchvision::posterize(i, static_cast<int>(bits)); }},
    {"rotate", kDegrees, false, [](const Image& i, double d, const Canvas&) { return torchvision::rotate(i, d); }},
    {"saturation", kFactor, false,
     [](const Image& i, double f, const Canvas&) { return torchvision::saturation(i, f); }},
    {"sharpness", kFactor, false, [](const Image& i, double f, const Canvas&) { return torchvision::sharpness(i, f); }},
    {"shear-x", kShear, false, [](const Image& i, double f, const Canvas&) { return torchvision::shear_x(i, f); }},
    {"shear-y", kShear, false, [](const Image& i, double f, const Canvas&) { return torchvision::shear_y(i, f); }},
    {"solarize", kThreshold, false,
     [](const Image& i, double t, const Canvas&) { return torchvision::solarize(i, t); }},
    {"translate-x", kPixels, false,
     [](const Image& i, double p, const Canvas&) { return torchvision::translate_x(i, p); }},
    {"translate-y", kPixels, false,
     [](const Image& i, double p, const Canvas&) { return torchvision::translate_y(i, p); }},
};

}  // namespace

std::span<const Operation> pillow_operations() { return kPillow; }
std::span<const Operation> torchvision_operations() { return kTorchvision; }

const Operation& operation_named(std::span<const Operation> operations, std::string_view name) {
  const auto found =
      std::find_if(operations.begin(), operations.end(), [&](const Operation& o) { return o.name == name; });
  if (found == operations.end()) throw std::invalid_argument("there is no operation '" + std::string(name) + "'");
  return *found;
}

}  // namespace locus::engine
