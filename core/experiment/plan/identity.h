// Stage configurations and the identities hashed from them (docs/formats/catalog.md).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/plan.h"
#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/resolver.h"

namespace locus {

// Everything scientific about a cell.
struct Configuration {
  const ResolvedSection *dataset = nullptr, *task = nullptr, *model = nullptr, *recipe = nullptr;
  const ResolvedPriors* priors = nullptr;
};

// The stages of one trial, in dependency order, each named by the SHA-256 of its configuration.
std::vector<PlannedStage> identify(const Configuration& cell, const std::vector<ResolvedStage>& stages,
                                   std::int64_t seed);

}  // namespace locus
