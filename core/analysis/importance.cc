// First-order Sobol indices from units that lie near each other.
#include "core/analysis/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/search/proposal.h"
#include "core/statistics/samples.h"

namespace locus {
namespace {

constexpr std::size_t kSeenOften = 3;  // proposals with the same value, on average, that need no neighbors

// The units in a form that sums are quick over: y about its mean, factor values as ranks among the distinct ones.
struct Units {
  std::vector<double> y;
  std::vector<std::size_t> proposal;
  std::size_t proposals = 0;
};
struct Ranked {
  std::vector<std::size_t> rank;
  std::size_t ranks = 0, reach = 0;  // ranks on either side that are near
};

Units units_of(const std::vector<double>& values, const std::vector<std::int64_t>& proposals) {
  Units out;
  const double mean = sample_mean(values);
  std::map<std::int64_t, std::size_t> known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.y.push_back(values[i] - mean);
    out.proposal.push_back(known.emplace(proposals[i], known.size()).first->second);
  }
  out.proposals = known.size();
  return out;
}

Ranked ranked(const FactorColumn& factor, const Units& units) {
  Ranked out;
  std::map<double, std::set<std::size_t>> seen;  // value -> proposals
  for (std::size_t i = 0; i < factor.at.size(); ++i) seen[factor.at[i]].insert(units.proposal[i]);
  std::map<double, std::size_t> places;
  std::size_t together = 0;
  for (const auto& [value, of_value] : seen) {
    places.emplace(value, places.size());
    together += of_value.size();
  }
  for (const double value : factor.at) out.rank.push_back(places.at(value));
  out.ranks = places.size();
  if (factor.ordered && together < kSeenOften * out.ranks)
    out.reach = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(out.ranks)) / 2));
  return out;
}

// Products of pairs: their sum, and how many there are (ordered pairs).
struct Products {
  double sum = 0, count = 0;
  double mean() const { return count > 0 ? sum / count : kUndefined; }
};

using OfProposal = std::vector<std::vector<std::size_t>>;  // units by proposal, without the one left out

OfProposal by_proposal(const Units& units, std::size_t without) {
  OfProposal out(units.proposals);
  for (std::size_t i = 0; i < units.y.size(); ++i) {
    if (units.proposal[i] != without) out[units.proposal[i]].push_back(i);
  }
  return out;
}

// Of all pairs that share no proposal.
Products all_pairs(const Units& units, const OfProposal& kept) {
  Products out;
  double sum = 0, count = 0;
  for (const auto& of_one : kept) {
    double here = 0;
    for (const std::size_t i : of_one) here += units.y[i];
    const auto size = static_cast<double>(of_one.size());
    sum += here;
    count += size;
    out.sum -= here * here;
    out.count -= size * size;
  }
  out.sum += sum * sum;
  out.count += count * count;
  return out;
}

bool near(const Ranked& factor, std::size_t a, std::size_t b) { return (a > b ? a - b : b - a) <= factor.reach; }

// Of those among them that are near each other.
Products near_pairs(const Units& units, const Ranked& factor, const OfProposal& kept) {
  std::vector<double> sums(factor.ranks, 0), counts(factor.ranks, 0);
  Products out;
  for (const auto& of_one : kept) {
    for (const std::size_t i : of_one) {
      sums[factor.rank[i]] += units.y[i];
      counts[factor.rank[i]] += 1;
      for (const std::size_t j : of_one) {
        if (!near(factor, factor.rank[i], factor.rank[j])) continue;
        out.sum -= units.y[i] * units.y[j];
        out.count -= 1;
      }
    }
  }
  for (std::size_t a = 0; a < factor.ranks; ++a) {
    const std::size_t first = a > factor.reach ? a - factor.reach : 0;
    const std::size_t last = std::min(factor.ranks - 1, a + factor.reach);
    for (std::size_t b = first; b <= last; ++b) {
      out.sum += sums[a] * sums[b];
      out.count += counts[a] * counts[b];
    }
  }
  return out;
}

