// Single operations on 8-bit images, Pillow's and torchvision's.
#include "engine/augmentation/crops.h"
#include "engine/augmentation/operations.h"
#include "engine/data/pixels.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

constexpr std::int64_t kFill = 128;

std::vector<std::uint8_t> fill_of(const Options& options, int channels) {
  std::vector<std::int64_t> values = options.integers("fill");
  if (values.size() == 1) values.resize(static_cast<std::size_t>(channels), values[0]);
  std::vector<std::uint8_t> out;
  for (const std::int64_t value : values) {
    if (value < 0 || value > 255) throw std::invalid_argument("fill is of 0..255, not " + std::to_string(value));
    out.push_back(static_cast<std::uint8_t>(value));
  }
  return out;
}

Component of(std::string_view library, const Operation& operation) {
  const std::string name(operation.name);
  Item item("operation", std::string(library) + "-" + name, 1, name + " as " + std::string(library) + " computes it");
  if (!operation.argument.empty()) item.option(Option::number("argument", 0.0, operation.argument));
  if (operation.geometric) {
    item.option(Option::text("interpolation", "bicubic", "between pixels").choices({"nearest", "bilinear", "bicubic"}));
    item.option(
        Option::list("fill", "integer", Json::array({kFill}), "outside the image: a value, or one for each channel")
            .min_items(1));
  }
  return {.item = std::move(item),
          .inputs = {{"image", "uint8 [C, H, W], C 1 or 3: the image"}},
          .draws = {},
          .outputs = {{"image", "uint8 [C, H, W]: the image after the operation"}},
          .run = [&operation](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Options& options = specification.options;
            const Image image = image_of(given.at("image"));
            Canvas canvas;
            if (operation.geometric) {
              canvas = {sampling_of(options.text("interpolation")), fill_of(options, image.channels)};
            }
            const double argument = operation.argument.empty() ? 0 : options.number("argument");
            return {{"image", tensor_of(operation.apply(image, argument, canvas))}};
          }};
}

}  // namespace

std::vector<Component> operation() {
  std::vector<Component> out;
  for (const Operation& one : pillow_operations()) out.push_back(of("pillow", one));
  for (const Operation& one : torchvision_operations()) out.push_back(of("torchvision", one));
  return out;
}

}  // namespace locus::engine::components
