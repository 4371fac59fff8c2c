// The matched protocol: proof, from the effective configurations, of what differs between the cells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/experiment/plan/expansion.h"
#include "core/experiment/plan/identity.h"

namespace locus {

// Refuses (CONSTRAINT_VIOLATED) unless every setting of everything else comes with every value of the
// declared factors: then a comparison between two of those values never compares anything else.
absl::Status prove_matched(const Specification& spec, const std::vector<CellDraft>& cells,
                           const std::vector<Configuration>& configurations, const std::vector<std::string>& labels);

// "only the prior differs", or what else does: a sentence for the table.
std::string describe_difference(const std::vector<CellDraft>& cells, const Values& values,
                                const std::vector<Configuration>& configurations);

// Every setting of a configuration, defaults included: config path to canonical JSON.
std::map<std::string, std::string> effective_values(const Configuration& cell, const std::vector<Section>& sections);

}  // namespace locus
