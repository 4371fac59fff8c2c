// A dataset of image files that are read and decoded as they are needed.
#pragma once

#include "engine/data/carved_dataset.h"
#include "engine/data/stored/format.h"
#include "engine/data/stored/listing.h"

namespace locus::engine {

// Which images of the training part are the validation split, where a dataset has none.
enum class Holdout {
  kPermutation,  // the last ones of one fixed permutation, the same for every seed
  kFirst,        // the first ones of it
  kStride        // rows 0, s, 2 s, ..., s = rows / wanted, cut to a whole number
};

struct StoredLayout {
  std::string dataset;              // its id
  std::string folder;               // below DataPlace::root
  std::vector<std::string> places;  // paths that a copy has, below the folder: what a cheap look goes by
  std::string get;                  // how to get a copy: the end of a sentence
  // What is there; of the same parts whatever the options, so that the digest is one of the copy.
  std::function<Listing(const std::filesystem::path& folder)> list;
  // Of its files, for what is in the folder; empty: images with labels.
  std::function<std::shared_ptr<const StoredFormat>(const std::filesystem::path& folder)> format = {};
  bool labeled = true;  // images have labels, which tell how many classes there are where the listing has no names
  std::string train = "train", validation, test = "val";  // parts of the listing; validation empty: carved from `train`
  Holdout holdout = Holdout::kPermutation;
  std::optional<Extent> extent;  // of every image, where all have one

  // What the configuration says of the copy.
  CarvedSizes sizes;
  std::int64_t classes = 0;  // 0: not said, and so nothing is compared with labels
  std::string manifest;      // SHA-256; empty: not said
  bool skip = false;         // leave files out that are no sound images
  Json said;                 // the configuration's options, complete: what can be written instead
};

// Reads nothing yet. Its samples are "image" uint8 [3, H, W] of their own sizes and what the format makes of the files, "label" int64 [] unless it is
// another; sources open files when they are
// read and throw DataError naming the file when it is not what it was when the copy was read through. Normalization is that of ImageNet.
std::shared_ptr<Dataset> open_stored_dataset(StoredLayout layout, const DataPlace& place);

// Rows of a part of `rows` images for training and validation, each ascending. Throws std::invalid_argument unless 0 <= wanted < rows.
struct CarvedRows {
  std::vector<std::int64_t> train, validation;
};
CarvedRows carve(std::string_view dataset, std::int64_t rows, std::int64_t wanted, Holdout holdout);

}  // namespace locus::engine
