// Puts every list of items into one document.
#include "engine/catalog/catalog.h"

#include <set>

#include "engine/backbones/backbone.h"
#include "engine/data/dataset.h"
#include "engine/priors/prior.h"
#include "engine/stages/stages.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

namespace locus::engine {
namespace {

class Document {
 public:
  template <typename Items>
  void add(const Items& items) {
    for (const auto& item : items) add_entry(item.item.json());
  }
  Json json() const { return {{"version", 1}, {"items", entries_}}; }

 private:
  void add_entry(const Json& entry) {
    const auto kind = entry.at("kind").get<std::string>();
    claim(kind, entry.at("id").get<std::string>());
    for (const Json& alias : entry.at("aliases")) claim(kind, alias.get<std::string>());
    entries_.push_back(entry);
  }
  void claim(const std::string& kind, const std::string& name) {
    if (!names_.emplace(kind, name).second)
      throw std::logic_error("two entries of kind " + kind + " are called '" + name + "'");
  }

  Json entries_ = Json::array();
  std::set<std::pair<std::string, std::string>> names_;
};

}  // namespace

Json catalog_json() {
  Document document;
  document.add(prior_items());
  document.add(backbone_items());
  document.add(dataset_items());
  document.add(task_items());
  document.add(recipe_items());
  document.add(stage_items());
  return document.json();
}

}  // namespace locus::engine
