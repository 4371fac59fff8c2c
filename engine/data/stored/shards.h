// Datasets as tar archives in the layout of WebDataset: a sample is consecutive members of equal name up to the first
// dot, what follows the dot is the field.
#pragma once

#include "engine/data/stored/listing.h"

namespace locus::engine {

// The parts of `folder`: as its `_info.json` lists them (timm: splits, filenames, shard_lengths, num_samples), else by the beginnings of the
// names of its archives, "train-000.tar". Rows in the order of archives and members. The image is the field jpg, jpeg or png, the label the field `cls` in decimal digits or, where `label_key` is not empty, that
// integer of the field `json` (below 0: the sample is left out). Directories and members named __like this__ are passed over. Throws DataError naming the archive
// and member on a field that a sample has twice, a label that is none, a sample without image or label, and on counts other than _info.json's.
Listing list_shards(const std::filesystem::path& folder, const std::string& label_key);

}  // namespace locus::engine
