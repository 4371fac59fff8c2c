// The operations that policies are made of, each under its name: Pillow's and those of torchvision on tensors.
#pragma once

#include <span>
#include <string_view>

#include "engine/images/geometry.h"

namespace locus::engine {

// What geometric operations of Pillow put between pixels and outside the image.
struct Canvas {
  Sampling sampling = Sampling::kBicubic;
  std::vector<std::uint8_t> fill = {};  // a value for each channel
};

struct Operation {
  std::string_view name;      // "shear-x"
  std::string_view argument;  // its meaning and unit; empty where there is none
  bool geometric = false;     // reads the canvas
  Image (*apply)(const Image& image, double argument, const Canvas& canvas);  // thread-safe; a new image
};

std::span<const Operation> pillow_operations();
std::span<const Operation> torchvision_operations();  // nearest pixels, 0 outside, whatever the canvas
// Throws std::invalid_argument when there is none.
const Operation& operation_named(std::span<const Operation> operations, std::string_view name);

}  // namespace locus::engine
