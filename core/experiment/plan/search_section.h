// Reads the section `search` of a specification and completes it from the rest.
#pragma once

#include "absl/status/status.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// What rungs of epochs end at.
inline constexpr char kEpochsPath[] = "train.epochs";

// The key `search`: sets spec.search to what could be read. Refuses as parse_specification() does, EMPTY_MATRIX for an empty
// space.
absl::Status parse_search(const Json& json, Specification& spec);

// INVALID_SPECIFICATION, the usual refusal of what it says.
absl::Status invalid_search(const std::string& message, const std::string& field);

// Its parts, which note every mistake.
void read_space(const Json& json, Specification& spec, Search& search, Mistakes& mistakes);
void read_advance(const Json& json, SearchRequest& request, Mistakes& mistakes);
void read_stops(const Json& json, Search& search, Mistakes& mistakes);
void read_budget(const Json& json, Search& search, Mistakes& mistakes);

// What the section takes from other keys, once all are read: rungs that end at train.epochs or at the seeds, Hyperband's
// brackets and proposals, the most seeds of a race. Refuses what contradicts them: a path that is a factor too, rungs that do not end
// where training does, more seeds than are listed.
void complete_search(Specification& spec, Mistakes& mistakes);

}  // namespace locus
