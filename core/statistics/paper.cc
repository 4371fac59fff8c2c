// The numbers of the paper table.
#include "core/statistics/paper.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/statistics/estimates.h"
#include "core/statistics/render/document.h"

namespace locus {
namespace {

constexpr double kPower = 0.8;

std::vector<double> values_of(const PaperCellNumbers& cell) {
  std::vector<double> out;
  for (const SeedMean& one : cell.values) out.push_back(one.value);
  return out;
}

// A seed counts when every unit of the cell has a value under it: a mean over some of them would compare
// other things.
void collapse(const PaperGroup& group, PaperCellNumbers& out) {
  std::set<int> units;
  std::map<std::int64_t, std::map<int, const PaperSample*>> seeds;
  for (const PaperSample& sample : group.samples) {
    units.insert(sample.unit);
    const PaperSample*& kept = seeds[sample.seed][sample.unit];
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

void describe(double level, PaperCellNumbers& cell) {
  const std::vector<double> x = values_of(cell);
  cell.mean = sample_mean(x);
  cell.std = sample_std(x);
  const double half = student_t_half_width(x, level);
  cell.low = cell.mean - half;
  cell.high = cell.mean + half;
}

std::set<int> units_of(const PaperGroup& group) {
  std::set<int> out;
  for (const PaperSample& sample : group.samples) out.insert(sample.unit);
  return out;
}

void compare_means(const PaperInput& input, const PaperCellNumbers& baseline, PaperCellNumbers& cell) {
  const Welch found = welch(values_of(cell), values_of(baseline), input.level);
  cell.unpaired = true;
  cell.difference = found.difference;
  cell.difference_low = found.low;
  cell.difference_high = found.high;
  cell.p = found.p;
}

void compare_pairs(const PaperInput& input, const std::vector<double>& differences, PaperCellNumbers& cell) {
  cell.difference = sample_mean(differences);
  cell.difference_std = sample_std(differences);
  const double half = student_t_half_width(differences, input.level);
  cell.difference_low = cell.difference - half;
  cell.difference_high = cell.difference + half;
  const bool exact = input.test == PaperTest::kSignFlip;
  cell.p = exact ? sign_flip_p(differences) : paired_t_p(differences);
  if (exact) cell.floor = sign_flip_floor(cell.pairs);
}

void compare(const PaperInput& input, const PaperGroup& group, const PaperCellNumbers& baseline,
             PaperCellNumbers& cell) {
  if (units_of(group) != units_of(input.cells[static_cast<std::size_t>(group.reference)])) return;
  std::map<std::int64_t, double> partners;
  for (const SeedMean& one : baseline.values) partners[one.seed] = one.value;
  std::vector<double> differences;
  for (const SeedMean& one : cell.values) {
    if (const auto partner = partners.find(one.seed); partner != partners.end())
      differences.push_back(one.value - partner->second);
  }
  cell.pairs = static_cast<int>(differences.size());
  if (cell.pairs > 0 && input.detect > 0)
    cell.pairs_needed = pairs_needed(input.detect, sample_std(differences), input.alpha, kPower);
  if (input.test == PaperTest::kWelch ||
      (cell.pairs == 0 && !cell.values.empty() && !baseline.values.empty()))
    return compare_means(input, baseline, cell);
  if (cell.pairs > 0) compare_pairs(input, differences, cell);
}

void correct(const PaperInput& input, PaperNumbers& out) {
  std::map<int, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < out.cells.size(); ++i)
    families[input.columns[i % input.columns.size()].family].push_back(i);
  for (const auto& [family, members] : families) {
    std::vector<double> p;
    for (const std::size_t i : members) p.push_back(out.cells[i].p);
    const std::vector<double> adjusted = input.correct ? holm(p) : p;
    for (std::size_t k = 0; k < members.size(); ++k) {
      PaperCellNumbers& cell = out.cells[members[k]];
      cell.adjusted = adjusted[k];
      cell.significant = cell.adjusted <= input.alpha && !input.cells[members[k]].incomparable;
    }
    if (static_cast<std::size_t>(family) >= out.comparisons.size())
      out.comparisons.resize(static_cast<std::size_t>(family) + 1, 0);
    out.comparisons[static_cast<std::size_t>(family)] =
        static_cast<int>(std::count_if(p.begin(), p.end(), [](double value) { return !std::isnan(value); }));
  }
}

void mark_best(const PaperInput& input, std::size_t column, PaperNumbers& out) {
  const std::size_t width = input.columns.size();
  std::vector<double> means;
  for (std::size_t i = column; i < out.cells.size(); i += width) means.push_back(out.cells[i].mean);
  const std::vector<Mark> marks = marks_of(means, input.columns[column].maximize);
  for (std::size_t row = 0; row < marks.size(); ++row) {
    out.cells[column + row * width].best = marks[row] == Mark::kBest;
    out.cells[column + row * width].second = marks[row] == Mark::kSecond;
  }
}

// Columns of the family in which every row that has any value has one.
std::vector<std::size_t> shared_columns(const PaperNumbers& numbers, const std::vector<std::size_t>& columns,
                                        std::size_t width, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> out;
  for (const std::size_t column : columns) {
    if (std::all_of(rows.begin(), rows.end(),
                    [&](std::size_t row) { return !std::isnan(numbers.cells[row * width + column].mean); }))
      out.push_back(column);
  }
  return out;
}

void summarize(const PaperInput& input, int family, const std::vector<std::size_t>& columns,
               PaperNumbers& out) {
  const std::size_t width = input.columns.size(), height = out.cells.size() / width;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < height; ++row) {
    if (std::any_of(columns.begin(), columns.end(),
                    [&](std::size_t c) { return !std::isnan(out.cells[row * width + c].mean); }))
      rows.push_back(row);
  }
  const std::vector<std::size_t> shared = shared_columns(out, columns, width, rows);
  std::map<std::size_t, double> rank_sums;
  for (const std::size_t column : shared) {
    std::vector<double> means;
    for (const std::size_t row : rows) means.push_back(out.cells[row * width + column].mean);
    const std::vector<double> ranked = ranks(means, input.columns[column].maximize);
    for (std::size_t i = 0; i < rows.size(); ++i) rank_sums[rows[i]] += ranked[i];
  }
  for (const std::size_t row : rows) {
    PaperSummaryNumbers summary{
        .row = static_cast<int>(row), .family = family, .columns = static_cast<int>(shared.size())};
    std::vector<double> means, all;
    std::vector<std::vector<double>> strata;
    for (const std::size_t column : shared) {
      const PaperCellNumbers& cell = out.cells[row * width + column];
      means.push_back(cell.mean);
      strata.push_back(values_of(cell));
      all.insert(all.end(), strata.back().begin(), strata.back().end());
    }
    summary.mean = sample_mean(means);
    summary.iqm = interquartile_mean(all);
    const Interval interval = bootstrap_iqm(strata, input.level);
    summary.low = interval.low;
    summary.high = interval.high;
    if (!shared.empty()) summary.rank = rank_sums[row] / static_cast<double>(shared.size());
    out.summaries.push_back(summary);
  }
}

}  // namespace

PaperNumbers compute_paper(const PaperInput& input) {
  PaperNumbers out;
  out.cells.resize(input.cells.size());
  if (input.columns.empty()) return out;
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    collapse(input.cells[i], out.cells[i]);
    describe(input.level, out.cells[i]);
  }
  for (std::size_t i = 0; i < input.cells.size(); ++i) {
    const int reference = input.cells[i].reference;
    if (reference < 0 || static_cast<std::size_t>(reference) == i) continue;
    compare(input, input.cells[i], out.cells[static_cast<std::size_t>(reference)], out.cells[i]);
  }
  correct(input, out);
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
