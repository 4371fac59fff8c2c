// The table of datasets and the ones this process holds open.
#include "engine/data/dataset.h"

namespace locus::engine {

namespace datasets {
#define LOCUS_DATASET(name) DatasetItem name();
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
}  // namespace datasets

const std::vector<DatasetItem>& dataset_items() {
  static const std::vector<DatasetItem> all = {
#define LOCUS_DATASET(name) datasets::name(),
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
  };
  return all;
}

const DatasetItem& dataset_item(std::string_view id) {
  for (const DatasetItem& item : dataset_items()) {
    if (item.id() == id) return item;
  }
  throw std::invalid_argument("no dataset '" + std::string(id) + "' in this build");
}

std::shared_ptr<Dataset> open_dataset(std::string_view id, const Json& options, const DataPlace& place) {
  static std::map<std::string, std::shared_ptr<Dataset>> held;
  const DatasetItem& item = dataset_item(id);
  const Options resolved(item.item.json(), options);
  auto& dataset = held[canonical_json({item.id(), resolved.json(), place.root.string()})];
  if (!dataset) dataset = item.open(place, resolved);
  return dataset;
}

}  // namespace locus::engine
