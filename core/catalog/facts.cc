// Reads facts.variants and facts.extent.
#include "core/catalog/facts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace locus {
namespace {

// Shorter and longer.
std::optional<std::pair<std::int64_t, std::int64_t>> sides_of(const CatalogItem& dataset) {
  const auto extent = dataset.facts.find("extent");
  if (extent == dataset.facts.end() || !extent->is_array() || extent->empty()) return std::nullopt;
  for (const Json& side : *extent) {
    if (!side.is_number_integer() || side.get<std::int64_t>() <= 0) return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(extent->begin(), extent->end());
  return std::pair(least->get<std::int64_t>(), most->get<std::int64_t>());
}

Json chosen(const CatalogItem& item, const Json& options, const std::string& name) {
  if (options.contains(name)) return options[name];
  const auto found = std::find_if(item.options.begin(), item.options.end(),
                                  [&](const OptionSpec& option) { return option.name == name; });
  return found == item.options.end() ? Json() : found->default_value;
}

}  // namespace

Json dataset_facts(const CatalogItem& dataset, const Json& options) {
  Json out = dataset.facts;
  for (const Json& variant : dataset.facts.value("variants", Json::array())) {
    const Json when = variant.value("when", Json::object()), values = when.value("values", Json::array());
    const Json value = chosen(dataset, options, when.value("option", ""));
    if (std::find(values.begin(), values.end(), value) != values.end())
      out.update(variant.value("facts", Json::object()));
  }
  return out;
}

Json native_resolution(const CatalogItem& dataset) {
  const auto sides = sides_of(dataset);
  return sides ? Json(sides->first) : Json();
}

double longer_side(const CatalogItem& dataset, double resolution) {
  const auto sides = sides_of(dataset);
  if (!sides) return resolution;
  return std::floor(resolution * static_cast<double>(sides->second) / static_cast<double>(sides->first));
}

}  // namespace locus
