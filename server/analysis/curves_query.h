// Curves of one metric: every trial's, and mean and band per cell.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/analysis/outline.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"

namespace locus::server {

struct BandPoint {
  std::int64_t step = 0;
  double mean = 0, std = 0;
  int n = 0;
  double epoch = 0;
  std::int64_t images = 0;
  double seconds = 0;
};

// A point of one seed's curve, with the seconds of training behind it.
struct TimedPoint {
  Point point;
  double seconds = 0;
};

// Mean and sample deviation at the steps that every curve reaching that far has, with their number: beyond
// the end of a seed still in training the mean goes on over the others, and `n` says so. Each in step order,
// one value a step (the last wins). Epoch and images are the first seed's there, seconds the mean.
std::vector<BandPoint> band_of(const std::vector<std::vector<TimedPoint>>& curves);

// The same over the averages of each curve in blocks of equal index, at the last step any curve has in the
// block.
struct TimedBlock {
  SeriesBlock block;
  double seconds = 0;  // at its last point
};
std::vector<BandPoint> band_of_blocks(const std::vector<std::vector<TimedBlock>>& curves);

// At most `most` of them (0: all), keeping first, last, and each bucket's lowest and highest mean.
std::vector<BandPoint> thin(const std::vector<BandPoint>& band, int most);

// Means are over the points of every seed while these are few enough to be read (kPointsRead together), else
// over the averages of each seed in stretches of equal length; a cell of one seed keeps its very points, as
// the single curves always do. A part zoomed into has the nearest point beyond each of its edges, so that lines
// reach them. INVALID_ARGUMENT for a metric, split or label that nobody plans or measured. `outline`: of the
// experiment asked for. Blocks. Thread-safe.
inline constexpr std::int64_t kPointsRead = 1'000'000;
absl::StatusOr<v1::Curves> get_curves(Store& store, const Outline& outline, const v1::GetCurvesRequest& request);

}  // namespace locus::server
