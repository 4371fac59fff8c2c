// Images with a mask of classes beside each.
#pragma once

#include <memory>

#include "engine/data/stored/format.h"
#include "engine/data/stored/listing.h"

namespace locus::engine {

struct MaskRules {
  std::int64_t classes = 0;
  int first = 0;  // value of class 0 in the files; values below it, and 255, are kIgnored
  StoredValues values = StoredValues::kGray;
};

// Samples are "image" and "mask" uint8 [H, W]. A mask of another size than its image and a value beyond the classes are errors that
// name the file; one without a labeled pixel is sound.
std::shared_ptr<const StoredFormat> mask_format(const MaskRules& rules);

// Puts beside each of `images`, which lie below the folder `images_below`, the PNG of the same name below `masks_below`. Images
// without one are left out as problems of the listing; masks without an image are passed over.
void list_masks(const std::filesystem::path& root, const std::string& images_below, const std::string& masks_below,
                Listing& listing, std::vector<ListedImage>& images);

}  // namespace locus::engine
