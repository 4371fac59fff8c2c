// The leaderboard: means, sample deviations, paired differences from a baseline, exact tests. One implementation for CLI, dashboard,
// clients and exports. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace locus {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

struct SeedMeasurement {
  std::int64_t seed = 0;
  double value = kUndefined;
  std::int64_t trial = 0;
};
struct TableCell {
  std::int64_t cell = 0;
  std::string label, assignment_json;
  bool baseline = false;
  std::int64_t pair_group = 0;          // cells are compared with the baseline of their group
  std::vector<SeedMeasurement> values;  // only seeds with a result
  std::int64_t parameters = -1;         // -1: unknown
  std::vector<double> ms_per_step;
  double selection = kUndefined;  // mean on the split it selects on
};
struct TableLine {
  TableCell cell;
  int n = 0, pairs = 0;
  std::vector<std::int64_t> missing_seeds;
  double mean = kUndefined, std = kUndefined, ci_low = kUndefined, ci_high = kUndefined;
  double difference = kUndefined, difference_std = kUndefined;
  double difference_low = kUndefined, difference_high = kUndefined;
  double p_sign_flip = kUndefined, p_floor = kUndefined, p_t = kUndefined, p_holm = kUndefined;
  std::int64_t parameters_added = -1;                             // against the least of its pair group
  double ms_per_step = kUndefined, ms_per_step_std = kUndefined;  // over the seeds, like every other number
  bool times_vary = false;
};
struct TableInput {
  std::vector<TableCell> cells;
  std::vector<std::int64_t> seeds;
  bool maximize = true;
};
struct TableOutput {
  std::vector<TableLine> lines;
  std::vector<std::string> warnings;
  std::string correction;
};

// Best mean first (by direction); cells without a finite mean last, in order. Missing seeds are flagged, never averaged away.
TableOutput make_table(const TableInput& input);

// Building blocks, public because they are tested against published tables.
double sample_mean(const std::vector<double>& x);
double sample_std(const std::vector<double>& x);                          // n - 1; NaN below two
double student_t_half_width(const std::vector<double>& x, double level);  // half of the two-sided interval's width
double paired_t_p(const std::vector<double>& differences);                // two-sided; NaN without spread
// What every table, comparison and export says of a cell: n, mean, sample deviation, and Student's interval of the mean.
struct SampleSummary {
  int n = 0;
  double mean = kUndefined, std = kUndefined, low = kUndefined, high = kUndefined;
};
SampleSummary summarize_sample(const std::vector<double>& x, double level);
// Two-sided exact sign-flip (randomisation) test of mean difference zero: share of the 2^n sign assignments at least as extreme.
// Ties and zeros count exactly. Meet in the middle, so 40 pairs take well under a second; beyond, NaN: never by sampling.
double sign_flip_p(const std::vector<double>& differences);
// Whether times of equal work vary so much between seeds, by half or more, that something else used the machine.
bool times_vary(const std::vector<double>& times);
// The warning about it: of `count` rows or cells, the first of which, `name`, has these extremes.
std::string vary_sentence(const std::string& what, const std::string& name, double least, double most,
                          std::int64_t count);
double sign_flip_floor(int pairs);                       // 2 / 2^n
std::vector<double> holm(const std::vector<double>& p);  // NaN stays NaN and is not counted

}  // namespace locus
