// The leaderboard.
#include "core/statistics/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace locus {
namespace {

constexpr double kLevel = 0.95;
constexpr double kSignificance = 0.05;
constexpr std::size_t kMostWarnings = 20;

using BySeed = std::map<std::int64_t, double>;

BySeed by_seed(const TableCell& cell) {
  BySeed out;
  for (const SeedMeasurement& one : cell.values) out[one.seed] = one.value;
  return out;
}

double median(std::vector<double> x) {
  std::erase_if(x, [](double value) { return !std::isfinite(value); });
  if (x.empty()) return kUndefined;
  std::sort(x.begin(), x.end());
  const std::size_t half = x.size() / 2;
  return x.size() % 2 == 1 ? x[half] : (x[half - 1] + x[half]) / 2;
}

void summarize(const TableInput& input, TableLine& line) {
  const BySeed values = by_seed(line.cell);
  std::vector<double> x;
  for (const auto& [seed, value] : values) x.push_back(value);
  for (const std::int64_t seed : input.seeds) {
    if (!values.contains(seed)) line.missing_seeds.push_back(seed);
  }
  line.n = static_cast<int>(x.size());
  line.mean = sample_mean(x);
  line.std = sample_std(x);
  const double half = student_t_half_width(x, kLevel);
  line.ci_low = line.mean - half;
  line.ci_high = line.mean + half;
  line.ms_per_step = median(line.cell.ms_per_step);
  line.ms_per_step_std = sample_std(line.cell.ms_per_step);
}

void compare(const TableCell& baseline, TableLine& line) {
  if (line.cell.baseline) return;
  const BySeed values = by_seed(line.cell), reference = by_seed(baseline);
  std::vector<double> differences;
  for (const auto& [seed, value] : values) {
    if (const auto other = reference.find(seed); other != reference.end())
      differences.push_back(value - other->second);
  }
  line.pairs = static_cast<int>(differences.size());
  line.difference = sample_mean(differences);
  line.difference_std = sample_std(differences);
  const double half = student_t_half_width(differences, kLevel);
  line.difference_low = line.difference - half;
  line.difference_high = line.difference + half;
  line.p_sign_flip = sign_flip_p(differences);
  line.p_floor = sign_flip_floor(line.pairs);
  line.p_t = paired_t_p(differences);
}

void add_parameters(std::vector<TableLine>& lines) {
  std::map<std::int64_t, std::int64_t> least;  // pair group -> fewest parameters
  for (const TableLine& line : lines) {
    if (line.cell.parameters < 0) continue;
    const auto [at, fresh] = least.emplace(line.cell.pair_group, line.cell.parameters);
    if (!fresh) at->second = std::min(at->second, line.cell.parameters);
  }
  for (TableLine& line : lines) {
    if (line.cell.parameters >= 0)
      line.parameters_added = line.cell.parameters - least.at(line.cell.pair_group);
  }
}

void correct(std::vector<TableLine>& lines, TableOutput& out) {
  std::vector<double> p;
  for (const TableLine& line : lines) p.push_back(line.p_sign_flip);
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].p_holm = corrected[i];
  const auto count = std::count_if(p.begin(), p.end(), [](double value) { return !std::isnan(value); });
  if (count > 0)
    out.correction = "holm over " + std::to_string(count) + (count == 1 ? " comparison" : " comparisons");
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) {
    if (!out.empty()) out += ", ";
    out += std::to_string(number);
  }
  return out;
}

std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// The fewest pairs whose lowest reachable p is below the usual level, in words, when none of the present ones
// is.
void warn_of_floor(const std::vector<TableLine>& lines, std::vector<std::string>& warnings) {
  int most = 0;
  for (const TableLine& line : lines) most = std::max(most, line.pairs);
  if (most == 0 || sign_flip_floor(most) <= kSignificance) return;
  int enough = most;
  while (sign_flip_floor(enough) > kSignificance) ++enough;
  const int more = enough - most;
  warnings.push_back("with " + std::to_string(most) + (most == 1 ? " pair" : " pairs") +
                     " the sign-flip test cannot go below p = " + show(sign_flip_floor(most)) + ": " +
                     std::to_string(more) + (more == 1 ? " more seed reaches " : " more seeds reach ") +
                     show(sign_flip_floor(enough)));
}

void warn(const std::vector<TableLine>& lines, std::vector<std::string>& warnings) {
  for (const TableLine& line : lines) {
    const std::string name = "'" + line.cell.label + "'";
    if (!line.missing_seeds.empty()) {
      warnings.push_back(name + " has no result for seed" + (line.missing_seeds.size() == 1 ? " " : "s ") +
                         list_of(line.missing_seeds));
    }
    const bool finite = std::all_of(line.cell.values.begin(), line.cell.values.end(),
                                    [](const SeedMeasurement& one) { return std::isfinite(one.value); });
    if (!finite) warnings.push_back(name + " has results that are not finite; its mean is shown as such");
  }
  if (warnings.size() > kMostWarnings) {
    const std::size_t more = warnings.size() - kMostWarnings;
    warnings.resize(kMostWarnings);
    warnings.push_back("and " + std::to_string(more) + " more");
  }
  warn_of_floor(lines, warnings);
}

}  // namespace

TableOutput make_table(const TableInput& input) {
  TableOutput out;
  std::map<std::int64_t, const TableCell*> baselines;
  for (const TableCell& cell : input.cells) {
    if (cell.baseline) baselines.emplace(cell.pair_group, &cell);
  }
  for (const TableCell& cell : input.cells) {
    TableLine line;
    line.cell = cell;
    summarize(input, line);
    if (const auto baseline = baselines.find(cell.pair_group); baseline != baselines.end())
      compare(*baseline->second, line);
    out.lines.push_back(std::move(line));
  }
  add_parameters(out.lines);
  correct(out.lines, out);
  warn(out.lines, out.warnings);
  std::stable_sort(out.lines.begin(), out.lines.end(), [&input](const TableLine& a, const TableLine& b) {
    if (std::isnan(a.mean) || std::isnan(b.mean)) return !std::isnan(a.mean) && std::isnan(b.mean);
    return input.maximize ? a.mean > b.mean : a.mean < b.mean;
  });
  return out;
}

}  // namespace locus
