// Datasets: what the catalog says about them, and their splits as sources of samples.
#pragma once

#include <filesystem>
#include <functional>

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/data/progress.h"
#include "engine/data/source.h"
#include "engine/data/transform.h"

namespace locus::engine {

// Where dataset folders lie and where proofs of verification are kept (empty: nowhere), and decoded images.
struct DataPlace {
  std::filesystem::path root;
  std::filesystem::path cache;
  std::int64_t decoded_bytes = 0;  // that decoded images may take in the cache; 0: none are kept
};

// What reading a whole copy through found.
struct CopyReport {
  std::string digest;                          // of its manifest, or of the catalog's where that lists the files
  std::int64_t classes = 0, bytes = 0;         // bytes: of all images as files; 0: not known
  std::map<std::string, std::int64_t> images;  // by part of the copy
  Json problems = Json::array();               // the first files that are no sound images, a sentence each
  std::int64_t problem_count = 0;
  Json passed_over = Json::array();  // the first files that nobody takes for images
  std::int64_t passed_over_count = 0;
  std::int64_t turned = 0;  // images with an EXIF orientation, which nobody applies
  std::string differs;      // from what the configuration says, with what to write instead; empty: nothing
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
  // Of the classes in their order, as the copy in use says them, after prepare(); empty where it does not, and the facts may.
  virtual std::vector<std::string> class_names() const { return {}; }

  // Reads what must be read before the first split, which may take an hour the first time and is remembered in the place's cache. Throws
  // as split(), and what `progress` throws. Nothing for data that is read as a whole.
  virtual void prepare(const DataProgress&) {}
  // What of the data was used, for the attempt's environment, after prepare(): {"manifest": "<sha256>"}; null where the catalog says it all.
  virtual Json used() const { return nullptr; }
  // Reads the whole copy through, whatever is remembered of it. Throws DataError when no copy can be made out.
  virtual CopyReport examine(const DataProgress& progress);
};

struct DatasetItem {
  Item item;  // kind "dataset"; facts: digest, manifest, rank, channels, extent, classes, splits
  std::function<std::shared_ptr<Dataset>(const DataPlace& place, const Options& options)> open;
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
