// The leaderboard.
#include "core/statistics/leaderboard.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics/order_statistics.h"
#include "core/statistics/reach.h"

namespace locus {
namespace {

constexpr double kLevel = 0.95;
constexpr double kSignificance = 0.05;
constexpr std::size_t kMostWarnings = 20;

using BySeed = std::map<std::int64_t, double>;

BySeed by_seed(const LeaderboardCell& cell) {
  BySeed out;
  for (const SeedMeasurement& one : cell.values) out[one.seed] = one.value;
  return out;
}

void summarize(const LeaderboardInput& input, LeaderboardRow& line) {
  const BySeed values = by_seed(line.cell);
  std::vector<double> x;
  for (const auto& [seed, value] : values) x.push_back(value);
  for (const std::int64_t seed : input.seeds) {
    if (!values.contains(seed)) line.missing_seeds.push_back(seed);
  }
  const SampleSummary whole = summarize_sample(x, kLevel);
  line.n = whole.n;
  line.mean = whole.mean;
  line.std = whole.std;
  line.ci_low = whole.low;
  line.ci_high = whole.high;
  line.mean_all = whole.mean;
  line.std_all = whole.std;
  if (input.top > 0) {
    line.mean = top_mean(x, input.top, input.maximize).mean;
    line.std = line.ci_low = line.ci_high = kUndefined;
  }
  const SampleSummary pace = summarize_sample(line.cell.ms_per_step, kLevel);
  line.ms_per_step = pace.mean;
  line.ms_per_step_std = pace.std;
  line.times_vary = times_vary(line.cell.ms_per_step);
}

void compare(const LeaderboardCell& baseline, LeaderboardRow& line) {
  if (line.cell.baseline) return;
  const BySeed values = by_seed(line.cell), reference = by_seed(baseline);
  std::vector<double> differences;
  for (const auto& [seed, value] : values) {
    if (const auto other = reference.find(seed); other != reference.end()) differences.push_back(value - other->second);
  }
  const SampleSummary paired = summarize_sample(differences, kLevel);
  line.pairs = paired.n;
  line.difference = paired.mean;
  line.difference_std = paired.std;
  line.difference_low = paired.low;
  line.difference_high = paired.high;
  line.p_sign_flip = sign_flip_p(differences);
  line.p_floor = sign_flip_floor(line.pairs);
  line.p_t = paired_t_p(differences);
}

// Means over the best seeds have no pairs and no spread: their difference alone is there.
void compare_tops(std::vector<LeaderboardRow>& lines) {
  std::map<std::int64_t, double> baselines;
  for (const LeaderboardRow& line : lines) {
    if (line.cell.baseline && !line.cell.untested) baselines.emplace(line.cell.pair_group, line.mean);
  }
  for (LeaderboardRow& line : lines) {
    const auto baseline = baselines.find(line.cell.pair_group);
    if (baseline != baselines.end() && !line.cell.baseline && !line.cell.untested)
      line.difference = line.mean - baseline->second;
  }
}

void add_parameters(std::vector<LeaderboardRow>& lines) {
  std::map<std::int64_t, std::int64_t> least;  // pair group -> fewest parameters
  for (const LeaderboardRow& line : lines) {
    if (line.cell.parameters < 0) continue;
    const auto [at, fresh] = least.emplace(line.cell.pair_group, line.cell.parameters);
    if (!fresh) at->second = std::min(at->second, line.cell.parameters);
  }
  for (LeaderboardRow& line : lines) {
    if (line.cell.parameters >= 0) line.parameters_added = line.cell.parameters - least.at(line.cell.pair_group);
  }
}

void correct(std::vector<LeaderboardRow>& lines, LeaderboardOutput& out) {
  std::vector<double> p;
  for (const LeaderboardRow& line : lines) p.push_back(line.p_sign_flip);
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].p_holm = corrected[i];
  const auto count = std::count_if(p.begin(), p.end(), [](double value) { return !std::isnan(value); });
  if (count > 0) out.correction = "holm over " + std::to_string(count) + (count == 1 ? " comparison" : " comparisons");
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) {
    if (!out.empty()) out += ", ";
    out += std::to_string(number);
  }
  return out;
}

// Which comparisons could not pass Holm's correction however clear they were: the pivot table's rule.
void warn_of_floor(const std::vector<LeaderboardRow>& lines, std::vector<std::string>& warnings) {
  std::vector<int> pairs;
  for (const LeaderboardRow& line : lines) pairs.push_back(std::isnan(line.p_sign_flip) ? 0 : line.pairs);
  const auto made = pairs.size() - static_cast<std::size_t>(std::count(pairs.begin(), pairs.end(), 0));
  for (const OutOfReach& group : out_of_reach(pairs, kSignificance, /*corrected=*/true)) {
    std::string which;
    if (group.members.size() < made) {
      which = "'" + lines[group.members.front()].cell.label + "'";
      if (group.members.size() > 1) which += " and " + std::to_string(group.members.size() - 1) + " more";
    }
    warnings.push_back(sentence_of(group, which));
  }
}

void warn_of_times(const std::vector<LeaderboardRow>& lines, std::vector<std::string>& warnings) {
  const auto varies = [](const LeaderboardRow& line) { return line.times_vary; };
  const auto first = std::find_if(lines.begin(), lines.end(), varies);
  if (first == lines.end()) return;
  const auto [least, most] = std::minmax_element(first->cell.ms_per_step.begin(), first->cell.ms_per_step.end());
  const auto count = std::count_if(lines.begin(), lines.end(), varies);
  warnings.push_back(vary_sentence("ms/step", "'" + first->cell.label + "'", *least, *most, count));
}

void warn(const std::vector<LeaderboardRow>& lines, std::vector<std::string>& warnings) {
  for (const LeaderboardRow& line : lines) {
    if (line.cell.untested) continue;  // that it lacks seeds was decided
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
  warn_of_times(lines, warnings);
}

}  // namespace

LeaderboardOutput compute_leaderboard(const LeaderboardInput& input) {
  LeaderboardOutput out;
  std::map<std::int64_t, const LeaderboardCell*> baselines;
  for (const LeaderboardCell& cell : input.cells) {
    if (cell.baseline) baselines.emplace(cell.pair_group, &cell);
  }
  for (const LeaderboardCell& cell : input.cells) {
    LeaderboardRow line;
    line.cell = cell;
    summarize(input, line);
    const auto baseline = baselines.find(cell.pair_group);
    const bool tested = !input.untested && !cell.untested && input.top == 0;
    if (tested && baseline != baselines.end() && !baseline->second->untested) compare(*baseline->second, line);
    out.lines.push_back(std::move(line));
  }
  if (input.top > 0 && !input.untested) compare_tops(out.lines);
  add_parameters(out.lines);
  correct(out.lines, out);
  warn(out.lines, out.warnings);
  std::stable_sort(out.lines.begin(), out.lines.end(), [&input](const LeaderboardRow& a, const LeaderboardRow& b) {
    if (a.cell.untested != b.cell.untested) return b.cell.untested;
    if (input.untested) return false;
    if (!std::isfinite(a.mean) || !std::isfinite(b.mean)) return std::isfinite(a.mean) && !std::isfinite(b.mean);
    return input.maximize ? a.mean > b.mean : a.mean < b.mean;
  });
  return out;
}

}  // namespace locus
