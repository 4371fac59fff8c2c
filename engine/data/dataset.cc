// The table of datasets and the ones this process holds open.
#include "engine/data/dataset.h"

namespace locus::engine {

namespace datasets {
#define LOCUS_DATASET(name) DatasetItem name();
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
}  // namespace datasets

Registry<DatasetItem>& dataset_registry() {
  static Registry<DatasetItem> entries("dataset", {
#define LOCUS_DATASET(name) datasets::name(),
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
                                                  });
  return entries;
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
