// The table of datasets and the ones this process holds open.
#include "engine/data/dataset.h"

#include <algorithm>

namespace locus::engine {

namespace datasets {
#define LOCUS_DATASET(name) DatasetItem name();
#define LOCUS_DATASETS(name) std::vector<DatasetItem> name();
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
#undef LOCUS_DATASETS
}  // namespace datasets

namespace {

Registry<DatasetItem> listed() {
  Registry<DatasetItem> out("dataset", {});
#define LOCUS_DATASET(name) out.add(datasets::name());
#define LOCUS_DATASETS(name) \
  for (DatasetItem & one : datasets::name()) out.add(std::move(one));
#include "engine/data/datasets.def"
#undef LOCUS_DATASET
#undef LOCUS_DATASETS
  return out;
}

// Puts `value` at "splits.train" of the facts.
void replace_fact(Json& facts, const std::string& path, const Json& value) {
  Json* at = &facts;
  std::size_t start = 0;
  for (std::size_t dot; (dot = path.find('.', start)) != std::string::npos; start = dot + 1)
    at = &(*at)[path.substr(start, dot - start)];
  (*at)[path.substr(start)] = value;
}

}  // namespace

Registry<DatasetItem>& dataset_registry() {
  static Registry<DatasetItem> entries = listed();
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
  for (const Json& option : item.at("options")) {
    const std::string name = option.at("name").get<std::string>();
    if (option.contains("fact") && options.json().contains(name))
      replace_fact(out, option.at("fact").get<std::string>(), options.json().at(name));
  }
  return out;
}

CopyReport Dataset::examine(const DataProgress&) {
  CopyReport out;
  for (const char* part : {"train", "validation", "test"}) out.images[part] = split(part)->size();
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
