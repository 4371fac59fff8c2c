// The leaderboard: means, sample deviations, paired differences from a baseline, exact tests. One implementation for CLI, dashboard,
// clients and exports. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/statistics/samples.h"

namespace locus {

struct SeedMeasurement {
  std::int64_t seed = 0;
  double value = kUndefined;
  std::int64_t trial = 0;
};
struct LeaderboardCell {
  std::int64_t cell = 0;
  std::string label, assignment_json;
  bool baseline = false;
  std::int64_t pair_group = 0;          // cells are compared with the baseline of their group
  std::vector<SeedMeasurement> values;  // only seeds with a result
  std::int64_t parameters = -1;         // -1: unknown
  std::vector<double> ms_per_step;
  double selection = kUndefined;  // mean on the split it selects on
  bool untested = false;          // came about by looking at it: compared with nothing, and after all others
};
struct LeaderboardRow {
  LeaderboardCell cell;
  int n = 0, pairs = 0;
  std::vector<std::int64_t> missing_seeds;
  double mean_all = kUndefined, std_all = kUndefined;  // of all seeds, where `mean` is over the best ones
  double mean = kUndefined, std = kUndefined, ci_low = kUndefined, ci_high = kUndefined;
  double difference = kUndefined, difference_std = kUndefined;
  double difference_low = kUndefined, difference_high = kUndefined;
  double p_sign_flip = kUndefined, p_floor = kUndefined, p_t = kUndefined, p_holm = kUndefined;
  std::int64_t parameters_added = -1;                             // against the least of its pair group
  double ms_per_step = kUndefined, ms_per_step_std = kUndefined;  // over the seeds, like every other number
  bool times_vary = false;
};
struct LeaderboardInput {
  std::vector<LeaderboardCell> cells;
  std::vector<std::int64_t> seeds;
  bool maximize = true;
  std::size_t top = 0;    // above 0: means are over so many best seeds, without spread, interval and test
  bool untested = false;  // nothing is tested or ranked: the values have chosen
};
struct LeaderboardOutput {
  std::vector<LeaderboardRow> lines;
  std::vector<std::string> warnings;
  std::string correction;
};

// Best mean first (by direction); cells without a finite mean last, in order, and untested ones after all. Nothing is ranked by values
// that have chosen. Missing seeds are flagged, never averaged away.
LeaderboardOutput compute_leaderboard(const LeaderboardInput& input);

}  // namespace locus
