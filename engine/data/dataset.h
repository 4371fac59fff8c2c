// Labeled image sets: what the catalog says about them and their splits, resident as bytes.
#pragma once

#include <filesystem>

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/base/torch.h"

namespace locus::engine {

// Where dataset folders lie and where proofs of verification are kept (empty: nowhere).
struct DataPlace {
  std::filesystem::path root;
  std::filesystem::path cache;
};

struct ImageSplit {
  Tensor images;  // uint8 [N, C, H, W]
  Tensor labels;  // int64 [N]
  std::int64_t size() const { return images.size(0); }
};

// Normalized pixels are (pixel / 255 - mean) / deviation, by channel.
struct Normalization {
  std::vector<double> mean, deviation;
};

// One dataset version opened at one place. A split is read and verified when first asked for and kept after
// that. Thread-compatible.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // `name`: train, validation or test. Throws DataError when a file is not what the manifest says,
  // std::invalid_argument on another name.
  virtual const ImageSplit& split(std::string_view name) = 0;
  virtual const Normalization& normalization() const = 0;
};

struct DatasetItem {
  Item item;  // kind "dataset"; facts: digest, manifest, rank, channels, extent, classes, splits
  std::shared_ptr<Dataset> (*open)(const DataPlace& place, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<DatasetItem>& dataset_registry();  // first, every line of datasets.def
inline const std::deque<DatasetItem>& dataset_items() { return dataset_registry().all(); }
inline const DatasetItem& dataset_item(std::string_view id) { return dataset_registry().find(id); }

// The dataset at `place`, shared by all attempts of this process so that its files are read once. Not
// thread-safe.
std::shared_ptr<Dataset> open_dataset(std::string_view id, const Json& options, const DataPlace& place);

}  // namespace locus::engine
