// The numbers of the pivot table: a grid of cells over replicates, compared with baseline cells, corrected,
// ranked and summarized across columns. Knows no experiment and no metric. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/statistics/samples.h"

namespace locus {

// One trial that belongs in a cell. `unit` tells the combinations of factors that the table leaves out apart:
// a seed's value is the mean over its units, because runs that share a seed are no further replicates.
struct PivotSample {
  int unit = 0;
  std::int64_t seed = 0;
  double value = kUndefined;  // read only if measured
  bool measured = false, failed = false;
  std::int64_t trial = 0;  // the caller's
};
struct PivotGroup {
  std::vector<PivotSample> samples;
  int reference = -1;         // the cell it is compared with; itself for a baseline cell, -1: none
  bool incomparable = false;  // never marked significant: the caller says why
  bool untested = false;      // came about by looking at it: compared with nothing, never best or second
};
struct PivotColumn {
  bool maximize = true;
  int family = 0;         // comparisons of one family (a metric) are corrected together
  int top = 0;            // above 0: means are over so many best seeds, without spread, interval and test
  bool untested = false;  // the values have chosen: nothing is tested, marked or ranked
};
enum class PivotTest { kSignFlip, kPairedT, kWelch };
struct PivotInput {
  std::vector<PivotColumn> columns;
  std::vector<PivotGroup> cells;  // row by row
  PivotTest test = PivotTest::kSignFlip;
  bool correct = true;  // Holm within a family; otherwise p stays as it is
  double level = 0.95, alpha = 0.05;
  double detect = 0;  // above 0: the difference whose pairs are counted
  int digits = 2;     // after the point, as printed: means that print alike share a mark
};

struct SeedMean {
  std::int64_t seed = 0;
  double value = kUndefined;
  std::vector<std::int64_t> trials;
};
struct PivotCellNumbers {
  std::vector<SeedMean> values;  // complete seeds, ascending
  std::vector<std::int64_t> missing, failed;
  double mean = kUndefined, std = kUndefined, low = kUndefined, high = kUndefined;
  double mean_all = kUndefined, std_all = kUndefined;  // of all seeds, where `mean` is over the best ones
  int pairs = 0;
  // No seed in common, or Welch was asked for: the difference is of the means, and p Welch's. Without being
  // asked for, such a p belongs to no family and is never significant.
  bool unpaired = false;
  bool no_spread = false;  // a t test was due where nothing varies: p is undefined
  double difference = kUndefined, difference_std = kUndefined;
  double pairs_std = kUndefined;  // of the paired differences, whichever test
  double difference_low = kUndefined, difference_high = kUndefined;
  double p = kUndefined, floor = kUndefined, adjusted = kUndefined;
  bool best = false, second = false, significant = false, finite = true;
  int pairs_needed = 0;
};
// Over the columns of a family in which any row has a finite mean. A row that lacks one there has no mean and
// no interquartile mean. Where it failed or is not finite it ranks last; while it waits for results it is not
// ranked, nor counted in the ranks of the others.
struct PivotSummaryNumbers {
  int row = 0, family = 0;
  int columns = 0, of = 0;  // those where the row has a finite mean, and all
  double mean = kUndefined, iqm = kUndefined, low = kUndefined, high = kUndefined, rank = kUndefined;
};
struct PivotNumbers {
  std::vector<PivotCellNumbers> cells;
  std::vector<PivotSummaryNumbers> summaries;  // by row, a family with two or more columns each
  std::vector<int> comparisons;                // by family: those that are corrected together
  std::vector<int> empty_columns;              // where no row has a finite mean: no summary counts them
};
// The test behind a cell's p.
inline PivotTest test_of(const PivotInput& input, const PivotCellNumbers& cell) {
  return cell.unpaired ? PivotTest::kWelch : input.test;
}
// Whether p is one of a family: those alone are corrected and may be marked.
bool in_family(const PivotInput& input, const PivotCellNumbers& cell);
// The p that the first step of the family's correction asks for.
double strictest_alpha(const PivotInput& input, int comparisons);
inline constexpr int kIqmSeedsLeast = 5;  // with fewer in a column the bootstrap interval covers far too little

// The best and second of a column are marked where two cells or more have a finite mean (marks_of).
PivotNumbers compute_pivot(const PivotInput& input);

}  // namespace locus
