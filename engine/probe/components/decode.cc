// Image files to pixels.
#include "engine/images/decode.h"

#include "engine/data/pixels.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component image() {
  Item item("decode", "image", 1, "JPEG and PNG files to RGB, 8 bits, as Pillow converts them");
  item.option(Option::integer("pixels", DecodeLimits{}.pixels, "most pixels that are decoded").minimum(1));
  const auto run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
    const Tensor& file = given.at("file");
    if (file.dim() != 1 || file.scalar_type() != at::kByte)
      throw std::invalid_argument("the tensor 'file' is uint8 [n], the bytes of a file");
    const Tensor flat = file.contiguous();
    const auto bytes =
        std::as_bytes(std::span(flat.const_data_ptr<std::uint8_t>(), static_cast<std::size_t>(flat.numel())));
    try {
      const ImageHeader header = read_header(bytes);
      const std::vector<std::int64_t> numbers = {header.height, header.width, header.channels, header.bits,
                                                 header.orientation};
      return {{kImage, tensor_of(engine::decode(bytes, {.pixels = specification.options.integer("pixels")}))},
              {"header", at::tensor(numbers, at::kLong)}};
    } catch (const ImageError& error) {
      throw std::invalid_argument(std::string("the given file ") + error.what());
    }
  };
  return {.item = std::move(item),
          .inputs = {{"file", "uint8 [n]: the bytes of a file"}},
          .draws = {},
          .outputs = {{kImage, "uint8 [3, H, W]"},
                      {"header", "int64 [5]: height, width, channels as stored, bits, EXIF orientation"}},
          .run = run};
}

}  // namespace

std::vector<Component> decode() { return {image()}; }

}  // namespace locus::engine::components
