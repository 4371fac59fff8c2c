// Reads facts.variants, the facts of options, and facts.extent.
#include "core/catalog/facts.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace locus {
namespace {

// Shorter and longer.
std::optional<std::pair<std::int64_t, std::int64_t>> sides_of(const Json& extent) {
  if (!extent.is_array() || extent.empty()) return std::nullopt;
  for (const Json& side : extent) {
    if (!side.is_number_integer() || side.get<std::int64_t>() <= 0) return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(extent.begin(), extent.end());
  return std::pair(least->get<std::int64_t>(), most->get<std::int64_t>());
}

Json chosen(const CatalogItem& item, const Json& options, const std::string& name) {
  if (options.contains(name)) return options[name];
  const auto found = std::find_if(item.options.begin(), item.options.end(),
                                  [&](const OptionSpec& option) { return option.name == name; });
  return found == item.options.end() ? Json() : found->default_value;
}

// Calls `take` with the facts of every variant that the options choose, in order.
template <typename Take>
void each_variant(const CatalogItem& dataset, const Json& options, Take take) {
  const auto variants = dataset.facts.find("variants");
  if (variants == dataset.facts.end() || !variants->is_array()) return;
  for (const Json& variant : *variants) {
    const Json when = variant.value("when", Json::object()), values = when.value("values", Json::array());
    const Json value = chosen(dataset, options, when.value("option", ""));
    if (std::find(values.begin(), values.end(), value) != values.end()) take(variant.value("facts", Json::object()));
  }
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
  each_variant(dataset, options, [&](const Json& facts) { out.update(facts); });
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
  each_variant(dataset, options, [&](const Json& facts) { out = count_in(facts, split, out); });
  return out;
}

std::size_t backbone_stages(const CatalogItem& backbone, const Json& options) {
  const Json stages = backbone.facts.value("stages", Json());
  if (stages.is_number_integer()) return std::max<std::size_t>(stages.get<std::size_t>(), 1);
  if (!stages.is_object()) return 1;
  const Json list = options.value(stages.value("option", ""), Json());
  return list.is_array() ? std::max<std::size_t>(list.size(), 1) : 1;
}

Json dataset_extent(const CatalogItem& dataset, const Json& options) {
  Json out = dataset.facts.value("extent", Json());
  each_variant(dataset, options, [&](const Json& facts) { out = facts.value("extent", out); });
  return sides_of(out) ? out : Json();
}

Json given_extent(const CatalogItem& item, const Json& options) {
  const auto extent = item.facts.find("extent");
  if (extent == item.facts.end() || !extent->is_object()) return Json();
  const Json side = chosen(item, options, extent->value("option", ""));
  return Json::array({side, side});
}

Json native_resolution(const Json& extent) {
  const auto sides = sides_of(extent);
  return sides ? Json(sides->first) : Json();
}

double longer_side(const Json& extent, double resolution) {
  const auto sides = sides_of(extent);
  if (!sides) return resolution;
  return std::floor(resolution * static_cast<double>(sides->second) / static_cast<double>(sides->first));
}

}  // namespace locus
