// Masks.
#include "engine/data/stored/masks.h"

#include <algorithm>
#include <set>

#include "engine/data/pixels.h"

namespace locus::engine {
namespace {

class MaskFormat final : public StoredFormat {
 public:
  explicit MaskFormat(const MaskRules& rules) : rules_(rules) {}

  std::string id() const override {
    return "mask " + std::to_string(rules_.classes) + " from " + std::to_string(rules_.first) +
           (rules_.values == StoredValues::kGray ? "" : " palette");
  }

  Sample targets(const StoredFiles& files, const ImageSize& size) const override {
    const FileBytes& file = files.beside.at(0);
    Image mask = naming_file<ImageError>(file.path, [&] { return decode_values(file.bytes, rules_.values); });
    if (ImageSize{mask.height, mask.width} != size) {
      throw DataError(file.path.string() + " has " + std::to_string(mask.height) + " x " + std::to_string(mask.width) +
                      " pixels and its image " + files.image.path.string() + " " + std::to_string(size.height) + " x " +
                      std::to_string(size.width));
    }
    for (std::uint8_t& value : mask.pixels) value = class_of(value, file);
    return {{kMask, tensor_of(mask).squeeze(0)}};
  }

  // The mask as it is decoded and as a tensor.
  std::int64_t bytes(const ImageSize& size) const override { return std::int64_t{2} * size.height * size.width; }

 private:
  std::uint8_t class_of(int value, const FileBytes& file) const {
    if (value < rules_.first || value == kIgnored) return kIgnored;
    if (value - rules_.first < rules_.classes) return static_cast<std::uint8_t>(value - rules_.first);
    throw DataError(file.path.string() + " has a pixel of the value " + std::to_string(value) + ", and the " +
                    std::to_string(rules_.classes) + " classes have the values " + std::to_string(rules_.first) +
                    " to " + std::to_string(rules_.first + rules_.classes - 1));
  }

  MaskRules rules_;
};

// "a/b.jpg" -> "a/b"
std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace

std::shared_ptr<const StoredFormat> mask_format(const MaskRules& rules) {
  if (rules.classes < 1 || rules.first < 0 || rules.first + rules.classes > kIgnored + 1) {
    throw std::invalid_argument(std::to_string(rules.classes) + " classes from the value " +
                                std::to_string(rules.first) + " on do not fit the values below 255 of a mask");
  }
  return std::make_shared<MaskFormat>(rules);
}

void list_masks(const std::filesystem::path& root, const std::string& images_below, const std::string& masks_below,
                Listing& listing, std::vector<ListedImage>& images) {
  std::vector<ListedImage> masks;
  list_images(root, masks_below, 0, NameOrder::kBytes, listing, masks);
  std::set<std::string> unused;
  for (const ListedImage& mask : masks) unused.insert(mask.name);
  std::vector<ListedImage> kept;
  std::set<std::string> stems;
  for (ListedImage& image : images) {
    const std::string stem = stem_of(image.name.substr(images_below.size()));
    const std::string mask = masks_below + stem + ".png";
    if (!stems.insert(stem).second) {
      listing.problems.add((root / image.name).string() + " has the name of another image but for its ending");
      continue;
    }
    if (!std::filesystem::exists(root / mask)) {
      listing.problems.add((root / image.name).string() + " has no mask: " + (root / mask).string() + " is missing");
      continue;
    }
    unused.erase(mask);
    image.beside = {mask};
    kept.push_back(std::move(image));
  }
  for (const std::string& mask : unused) listing.passed_over.add((root / mask).string() + " (a mask without an image)");
  images = std::move(kept);
}

}  // namespace locus::engine
