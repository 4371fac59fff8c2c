// Puts every list of items into one document.
#include "engine/catalog/catalog.h"

#include <algorithm>

#include "engine/adapters/adapter.h"
#include "engine/augmentation/augmentation.h"
#include "engine/backbones/backbone.h"
#include "engine/data/dataset.h"
#include "engine/decoders/decoder.h"
#include "engine/inputs/input.h"
#include "engine/priors/prior.h"
#include "engine/stages/stages.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"
#include "engine/weights/init.h"

namespace locus::engine {
namespace {

template <typename Entries>
void add(Json& document, const Entries& entries) {
  for (const auto& entry : entries) document["items"].push_back(entry.item.json());
}

// Those of plugins behind the others, by plugin: the same text as where a server merges them.
void put_outside_last(Json& items) {
  const auto origin = [](const Json& item) {
    return item.contains("origin") ? item.at("origin").at("name").get<std::string>() : "";
  };
  std::stable_sort(items.begin(), items.end(), [&](const Json& a, const Json& b) { return origin(a) < origin(b); });
}

Json sections() {
  Json out = Json::array();
#define LOCUS_SECTION(key, kind, neutral, help) \
  out.push_back({{"key", #key}, {"kind", #kind}, {"neutral", neutral}, {"help", help}});
#include "engine/catalog/sections.def"
#undef LOCUS_SECTION
  return out;
}

}  // namespace

Json catalog_json() {
  Json document = {{"version", 1}, {"items", Json::array()}};
  if (Json further = sections(); !further.empty()) document["sections"] = std::move(further);
  add(document, prior_items());
  add(document, backbone_items());
  add(document, dataset_items());
  add(document, input_items());
  add(document, task_items());
  add(document, recipe_items());
  add(document, stage_items());
  add(document, augmentation_items());
  add(document, adapter_items());
  add(document, init_items());
  add(document, decoder_items());
  put_outside_last(document["items"]);
  return document;
}

}  // namespace locus::engine
