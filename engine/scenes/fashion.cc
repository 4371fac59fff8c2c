// Garments from IDX files.
#include "engine/scenes/fashion.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/base/torch.h"
#include "engine/data/idx.h"

namespace locus::engine::scenes {
namespace {

constexpr std::size_t kPixels = std::size_t{kGarmentSide} * kGarmentSide;

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const auto* first = tensor.const_data_ptr<std::uint8_t>();
  return {first, first + tensor.numel()};
}

Garments read(const std::filesystem::path& folder, const std::string& part, std::int64_t count) {
  return garments_of(bytes_of(read_idx(folder / (part + "-images-idx3-ubyte.gz"), {count, kGarmentSide, kGarmentSide})),
                     bytes_of(read_idx(folder / (part + "-labels-idx1-ubyte.gz"), {count})));
}

}  // namespace

Image Garments::image(std::int64_t row) const {
  Image out = Image::blank(kGarmentSide, kGarmentSide, 1);
  std::copy_n(pixels.begin() + row * static_cast<std::int64_t>(kPixels), kPixels, out.pixels.begin());
  return out;
}

Garments garments_of(std::vector<std::uint8_t> pixels, const std::vector<std::uint8_t>& kinds) {
  if (pixels.size() != kinds.size() * kPixels)
    throw std::invalid_argument("there are " + std::to_string(kinds.size()) + " kinds for " +
                                std::to_string(pixels.size()) + " bytes of garments");
  Garments out{std::move(pixels), std::vector<std::vector<std::int64_t>>(kKinds)};
  for (std::size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] >= kKinds)
      throw std::invalid_argument("garment " + std::to_string(row) + " is of kind " + std::to_string(kinds[row]) +
                                  ", and there are " + std::to_string(kKinds));
    out.of_kind[kinds[row]].push_back(static_cast<std::int64_t>(row));
  }
  for (std::size_t kind = 0; kind < out.of_kind.size(); ++kind) {
    if (out.of_kind[kind].empty()) throw std::invalid_argument("there is no garment of kind " + std::to_string(kind));
  }
  return out;
}

Wardrobe read_wardrobe(const std::filesystem::path& folder) {
  return {read(folder, "train", 60000), read(folder, "t10k", 10000)};
}

}  // namespace locus::engine::scenes
