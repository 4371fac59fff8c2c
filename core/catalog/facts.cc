// Reads facts.variants, the facts of options, and facts.extent.
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

bool holds(const CatalogItem& dataset, const Json& options, const Json& variant) {
  const Json when = variant.value("when", Json::object()), values = when.value("values", Json::array());
  const Json value = chosen(dataset, options, when.value("option", ""));
  return std::find(values.begin(), values.end(), value) != values.end();
}

void replace(Json& facts, std::string_view path, const Json& value) {
  Json* at = &facts;
  for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1))
    at = &(*at)[std::string(path.substr(0, dot))];
  (*at)[std::string(path)] = value;
}

std::int64_t count_in(const Json& facts, const std::string& split, std::int64_t otherwise) {
  const auto splits = facts.find("splits");
  return splits == facts.end() || !splits->is_object() ? otherwise : splits->value(split, otherwise);
}

}  // namespace

Json dataset_facts(const CatalogItem& dataset, const Json& options) {
  Json out = dataset.facts;
  for (const Json& variant : dataset.facts.value("variants", Json::array())) {
    if (holds(dataset, options, variant)) out.update(variant.value("facts", Json::object()));
  }
  for (const OptionSpec& option : dataset.options) {
    const Json value = option.fact.empty() ? Json() : chosen(dataset, options, option.name);
    if (!value.is_null()) replace(out, option.fact, value);
  }
  return out;
}

std::int64_t images_of_split(const CatalogItem& dataset, const Json& options, const std::string& split) {
  for (const OptionSpec& option : dataset.options) {
    if (option.fact != "splits." + split) continue;
    const Json value = chosen(dataset, options, option.name);
    if (value.is_number_integer()) return value.get<std::int64_t>();
  }
  std::int64_t out = count_in(dataset.facts, split, 0);
  if (const auto variants = dataset.facts.find("variants"); variants != dataset.facts.end()) {
    for (const Json& variant : *variants) {
      if (variant.contains("facts") && holds(dataset, options, variant)) out = count_in(variant["facts"], split, out);
    }
  }
  return out;
}

std::size_t backbone_stages(const CatalogItem& backbone, const Json& options) {
  const Json stages = backbone.facts.value("stages", Json());
  if (stages.is_number_integer()) return std::max<std::size_t>(stages.get<std::size_t>(), 1);
  if (!stages.is_object()) return 1;
  const Json list = options.value(stages.value("option", ""), Json());
  return list.is_array() ? std::max<std::size_t>(list.size(), 1) : 1;
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
