// Races over seeds.
#include "core/search/race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace locus {
namespace {

// The candidates of a race and what is known of their differences.
class Kim {
 public:
  Kim(const KimNelson& rule, const std::vector<std::vector<double>>& values)
      : rule_(rule), values_(values), h_squared_(rule.h_squared(static_cast<std::int64_t>(values.size()))) {}

  // h^2 S^2_ij / delta^2
  double reach(std::size_t i, std::size_t j) const { return h_squared_ * variance(i, j) / (rule_.delta * rule_.delta); }
  double lead(std::size_t i, std::size_t j, std::int64_t seeds) const { return sum(i, seeds) - sum(j, seeds); }
  double sum(std::size_t i, std::int64_t seeds) const {
    return std::accumulate(values_[i].begin(), values_[i].begin() + seeds, 0.0);
  }

 private:
  // Of the differences over the first seeds; never taken anew.
  double variance(std::size_t i, std::size_t j) const {
    const double mean = lead(i, j, rule_.first) / static_cast<double>(rule_.first);
    double sum = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rule_.first); ++r) {
      const double off = values_[i][r] - values_[j][r] - mean;
      sum += off * off;
    }
    return sum / static_cast<double>(rule_.first - 1);
  }

  const KimNelson& rule_;
  const std::vector<std::vector<double>>& values_;
  double h_squared_;
};

// Those of `live` that have a finite value under seed r.
std::vector<std::size_t> finite_at(const std::vector<std::size_t>& live, const std::vector<std::vector<double>>& values,
                                   std::size_t r) {
  std::vector<std::size_t> out;
  std::copy_if(live.begin(), live.end(), std::back_inserter(out),
               [&](std::size_t i) { return std::isfinite(values[i][r]); });
  return out;
}

}  // namespace

double KimNelson::h_squared(std::int64_t candidates) const {
  const auto freedom = static_cast<double>(first - 1);
  const double eta = (std::pow(2 * alpha / static_cast<double>(candidates - 1), -2 / freedom) - 1) / 2;
  return 2 * eta * freedom;
}

RaceState race(const KimNelson& rule, const std::vector<std::vector<double>>& values) {
  RaceState out;
  out.live.resize(values.size());
  std::iota(out.live.begin(), out.live.end(), std::size_t{0});
  const Kim kim(rule, values);
  for (std::int64_t r = 1;; ++r) {
    const auto there = [&](std::size_t i) { return static_cast<std::int64_t>(values[i].size()) >= r; };
    if (out.live.empty() || !std::all_of(out.live.begin(), out.live.end(), there)) return out;
    out.live = finite_at(out.live, values, static_cast<std::size_t>(r - 1));
    out.seeds = r;
    if (r < rule.first) continue;
    double longest = 0;
    std::vector<std::size_t> left;
    for (const std::size_t i : out.live) {
      const bool beaten = std::any_of(out.live.begin(), out.live.end(), [&](std::size_t j) {
        if (i == j) return false;
        const double margin = rule.delta / 2 * (kim.reach(i, j) - static_cast<double>(r));
        return kim.lead(j, i, r) > std::max(0.0, margin);
      });
      if (!beaten) left.push_back(i);
    }
    out.live = left;
    for (const std::size_t i : left) {
      for (const std::size_t j : left) {
        if (i != j) longest = std::max(longest, kim.reach(i, j));
      }
    }
    if (left.empty() || (left.size() > 1 && static_cast<double>(r) <= longest)) continue;
    out.winner = *std::max_element(left.begin(), left.end(),
                                   [&](std::size_t a, std::size_t b) { return kim.sum(a, r) < kim.sum(b, r); });
    out.decided = true;
    return out;
  }
}

std::int64_t seeds_of_round(std::int64_t budget, std::int64_t candidates, std::int64_t live) {
  std::int64_t rounds = 0;
  for (std::int64_t reach = 1; reach < candidates; reach *= 2) ++rounds;
  return live * rounds == 0 ? 0 : budget / (live * rounds);
}

std::vector<std::size_t> better_half(const std::vector<double>& means, const std::vector<std::size_t>& live) {
  std::vector<std::size_t> out = live;
  const auto key = [&](std::size_t i) {
    return std::isnan(means[i]) ? -std::numeric_limits<double>::infinity() : means[i];
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  out.resize((out.size() + 1) / 2);
  return out;
}

}  // namespace locus
