// A dataset of the CIFAR family, binary version: fixed records of label bytes and three planes of 32 x 32 pixels.
#pragma once

#include "engine/data/carved_dataset.h"
#include "engine/data/manifest.h"

namespace locus::engine {

struct CifarLayout {
  Manifest manifest;
  std::vector<std::string> train_files, test_files;  // names in the manifest, in the order of rows
  CarvedSizes sizes;
  std::vector<std::int64_t> label_classes;  // of each label byte before the pixels, how many classes it tells apart
  std::size_t label = 0;                    // which of these bytes is the label
  Normalization normalization;
  std::string refused;  // folder of a version that is not read, for the message where files are missing
};

// Extent of every image of the family, and its channels.
inline constexpr Extent kCifarExtent{32, 32};
inline constexpr std::int64_t kCifarChannels = 3;

// Opens `place.root`/<dataset id>. Reads nothing yet. Beside sizes, every label must be one of its classes, and every
// class must have as many images of the training part as any other, and of the test part.
std::shared_ptr<Dataset> open_cifar_dataset(CifarLayout layout, const DataPlace& place);

// Bytes of `records` records with `labels` label bytes each.
std::int64_t cifar_bytes(std::int64_t records, std::int64_t labels);

}  // namespace locus::engine
