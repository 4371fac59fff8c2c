// Crops and the sizes before them.
#include "engine/images/crop.h"

#include "engine/data/pixels.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component center() {
  Item item("crop", "center", 1,
            "The middle of an image, padded with zeros where it is smaller: torchvision's CenterCrop");
  item.option(Option::integer("height", 224, "rows afterwards").minimum(1));
  item.option(Option::integer("width", 224, "columns afterwards").minimum(1));
  const auto run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
    const Options& options = specification.options;
    return {{kImage, tensor_of(center_crop(image_of(given.at(kImage)), static_cast<int>(options.integer("height")),
                                           static_cast<int>(options.integer("width"))))}};
  };
  return {.item = std::move(item),
          .inputs = {{kImage, "uint8 [1 or 3, H, W]"}},
          .draws = {},
          .outputs = {{kImage, "uint8 [1 or 3, height, width]"}},
          .run = run};
}

}  // namespace

std::vector<Component> crop() { return {center()}; }

}  // namespace locus::engine::components
