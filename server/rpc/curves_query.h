// Curves of one metric: every trial's, and mean and band per cell.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"

namespace locus::server {

struct BandPoint {
  std::int64_t step = 0;
  double mean = 0, std = 0;
  int n = 0;
};

// Mean and sample deviation at the steps that every curve reaching that far has, with their number: beyond
// the end of a seed still in training the mean goes on over the others, and `n` says so. Each in step order,
// one value a step (the last wins).
std::vector<BandPoint> band_of(const std::vector<std::vector<Point>>& curves);

// At most `most` of them (0: all), keeping first, last, and each bucket's lowest and highest mean.
std::vector<BandPoint> thin(const std::vector<BandPoint>& band, int most);

// Blocks. Thread-safe.
absl::StatusOr<v1::Curves> get_curves(Store& store, const v1::GetCurvesRequest& request);

}  // namespace locus::server
