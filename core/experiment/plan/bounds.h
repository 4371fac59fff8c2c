// How many images of a split are scored, and what to say of it.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/plan/contract.h"
#include "core/experiment/plan/identity.h"

namespace locus {

// The part of its split that a stage scores, 0: all of it. A limit that the split does not reach is none.
std::int64_t scored_images(const ResolvedStage& stage, const ResolvedSection& dataset);

// Sentences about numbers of images to score that a split does not have, each once.
std::vector<std::string> unreached(const std::vector<Configuration>& cells, const std::vector<ResolvedStage>& stages);

// What to know where the contract's number comes from a part of its split; empty where it does not. `labels`:
// those of the primary result.
std::string partial_report(const MetricContract& metric, const Json& labels, const ResolvedSection& dataset);

}  // namespace locus
