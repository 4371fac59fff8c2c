// The tables printed in papers, alone or beside what an experiment measured: core/claims finds the cells,
// this gathers their numbers and writes both down.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/claims/claims.h"
#include "core/ports/store.h"
#include "locus/v1/analysis_service.pb.h"
#include "server/analysis/outline_cache.h"

namespace locus::server {

// INVALID_ARGUMENT for a paper or table there is none of, naming those there are; EXPERIMENT_NOT_FOUND.
// Blocks on the store when an experiment is named. Thread-safe.
absl::StatusOr<v1::ListClaimsResponse> list_claims(Store& store, OutlineCache& outlines, const Catalog& catalog,
                                                   const std::vector<PaperClaims>& papers,
                                                   const v1::ListClaimsRequest& request);

}  // namespace locus::server
