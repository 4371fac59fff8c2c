// Everything of an experiment as JSON lines (docs/formats/export.md).
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/analysis.pb.h"
#include "server/runtime/pull_source.h"

namespace locus::server {

// EXPERIMENT_NOT_FOUND now; what is read later may be of a later moment. `store` must outlive the source.
absl::StatusOr<PullSource<v1::ExportExperimentResponse>> export_experiment(Store& store,
                                                                           const v1::ExportExperimentRequest& request);

}  // namespace locus::server
