// Races that test.
#include "core/search/race_tests.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <numeric>

namespace locus {
namespace {

constexpr std::size_t kExactMost = 50;  // differences whose sign patterns are counted

// Middle ranks from 1 on, the smallest first.
std::vector<double> middle_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) out[order[i]] = static_cast<double>(from + 1 + to) / 2;
    from = to;
  }
  return out;
}

// How likely a sum of signed ranks is as far from the middle as this one; `doubled` ranks are whole.
double exact_p(const std::vector<std::size_t>& doubled, std::size_t positive) {
  const std::size_t total = std::accumulate(doubled.begin(), doubled.end(), std::size_t{0});
  std::vector<double> ways(total + 1, 0.0);  // the chance of each sum
  ways[0] = 1;
  for (const std::size_t rank : doubled) {
    for (std::size_t sum = total + 1; sum-- > 0;) ways[sum] = (ways[sum] + (sum >= rank ? ways[sum - rank] : 0.0)) / 2;
  }
  const std::size_t low = std::min(positive, total - positive);
  const double tail = std::accumulate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(low) + 1, 0.0);
  return std::min(1.0, 2 * tail);
}

using Values = std::vector<std::vector<double>>;
using Left = std::function<std::vector<std::size_t>(const std::vector<std::size_t>& live, std::size_t seeds)>;

// The frame of a race that tests: seed by seed, who has no finite value is out at once.
RaceState run(const RaceTests& rule, const Values& values, const Left& left) {
  RaceState out;
  out.live.resize(values.size());
  std::iota(out.live.begin(), out.live.end(), std::size_t{0});
  for (std::size_t r = 1;; ++r) {
    const auto there = [&](std::size_t i) { return values[i].size() >= r; };
    if (out.live.empty() || !std::all_of(out.live.begin(), out.live.end(), there)) return out;
    std::erase_if(out.live, [&](std::size_t i) { return !std::isfinite(values[i][r - 1]); });
    out.seeds = static_cast<std::int64_t>(r);
    if (out.seeds < rule.first) continue;
    if (out.live.size() > 1) out.live = left(out.live, r);
    if (out.live.size() != 1) continue;
    out.decided = true;
    out.winner = out.live.front();
    return out;
  }
}

std::vector<double> first_of(const std::vector<double>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<std::size_t> tested(const RaceTests& rule, const Values& values, const std::vector<std::size_t>& live,
                                std::size_t seeds) {
  const auto sum = [&](std::size_t i) {
    return std::accumulate(values[i].begin(), values[i].begin() + static_cast<std::ptrdiff_t>(seeds), 0.0);
  };
  std::size_t best = live.front();
  for (const std::size_t i : live) {
    if (sum(i) > sum(best)) best = i;
  }
  std::vector<double> p;
  for (const std::size_t i : live) {
    if (i != best) p.push_back(paired_t_p(first_of(values[best], seeds), first_of(values[i], seeds)));
  }
  p = holm_adjusted(p);
  std::vector<std::size_t> out;
  std::size_t next = 0;
  for (const std::size_t i : live) {
    if (i == best || p[next++] >= rule.alpha) out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> ranked_left(const RaceTests& rule, const Values& values, const std::vector<std::size_t>& live,
                                     std::size_t seeds) {
  std::vector<std::vector<double>> blocks(seeds);
  for (std::size_t r = 0; r < seeds; ++r) {
    for (const std::size_t i : live) blocks[r].push_back(values[i][r]);
  }
  if (live.size() == 2) {
    const std::vector<double> a = first_of(values[live[0]], seeds), b = first_of(values[live[1]], seeds);
    if (wilcoxon_p(a, b) >= rule.alpha) return live;
    std::vector<double> sizes, differences;
    for (std::size_t r = 0; r < seeds; ++r) {
      if (a[r] == b[r]) continue;
      differences.push_back(a[r] - b[r]);
      sizes.push_back(std::abs(a[r] - b[r]));
    }
    const std::vector<double> ranks = middle_ranks(sizes);
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += differences[i] > 0 ? ranks[i] : -ranks[i];
    return {sum > 0 ? live[0] : live[1]};
  }
  const FriedmanTest test = friedman(blocks, rule.alpha);
  if (!(test.p < rule.alpha)) return live;
  const double best = *std::min_element(test.sums.begin(), test.sums.end());
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (test.sums[i] - best <= test.least_difference) out.push_back(live[i]);
  }
  return out;
}

}  // namespace

double paired_t_p(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double mean = 0, squares = 0;
  bool equal = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean += (a[i] - b[i]) / n;
    equal = equal && a[i] - b[i] == a[0] - b[0];
  }
  if (equal) return a[0] == b[0] ? 1 : 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  const double t = mean / std::sqrt(squares / (n - 1) / n);
  const boost::math::students_t distribution(n - 1);
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double largest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    largest = std::max(largest, std::min(1.0, p[order[place]] * static_cast<double>(order.size() - place)));
    out[order[place]] = largest;
  }
  return out;
}

double wilcoxon_p(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences, sizes;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    differences.push_back(a[i] - b[i]);
    sizes.push_back(std::abs(a[i] - b[i]));
  }
  if (differences.empty()) return 1;
  const std::vector<double> ranks = middle_ranks(sizes);
  if (ranks.size() <= kExactMost) {
    std::vector<std::size_t> doubled;
    std::size_t positive = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      doubled.push_back(static_cast<std::size_t>(std::lround(2 * ranks[i])));
      if (differences[i] > 0) positive += doubled.back();
    }
    return exact_p(doubled, positive);
  }
  // Conover 1999, section 5.7: the signed ranks over the root of their squares is about normal; ties are in the squares.
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sum += differences[i] > 0 ? ranks[i] : -ranks[i];
    squares += ranks[i] * ranks[i];
  }
  const double z = std::abs(sum) / std::sqrt(squares);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

FriedmanTest friedman(const std::vector<std::vector<double>>& blocks, double alpha) {
  FriedmanTest out;
  const auto n = static_cast<double>(blocks.size()), k = static_cast<double>(blocks.front().size());
  out.sums.assign(blocks.front().size(), 0.0);
  double squares = 0;  // of all ranks
  for (const auto& block : blocks) {
    std::vector<double> turned;
    for (const double value : block) turned.push_back(-value);
    const std::vector<double> ranks = middle_ranks(turned);
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      out.sums[j] += ranks[j];
      squares += ranks[j] * ranks[j];
    }
  }
  const double middle = n * (k + 1) / 2, correction = n * k * (k + 1) * (k + 1) / 4;
  double off = 0, sums_squared = 0;
  for (const double sum : out.sums) {
    off += (sum - middle) * (sum - middle);
    sums_squared += sum * sum;
  }
  if (squares <= correction) return out;  // every block is one tie
  const double statistic = (k - 1) * off / (squares - correction);
  out.p = boost::math::cdf(boost::math::complement(boost::math::chi_squared(k - 1), statistic));
  const double freedom = (n - 1) * (k - 1);
  const double spread = std::max(0.0, 2 * (n * squares - sums_squared) / freedom);
  out.least_difference = boost::math::quantile(boost::math::students_t(freedom), 1 - alpha / 2) * std::sqrt(spread);
  return out;
}

RaceState t_race(const RaceTests& rule, const Values& values) {
  return run(rule, values, [&](const auto& live, std::size_t seeds) { return tested(rule, values, live, seeds); });
}

RaceState f_race(const RaceTests& rule, const Values& values) {
  return run(rule, values, [&](const auto& live, std::size_t seeds) { return ranked_left(rule, values, live, seeds); });
}

}  // namespace locus
