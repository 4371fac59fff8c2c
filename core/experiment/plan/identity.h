// Stage configurations and the identities hashed from them (docs/formats/catalog.md).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/plan.h"
#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/resolver.h"

namespace locus {

// Everything scientific about a cell. Null where a mistake left a part without meaning.
struct Configuration {
  std::vector<const ResolvedSection*> sections;  // in the order of the catalog's
  const ResolvedPriors* priors = nullptr;
  ModelImages images;  // what dataset and sections together make of them

  const ResolvedSection* dataset() const { return sections[kDatasetSection]; }
  const ResolvedSection* task() const { return sections[kTaskSection]; }
  const ResolvedSection* model() const { return sections[kModelSection]; }
  const ResolvedSection* recipe() const { return sections[kTrainSection]; }
};

// What each stage of a cell asks of a worker, whatever the seed. `training_bytes`: the memory that the training is
// estimated to need; 0: not known.
std::vector<RequirementsPtr> requirements_of(const Configuration& cell, const std::vector<Section>& sections,
                                             const std::vector<ResolvedStage>& stages, std::int64_t training_bytes);

// The stages of one trial, in dependency order, each named by the SHA-256 of its configuration. `requirements`: of
// these stages.
std::vector<PlannedStage> identify(const Configuration& cell, const std::vector<Section>& sections,
                                   const std::vector<ResolvedStage>& stages,
                                   const std::vector<RequirementsPtr>& requirements, std::int64_t seed);

}  // namespace locus
