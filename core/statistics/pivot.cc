// The numbers of the pivot table.
#include "core/statistics/pivot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/statistics/estimates.h"
#include "core/statistics/order_statistics.h"
#include "core/statistics/reach.h"
#include "core/statistics/render/document.h"

namespace locus {
namespace {

constexpr double kPower = 0.8;

std::vector<double> values_of(const PivotCellNumbers& cell) {
  std::vector<double> out;
  for (const SeedMean& one : cell.values) out.push_back(one.value);
  return out;
}

// A seed counts when every unit of the cell has a value under it: a mean over some of them would compare
// other things.
void collapse(const PivotGroup& group, PivotCellNumbers& out) {
  std::set<int> units;
  std::map<std::int64_t, std::map<int, const PivotSample*>> seeds;
  for (const PivotSample& sample : group.samples) {
    units.insert(sample.unit);
    const PivotSample*& kept = seeds[sample.seed][sample.unit];
    if (kept == nullptr || (!kept->measured && sample.measured)) kept = &sample;
  }
  for (const auto& [seed, of_unit] : seeds) {
    bool complete = of_unit.size() == units.size(), failed = false;
    std::vector<double> values;
    SeedMean mean{seed, kUndefined, {}};
    for (const auto& [unit, sample] : of_unit) {
      complete &= sample->measured;
      failed |= sample->failed && !sample->measured;
      values.push_back(sample->value);
      mean.trials.push_back(sample->trial);
    }
    if (complete) {
      mean.value = sample_mean(values);
      out.finite &= std::isfinite(mean.value);
      out.values.push_back(std::move(mean));
    } else {
      out.missing.push_back(seed);
      if (failed) out.failed.push_back(seed);
    }
  }
}

void describe(double level, const PivotColumn& column, PivotCellNumbers& cell) {
  const SampleSummary whole = summarize_sample(values_of(cell), level);
  cell.mean = whole.mean;
  cell.std = whole.std;
  cell.low = whole.low;
  cell.high = whole.high;
  cell.mean_all = whole.mean;
  cell.std_all = whole.std;
  if (column.top == 0) return;
  cell.mean = top_mean(values_of(cell), static_cast<std::size_t>(column.top), column.maximize).mean;
  cell.std = cell.low = cell.high = kUndefined;
}

std::set<int> units_of(const PivotGroup& group) {
  std::set<int> out;
  for (const PivotSample& sample : group.samples) out.insert(sample.unit);
  return out;
}

void compare_means(const PivotInput& input, const PivotCellNumbers& baseline, PivotCellNumbers& cell) {
  const Welch found = welch(values_of(cell), values_of(baseline), input.level);
  cell.unpaired = true;
  cell.difference = found.difference;
  cell.difference_low = found.low;
  cell.difference_high = found.high;
  cell.p = found.p;
  cell.no_spread = std::isfinite(found.low) && std::isnan(found.p);
}

void compare_pairs(const PivotInput& input, const std::vector<double>& differences, PivotCellNumbers& cell) {
  const SampleSummary paired = summarize_sample(differences, input.level);
  cell.difference = paired.mean;
  cell.difference_std = paired.std;
  cell.difference_low = paired.low;
  cell.difference_high = paired.high;
  const bool exact = input.test == PivotTest::kSignFlip;
  cell.p = exact ? sign_flip_p(differences) : paired_t_p(differences);
  cell.no_spread = !exact && paired.std == 0;
  if (exact) cell.floor = sign_flip_floor(cell.pairs);
}

void compare(const PivotInput& input, const PivotGroup& group, const PivotCellNumbers& baseline,
             PivotCellNumbers& cell) {
  if (units_of(group) != units_of(input.cells[static_cast<std::size_t>(group.reference)])) return;
  std::map<std::int64_t, double> partners;
  for (const SeedMean& one : baseline.values) partners[one.seed] = one.value;
  std::vector<double> differences;
  for (const SeedMean& one : cell.values) {
    if (const auto partner = partners.find(one.seed); partner != partners.end())
      differences.push_back(one.value - partner->second);
  }
  cell.pairs = static_cast<int>(differences.size());
  cell.pairs_std = sample_std(differences);
  if (input.test == PivotTest::kWelch || (cell.pairs == 0 && !cell.values.empty() && !baseline.values.empty()))
    return compare_means(input, baseline, cell);
  if (cell.pairs > 0) compare_pairs(input, differences, cell);
}

// A cell beside its reference, where there is one and both may be compared.
void compare_cell(const PivotInput& input, std::size_t i, PivotNumbers& out) {
  const int reference = input.cells[i].reference;
  const PivotColumn& column = input.columns[i % input.columns.size()];
  if (reference < 0 || static_cast<std::size_t>(reference) == i || column.untested) return;
  const auto other = static_cast<std::size_t>(reference);
  if (input.cells[i].untested || input.cells[other].untested) return;
  if (column.top > 0) {  // no pairs and no spread: the difference alone
    out.cells[i].difference = out.cells[i].mean - out.cells[other].mean;
  } else {
    compare(input, input.cells[i], out.cells[other], out.cells[i]);
  }
}

void correct(const PivotInput& input, PivotNumbers& out) {
  std::map<int, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < out.cells.size(); ++i)
    families[input.columns[i % input.columns.size()].family].push_back(i);
  for (const auto& [family, members] : families) {
    std::vector<double> p;
    for (const std::size_t i : members) p.push_back(in_family(input, out.cells[i]) ? out.cells[i].p : kUndefined);
    const std::vector<double> adjusted = input.correct ? holm(p) : p;
    for (std::size_t k = 0; k < members.size(); ++k) {
      PivotCellNumbers& cell = out.cells[members[k]];
      cell.adjusted = adjusted[k];
      cell.significant = cell.adjusted <= input.alpha && !input.cells[members[k]].incomparable;
    }
    if (static_cast<std::size_t>(family) >= out.comparisons.size())
      out.comparisons.resize(static_cast<std::size_t>(family) + 1, 0);
    out.comparisons[static_cast<std::size_t>(family)] =
        static_cast<int>(std::count_if(p.begin(), p.end(), [](double value) { return !std::isnan(value); }));
  }
}

// As many pairs as power asks for, and no fewer than the sign-flip test needs to mark anything.
void count_pairs(const PivotInput& input, PivotNumbers& out) {
  if (input.detect <= 0) return;
  for (std::size_t i = 0; i < out.cells.size(); ++i) {
    PivotCellNumbers& cell = out.cells[i];
    if (cell.pairs == 0) continue;
    const int family = input.columns[i % input.columns.size()].family;
    const double alpha = strictest_alpha(input, out.comparisons[static_cast<std::size_t>(family)]);
    const int powerful = pairs_needed(input.detect, cell.pairs_std, alpha, kPower);
    const bool exact = input.test == PivotTest::kSignFlip;
    cell.pairs_needed = powerful > 0 && exact ? std::max(powerful, pairs_to_reach(alpha)) : powerful;
  }
}

void mark_best(const PivotInput& input, std::size_t column, PivotNumbers& out) {
  const std::size_t width = input.columns.size();
  if (input.columns[column].untested) return;
  std::vector<double> means;
  for (std::size_t i = column; i < out.cells.size(); i += width)
    means.push_back(input.cells[i].untested ? kUndefined : out.cells[i].mean);
  const std::vector<Mark> marks = marks_of(means, input.columns[column].maximize, input.digits);
  for (std::size_t row = 0; row < marks.size(); ++row) {
    out.cells[column + row * width].best = marks[row] == Mark::kBest;
    out.cells[column + row * width].second = marks[row] == Mark::kSecond;
  }
}

bool measured(const PivotCellNumbers& cell) { return std::isfinite(cell.mean); }

// Nothing is there, and it has not all failed: results are to come, or nothing was planned.
bool waiting(const PivotCellNumbers& cell) {
  return cell.values.empty() && (cell.missing.empty() || cell.failed.size() < cell.missing.size());
}

// The rows and columns of a family, and what stands where they meet.
struct Block {
  const PivotInput& input;
  const PivotNumbers& numbers;
  std::vector<std::size_t> columns, rows;
  const PivotCellNumbers& at(std::size_t row, std::size_t column) const {
    return numbers.cells[row * input.columns.size() + column];
  }
  // How many of the row's cells are so.
  template <class Is>
  std::size_t count(std::size_t row, Is is) const {
    return static_cast<std::size_t>(
        std::count_if(columns.begin(), columns.end(), [&](std::size_t column) { return is(at(row, column)); }));
  }
};

// The mean rank of every row that does not wait for results, by row.
std::map<std::size_t, double> mean_ranks(const Block& block) {
  std::vector<std::size_t> ranked;
  for (const std::size_t row : block.rows) {
    if (block.count(row, waiting) == 0) ranked.push_back(row);
  }
  std::map<std::size_t, double> out;
  for (const std::size_t column : block.columns) {
    const bool maximize = block.input.columns[column].maximize;
    const double last = (maximize ? -1 : 1) * std::numeric_limits<double>::infinity();
    std::vector<double> means;
    for (const std::size_t row : ranked) {
      const PivotCellNumbers& cell = block.at(row, column);
      means.push_back(measured(cell) ? cell.mean : last);
    }
    const std::vector<double> of_column = ranks(means, maximize);
    for (std::size_t i = 0; i < ranked.size(); ++i)
      out[ranked[i]] += of_column[i] / static_cast<double>(block.columns.size());
  }
  return out;
}

void add_means(const Block& block, std::size_t row, PivotSummaryNumbers& out) {
  std::vector<double> means, all;
  std::vector<std::vector<double>> strata;
  std::size_t fewest = kIqmSeedsLeast;
  for (const std::size_t column : block.columns) {
    const PivotCellNumbers& cell = block.at(row, column);
    means.push_back(cell.mean);
    strata.push_back(values_of(cell));
    fewest = std::min(fewest, strata.back().size());
    all.insert(all.end(), strata.back().begin(), strata.back().end());
  }
  out.mean = sample_mean(means);
  // Of the best seeds there is a mean and nothing else.
  if (std::any_of(block.columns.begin(), block.columns.end(),
                  [&](std::size_t column) { return block.input.columns[column].top > 0; }))
    return;
  out.iqm = interquartile_mean(all);
  if (fewest < kIqmSeedsLeast) return;
  const Interval interval = bootstrap_iqm(strata, block.input.level);
  out.low = interval.low;
  out.high = interval.high;
}

void summarize(const PivotInput& input, int family, const std::vector<std::size_t>& columns, PivotNumbers& out) {
  const std::size_t height = out.cells.size() / input.columns.size();
  std::vector<std::size_t> all(height);
  std::iota(all.begin(), all.end(), std::size_t{0});
  Block block{input, out, {}, {}};
  for (const std::size_t column : columns) {
    const bool any =
        std::any_of(all.begin(), all.end(), [&](std::size_t row) { return measured(block.at(row, column)); });
    if (any) block.columns.push_back(column);
    if (!any) out.empty_columns.push_back(static_cast<int>(column));
  }
  for (const std::size_t row : all) {
    if (block.count(row, waiting) < block.columns.size()) block.rows.push_back(row);
  }
  const bool chose = std::any_of(block.columns.begin(), block.columns.end(),
                                 [&](std::size_t column) { return input.columns[column].untested; });
  const auto by_row = chose ? std::map<std::size_t, double>() : mean_ranks(block);
  for (const std::size_t row : block.rows) {
    PivotSummaryNumbers summary{.row = static_cast<int>(row),
                                .family = family,
                                .columns = static_cast<int>(block.count(row, measured)),
                                .of = static_cast<int>(block.columns.size())};
    if (summary.columns == summary.of) add_means(block, row, summary);
    if (const auto rank = by_row.find(row); rank != by_row.end()) summary.rank = rank->second;
    out.summaries.push_back(summary);
  }
}

}  // namespace

bool in_family(const PivotInput& input, const PivotCellNumbers& cell) {
  return !std::isnan(cell.p) && test_of(input, cell) == input.test;
}

double strictest_alpha(const PivotInput& input, int comparisons) {
  return input.correct ? input.alpha / std::max(1, comparisons) : input.alpha;
}

PivotNumbers compute_pivot(const PivotInput& input) {
  PivotNumbers out;
  out.cells.resize(input.cells.size());
  if (input.columns.empty()) return out;
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    collapse(input.cells[i], out.cells[i]);
    describe(input.level, input.columns[i % input.columns.size()], out.cells[i]);
  }
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    compare_cell(input, i, out);
  }
  correct(input, out);
  count_pairs(input, out);
  std::map<int, std::vector<std::size_t>> families;
  for (std::size_t column = 0; column < input.columns.size(); ++column) {
    mark_best(input, column, out);
    families[input.columns[column].family].push_back(column);
  }
  for (const auto& [family, columns] : families) {
    if (columns.size() > 1) summarize(input, family, columns, out);
  }
  std::stable_sort(out.summaries.begin(), out.summaries.end(),
                   [](const auto& a, const auto& b) { return a.row < b.row; });
  return out;
}

}  // namespace locus
