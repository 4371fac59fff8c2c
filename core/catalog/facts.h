// Facts of a dataset that follow from others or from its options.
#pragma once

#include "core/catalog/catalog.h"

namespace locus {

// The dataset's facts, with what these options of it change in them (facts.variants, then options with a `fact`,
// docs/formats/catalog.md). Options that are absent have their defaults. Thread-safe.
Json dataset_facts(const CatalogItem& dataset, const Json& options);

// Images of a split ("train") by these facts; 0 where the catalog does not say. Cheap: nothing is copied. Thread-safe.
std::int64_t images_of_split(const CatalogItem& dataset, const Json& options, const std::string& split);
// How many stages a backbone has with these complete options (facts.stages); 1 where it does not say.
std::size_t backbone_stages(const CatalogItem& backbone, const Json& options);

// The shorter side of the dataset's images: what "resolution" is where nobody chose one. Null where it has no extent.
Json native_resolution(const CatalogItem& dataset);

// The longer side of the dataset's images at `resolution`, their aspect ratio kept and cut to whole pixels.
double longer_side(const CatalogItem& dataset, double resolution);

}  // namespace locus
