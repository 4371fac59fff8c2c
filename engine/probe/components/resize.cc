// Resizing of images: Pillow's and that of tensors.
#include "engine/images/resize.h"

#include "engine/data/pixels.h"
#include "engine/data/resize.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Item sized(std::string_view id, std::string_view summary) {
  Item item("resize", id, 1, summary);
  item.option(Option::integer("height", 224, "rows afterwards").minimum(1));
  item.option(Option::integer("width", 224, "columns afterwards").minimum(1));
  return item;
}

std::vector<ComponentTensor> image_in() { return {{kImage, "uint8 [1 or 3, H, W]"}}; }
std::vector<ComponentTensor> image_out() { return {{kImage, "uint8 [1 or 3, height, width]"}}; }

Component pillow() {
  Item item = sized("pillow", "Image.resize of Pillow 9.5 to 12, to the byte; of the whole image or of a box of it");
  item.option(Option::text("filter", "bicubic", "the kernel")
                  .choices({"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}));
  item.option(Option::list("box", "integer", Json::array(), "top, left, height, width; nothing: the whole image"));
  const auto run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
    const Options& options = specification.options;
    const Image image = image_of(given.at(kImage));
    const std::vector<std::int64_t> box = options.integers("box");
    if (!box.empty() && box.size() != 4)
      throw std::invalid_argument("box has " + std::to_string(box.size()) + " numbers: top, left, height, width");
    const auto at = [&](std::size_t i) { return static_cast<int>(box[i]); };
    const Box part = box.empty() ? Box{0, 0, image.height, image.width} : Box{at(0), at(1), at(2), at(3)};
    return {{kImage, tensor_of(resize(image, part, static_cast<int>(options.integer("height")),
                                      static_cast<int>(options.integer("width")),
                                      filter_named(options.text("filter")).value()))}};
  };
  return {.item = std::move(item), .inputs = image_in(), .draws = {}, .outputs = image_out(), .run = run};
}

Component tensor() {
  Item item = sized("tensor", "Resizing of byte tensors with antialiasing, as torchvision does it");
  item.option(Option::text("interpolation", "bilinear", "the kernel").choices({"bilinear", "bicubic"}));
  const auto run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
    const Options& options = specification.options;
    const Extent extent{options.integer("height"), options.integer("width")};
    return {{kImage, resized_antialias(given.at(kImage), extent, options.text("interpolation"))}};
  };
  return {.item = std::move(item), .inputs = image_in(), .draws = {}, .outputs = image_out(), .run = run};
}

}  // namespace

std::vector<Component> resize() { return {pillow(), tensor()}; }

}  // namespace locus::engine::components
