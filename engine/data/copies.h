// What of the catalog's datasets lies under a folder.
#pragma once

#include "engine/data/dataset.h"

namespace locus::engine {

// One entry a dataset, in the catalog's order: {"id", "held": what a cheap look says, "folder", "lacks": what is missing and how to get
// it, where something is, "copies": [{"folder", "digest", "classes", "images": {"train": 1}}] of those that were read through under this root and look as they
// did then}. Opens no data. Thread-safe.
Json copies_under(const DataPlace& place);

// Reads one dataset's copy through and says what is there: {"id", "folder", "digest", "classes", "images", "bytes", "problems", "problem_count",
// "passed_over", "passed_over_count", "turned", "differs"} (CopyReport). What the options demand but do not say is taken to be unknown. Throws DataError when no copy can be made out,
// std::invalid_argument on options that the dataset does not have.
Json examine_copy(const std::string& id, const Json& options, const DataPlace& place, const DataProgress& progress);

}  // namespace locus::engine
