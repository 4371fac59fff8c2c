// Trials and cells side by side.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/ports/store.h"
#include "locus/v1/analysis.pb.h"
#include "server/rpc/outline.h"

namespace locus::server {

// Blocks. Thread-safe. INVALID_ARGUMENT for fewer than 2 or more than 16 items, or one of another form.
absl::StatusOr<v1::Comparison> compare(Store& store, OutlineCache& outlines, const v1::CompareRequest& request);

// Every scalar of a JSON document by its path ("priors[0].options.decay"); empty objects and arrays count as
// one. Pure.
std::map<std::string, std::string> flatten(const Json& document);

}  // namespace locus::server
