// What items of the catalog refuse by formulas (docs/formats/catalog.md, refuses), so that what the engine would not build is
// refused when it is submitted.
#pragma once

#include "core/experiment/plan/formulas.h"
#include "core/experiment/plan/resolver.h"

namespace locus {

// The model's formulas over its options and the images' height, width and channels. Refers to both.
Formulas formulas_of(const ResolvedSection& model, const ModelImages& images);

// CONSTRAINT_VIOLATED, in the item's own words, where its options (complete) are refused beside the model and its images. A
// formula that cannot be computed refuses nothing. `field`: of the specification, what holds the item's options.
absl::Status check_refusals(const CatalogItem& item, const Json& options, const ResolvedSection& model,
                            const ModelImages& images, const std::string& field);
// The same in every stage that the prior acts in.
absl::Status check_refusals(const ResolvedPrior& prior, const ResolvedSection& model, const ModelImages& images);

}  // namespace locus
