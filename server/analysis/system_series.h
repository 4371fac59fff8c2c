// What machines did, as workers tell it with their heartbeats: kept apart from the points of training, read as
// series of their own names ("system/...").
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace locus::server {

bool is_system_metric(const std::string& metric);

// Stores what a heartbeat brings. Values that are not finite, or of other names, are left out; attempts that are
// no longer the session's, too: nothing depends on a sample. Blocks.
void keep_samples(Store& store, const v1::SyncLeasesRequest& request, Microseconds now);

// The keys a stage has samples of. Blocks.
absl::StatusOr<std::vector<SeriesKey>> system_series(Store& store, StageId id);
// Its samples of one key, all attempts', by step and time; at most `most` (0: all), evenly chosen.
// SERIES_NOT_FOUND. Blocks.
absl::StatusOr<SeriesPoints> system_points(Store& store, StageId id, const SeriesKey& key, int most,
                                           StepRange range = {});

// The recent window of a worker. Blocks.
absl::Status fill_system(Store& store, WorkerId id, v1::WorkerDetail* out);

}  // namespace locus::server
