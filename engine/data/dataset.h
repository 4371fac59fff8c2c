// Datasets: what the catalog says about them, and their splits as sources of samples.
#pragma once

#include <filesystem>

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/data/source.h"
#include "engine/data/transform.h"

namespace locus::engine {

// Where dataset folders lie and where proofs of verification are kept (empty: nowhere).
struct DataPlace {
  std::filesystem::path root;
  std::filesystem::path cache;
};

// One dataset version opened at one place. A split is verified when first asked for and kept after that.
// Thread-compatible; the sources are thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // `name`: train, validation or test. Throws DataError when a file is not what the manifest says,
  // std::invalid_argument on another name.
  virtual std::shared_ptr<const Source> split(std::string_view name) = 0;
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

// The facts of a configuration's dataset, {"id", "options"}: the catalog's, with what the options change in them
// (docs/formats/catalog.md, variants). Throws std::invalid_argument on an unknown id or option.
Json dataset_facts(const Json& dataset);

// The dataset at `place`, shared by all attempts of this process so that its files are read once. Not
// thread-safe.
std::shared_ptr<Dataset> open_dataset(std::string_view id, const Json& options, const DataPlace& place);

}  // namespace locus::engine
