// Levels as arguments (timm/data/auto_augment.py).
#include "engine/augmentation/levels.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace locus::engine {
namespace {

using Scene = LevelScene;

constexpr double kHighest = 10;  // a level is a share of this

double signed_of(double value, const Scene& scene) { return scene.negative ? -value : value; }
double whole(double value) { return static_cast<double>(static_cast<std::int64_t>(value)); }

double none(double, const Scene&) { return 0; }
double rotate(double level, const Scene& s) { return signed_of(level / kHighest * 30, s); }
double shear(double level, const Scene& s) { return signed_of(level / kHighest * 0.3, s); }
double translate_columns(double level, const Scene& s) { return signed_of(level / kHighest * 0.45, s) * s.width; }
double translate_rows(double level, const Scene& s) { return signed_of(level / kHighest * 0.45, s) * s.height; }
double translate_pixels(double level, const Scene& s) {
  return signed_of(level / kHighest * whole(static_cast<double>(s.shorter) * 0.45), s);
}
double enhance(double level, const Scene&) { return level / kHighest * 1.8 + 0.1; }
double enhance_more(double level, const Scene& s) { return std::max(0.1, 1.0 + signed_of(level / kHighest * 0.9, s)); }
double posterize(double level, const Scene&) { return whole(level / kHighest * 4); }
double posterize_more(double level, const Scene& s) { return 4 - posterize(level, s); }
double posterize_original(double level, const Scene& s) { return 4 + posterize(level, s); }
double solarize(double level, const Scene&) { return std::min(256.0, whole(level / kHighest * 256)); }
double solarize_more(double level, const Scene& s) { return 256 - solarize(level, s); }
double solarize_add(double level, const Scene&) { return std::min(128.0, whole(level / kHighest * 110)); }

constexpr LeveledOperation kOperations[] = {
    {"AutoContrast", "autocontrast", none},
    {"Equalize", "equalize", none},
    {"Invert", "invert", none},
    {"Rotate", "rotate", rotate},
    {"Posterize", "posterize", posterize},
    {"PosterizeIncreasing", "posterize", posterize_more},
    {"PosterizeOriginal", "posterize", posterize_original},
    {"Solarize", "solarize", solarize},
    {"SolarizeIncreasing", "solarize", solarize_more},
    {"SolarizeAdd", "solarize-add", solarize_add},
    {"Color", "saturation", enhance},
    {"ColorIncreasing", "saturation", enhance_more},
    {"Contrast", "contrast", enhance},
    {"ContrastIncreasing", "contrast", enhance_more},
    {"Brightness", "brightness", enhance},
    {"BrightnessIncreasing", "brightness", enhance_more},
    {"Sharpness", "sharpness", enhance},
    {"SharpnessIncreasing", "sharpness", enhance_more},
    {"ShearX", "shear-x", shear},
    {"ShearY", "shear-y", shear},
    {"TranslateX", "translate-x", translate_pixels},
    {"TranslateY", "translate-y", translate_pixels},
    {"TranslateXRel", "translate-x", translate_columns},
    {"TranslateYRel", "translate-y", translate_rows},
};

constexpr std::string_view kPlain[] = {"AutoContrast", "Equalize",    "Invert", "Rotate",        "Posterize",
                                       "Solarize",     "SolarizeAdd", "Color",  "Contrast",      "Brightness",
                                       "Sharpness",    "ShearX",      "ShearY", "TranslateXRel", "TranslateYRel"};
constexpr std::string_view kIncreasing[] = {"AutoContrast",
                                            "Equalize",
                                            "Invert",
                                            "Rotate",
                                            "PosterizeIncreasing",
                                            "SolarizeIncreasing",
                                            "SolarizeAdd",
                                            "ColorIncreasing",
                                            "ContrastIncreasing",
                                            "BrightnessIncreasing",
                                            "SharpnessIncreasing",
                                            "ShearX",
                                            "ShearY",
                                            "TranslateXRel",
                                            "TranslateYRel"};

}  // namespace

std::span<const LeveledOperation> leveled_operations() { return kOperations; }

const LeveledOperation& leveled_operation(std::string_view name) {
  const auto found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                  [&](const LeveledOperation& operation) { return operation.name == name; });
  if (found == std::end(kOperations))
    throw std::invalid_argument("no policy has an operation '" + std::string(name) + "'");
  return *found;
}

std::span<const std::string_view> randaugment_operations(bool increasing) {
  if (increasing) return kIncreasing;
  return kPlain;
}

}  // namespace locus::engine