double estimate(const Units& units, const Ranked& factor, const OfProposal& kept) {
  Products squares;
  for (const auto& of_one : kept) {
    for (const std::size_t i : of_one) {
      squares.sum += units.y[i] * units.y[i];
      squares.count += 1;
    }
  }
  const double chance = all_pairs(units, kept).mean();
  const double whole = squares.mean() - chance;
  return whole > 0 ? (near_pairs(units, factor, kept).mean() - chance) / whole : kUndefined;
}

// The jackknife's standard error (B. Efron and C. Stein, Annals of Statistics 9, 1981), proposals being left out.
double jackknife_error(const Units& units, const Ranked& factor) {
  std::vector<double> without;
  for (std::size_t p = 0; p < units.proposals; ++p) {
    const double one = estimate(units, factor, by_proposal(units, p));
    if (std::isfinite(one)) without.push_back(one);
  }
  const auto n = static_cast<double>(without.size());
  return n < 2 ? kUndefined : sample_std(without) * (n - 1) / std::sqrt(n);
}

class Shuffler {
 public:
  explicit Shuffler(std::uint64_t seed) : state_(seed) {}
  void operator()(std::vector<std::size_t>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draw() % i]);
  }

 private:
  std::uint64_t draw() { return mix(state_++); }
  std::uint64_t state_;
};

// The same factor given to other units: between proposals where it is theirs, within them where it is not, so that what
// else units share stays as it is.
Ranked shuffled(const Ranked& factor, const OfProposal& all, Shuffler& shuffle) {
  const bool theirs = std::all_of(all.begin(), all.end(), [&](const auto& of_one) {
    return std::all_of(of_one.begin(), of_one.end(),
                       [&](std::size_t i) { return factor.rank[i] == factor.rank[of_one.front()]; });
  });
  Ranked out = factor;
  if (theirs) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order);
    for (std::size_t p = 0; p < all.size(); ++p) {
      for (const std::size_t i : all[p]) out.rank[i] = factor.rank[all[order[p]].front()];
    }
    return out;
  }
  for (const auto& of_one : all) {
    std::vector<std::size_t> order = of_one;
    shuffle(order);
    for (std::size_t i = 0; i < order.size(); ++i) out.rank[of_one[i]] = factor.rank[order[i]];
  }
  return out;
}

double chance_error(const Units& units, const Ranked& factor, const OfProposal& all, std::uint64_t seed) {
  Shuffler shuffle(seed);
  double squares = 0;
  int count = 0;
  for (int i = 0; i < kShuffles; ++i) {
    const double one = estimate(units, shuffled(factor, all, shuffle), all);
    if (!std::isfinite(one)) continue;
    squares += one * one;
    ++count;
  }
  return count < 2 ? kUndefined : std::sqrt(squares / count);
}

FactorShare share_of(const Units& units, const FactorColumn& column, const OfProposal& all, double quantile,
                     std::uint64_t seed) {
  FactorShare out{column.path, kUndefined, kUndefined, kUndefined};
  const Ranked factor = ranked(column, units);
  if (factor.ranks < 2) return out;
  const double found = estimate(units, factor, all);
  const double left = jackknife_error(units, factor), chance = chance_error(units, factor, all, seed);
  if (!std::isfinite(found) || !std::isfinite(left) || !std::isfinite(chance)) return out;
  const double half = quantile * std::max(left, chance);
  out.share = std::clamp(found, 0.0, 1.0);
  out.low = std::clamp(found - half, 0.0, 1.0);
  out.high = std::clamp(found + half, 0.0, 1.0);
  return out;
}

}  // namespace

std::vector<FactorShare> importance(const std::vector<double>& values, const std::vector<std::int64_t>& proposals,
                                    const std::vector<FactorColumn>& factors, std::uint64_t seed) {
  const Units units = units_of(values, proposals);
  const OfProposal all = by_proposal(units, units.proposals);
  std::vector<FactorShare> out;
  const bool enough = units.proposals >= kUnitsLeast && sample_std(values) > 0;
  const double quantile = enough ? student_t_quantile(static_cast<double>(units.proposals - 1), kConfidence) : 0;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (enough) {
      out.push_back(share_of(units, factors[f], all, quantile, mix(seed ^ f)));
    } else {
      out.push_back({factors[f].path, kUndefined, kUndefined, kUndefined});
    }
  }
  return out;
}

}  // namespace locus
