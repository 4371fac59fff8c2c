// A dataset of the MNIST family: IDX files for a training part, split by position, and a test part.
#pragma once

#include "engine/data/carved_dataset.h"
#include "engine/data/manifest.h"

namespace locus::engine {

struct IdxLayout {
  Manifest manifest;
  std::string train_images, train_labels, test_images, test_labels;  // names in the manifest
  CarvedSizes sizes;
  Extent extent{};
  std::int64_t classes = 0;
  Normalization normalization;
};

// Opens `place.root`/<dataset id>. Reads nothing yet.
std::shared_ptr<Dataset> open_idx_dataset(IdxLayout layout, const DataPlace& place);

}  // namespace locus::engine
