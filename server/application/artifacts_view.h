// The artifacts of experiments and trials.
#pragma once

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/artifacts.h"
#include "core/ports/store.h"
#include "locus/v1/artifact_service.pb.h"
#include "server/authority/caller.h"

namespace locus::server {

// All block. Thread-safe.
absl::StatusOr<v1::ListArtifactsResponse> list_artifacts(Store& store, ArtifactStore& artifacts,
                                                         const v1::ListArtifactsRequest& request);
absl::StatusOr<v1::LocateArtifactResponse> locate_artifact(ArtifactStore& artifacts,
                                                           const v1::LocateArtifactRequest& request);
// OUT_OF_RANGE where a download cannot begin.
absl::Status check_offset(std::int64_t offset, std::int64_t bytes);
absl::StatusOr<v1::Artifact> pin_artifact(Store& store, ArtifactStore& artifacts, Clock& clock,
                                          const v1::PinArtifactRequest& request, const Caller& caller);

}  // namespace locus::server
