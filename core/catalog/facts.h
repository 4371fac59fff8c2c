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
// Rows and columns of the dataset's images under these options of it; null where they vary or the catalog does not say.
// Thread-safe.
Json dataset_extent(const CatalogItem& dataset, const Json& options);

// Rows and columns that an item gives all images (facts.extent, {"option": NAME}: both are that option); null where it
// leaves them alone. Thread-safe.
Json given_extent(const CatalogItem& item, const Json& options);

// Of images of an extent, rows and columns: the shorter side, which is what "resolution" means where nobody chose one; null
// for what is no extent.
Json native_resolution(const Json& extent);

// The longer side at `resolution`, the aspect ratio of `extent` kept and cut to whole pixels.
double longer_side(const Json& extent, double resolution);

}  // namespace locus
