// The table of datasets and the ones this process holds open.
#include "engine/data/dataset.h"

#include <algorithm>

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

Json dataset_facts(const Json& dataset) {
  const Json& item = dataset_item(dataset.at("id").get<std::string>()).item.json();
  const Options options(item, dataset.value("options", Json::object()));
  Json out = item.at("facts");
  const Json variants = out.value("variants", Json::array());
  for (const Json& variant : variants) {
    const Json& values = variant.at("when").at("values");
    const std::string chosen = options.text(variant.at("when").at("option").get<std::string>());
    if (std::find(values.begin(), values.end(), chosen) != values.end()) out.update(variant.at("facts"));
  }
  return out;
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
