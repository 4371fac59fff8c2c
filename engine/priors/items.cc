// The list of priors.
#include "engine/priors/items.h"

#include <algorithm>

namespace locus::engine {
namespace priors {

Item prior_entry(std::string_view id, int revision, std::string_view summary, std::string_view paper,
                 std::string_view formula, std::vector<std::string> hooks, std::vector<int> ranks) {
  Item item("prior", id, revision, summary);
  Json tags = Json::array({kSpatialPrior});
  const auto in_softmax = [](const std::string& hook) {
    return hook == "bias" || hook == "scale" || hook.ends_with("probabilities");
  };
  const bool lines = std::find(ranks.begin(), ranks.end(), 1) != ranks.end();
  if (!lines && std::any_of(hooks.begin(), hooks.end(), in_softmax)) tags.push_back(kWholeGrid);
  item.set("paper", paper).set("formula", formula).set("hooks", std::move(hooks));
  item.set("provides", std::move(tags)).set("excludes", Json::array());
  item.set("layouts", {{"ranks", std::move(ranks)}}).set("requires", Json::array());
  return item;
}

Item& weigh(Item& item, const Weight& weight) {
  return item.set("cost", weight.cost)
      .facts({{"parameters", weight.parameters},
              {"costs", weight.counts},
              {"parameters_of_vit_b", weight.base},
              {"paths", weight.paths}});
}

Item& needs_whole_grid(Item& item) {
  Json tags = item.json().at("provides");
  tags.push_back(kWholeGrid);
  return item.set("provides", std::move(tags));
}

Item& takes_points(Item& item) {
  Json layouts = item.json().at("layouts");
  layouts["points"] = true;
  return item.set("layouts", std::move(layouts));
}

namespace {

Item& none_when(Item& item, std::string_view value, std::string_view option, std::vector<std::string> values,
                std::string_view help) {
  Json rules = item.json().at("requires");
  rules.push_back({{"rule", "none"},
                   {"value", value},
                   {"when", {{"option", option}, {"values", std::move(values)}}},
                   {"help", help}});
  return item.set("requires", std::move(rules));
}

}  // namespace

Item& on_rectangles_when(Item& item, std::string_view option, std::vector<std::string> values, std::string_view help) {
  return none_when(item, "third_axis", option, std::move(values), help);
}

Item& on_grids_when(Item& item, std::string_view option, std::vector<std::string> values, std::string_view help) {
  return none_when(item, "points", option, std::move(values), help);
}

Item& alone(Item& item, std::string_view tag) {
  for (const char* list : {"provides", "excludes"}) {
    Json tags = item.json().at(list);
    tags.push_back(tag);
    item.set(list, std::move(tags));
  }
  return item;
}

Item& along_axes_when(Item& item, std::string_view option, std::string_view value) {
  const Json when = {{"option", option}, {"values", Json::array({value})}};
  Json rules = item.json().at("requires");
  rules.push_back({{"rule", "none"},
                   {"value", "prefix"},
                   {"when", when},
                   {"help", "attention along the axes has no place for class and register tokens"}});
  rules.push_back({{"rule", "none"},
                   {"value", "windows"},
                   {"when", when},
                   {"help", "attention along the axes does not stay within windows"}});
  item.set("requires", std::move(rules));
  Json facts = item.json().at("facts");
  facts["costs"]["axial"] = std::string(option) + "." + std::string(value);
  item.facts(std::move(facts));
  return item.set("excludes_when", Json::array({{{"when", when},
                                                 {"excludes", Json::array({kWholeGrid})},
                                                 {"help", "attention along the axes sees lines"}}}));
}

Item& adds_probability(Item& item, const Json& when) {
  Json rule = {{"rule", "none"},
               {"value", "masked"},
               {"help", "what is added to probabilities would uncover pairs that shifted windows hide"}};
  if (!when.is_null()) rule["when"] = when;
  Json rules = item.json().at("requires");
  rules.push_back(std::move(rule));
  return item.set("requires", std::move(rules));
}

Item& makes_all_pairs(Item& item, std::string_view option, std::string_view value, std::string_view reason) {
  Json facts = item.json().at("facts");
  facts["all_pairs"].push_back({{"when", {{"option", option}, {"values", Json::array({value})}}}, {"reason", reason}});
  return item.facts(std::move(facts));
}

}  // namespace priors

Registry<PriorItem>& prior_registry() {
  static Registry<PriorItem> entries("prior", {
#define LOCUS_PRIOR(file) priors::file(),
#include "engine/priors/priors.def"
#undef LOCUS_PRIOR
                                              });
  return entries;
}

}  // namespace locus::engine
