// A part of ImageNet whose images lie in one folder, with a table of their classes.
#pragma once

#include "engine/data/stored/listing.h"

namespace locus::engine {

// The images in `root`/`place` by class, in each class by name, so in the order of the same part in folders. Their classes come from the first of
// these that is in `root` or `root`/`place`: ILSVRC2012_val_labels.json ({"FILE": "wnid"}), LOC_val_solution.csv (Kaggle: ImageId,PredictionString). Images of classes that `classes`
// lacks are left out. Throws DataError when there is no table, when it is damaged, or lacks one of the images.
std::vector<ListedImage> list_flat(const std::filesystem::path& root, const std::string& place,
                                   const std::vector<std::string>& classes, NameOrder order, Listing& listing);

}  // namespace locus::engine
