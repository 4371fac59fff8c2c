// Successive halving.
#include "core/search/halving.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace locus {
namespace {

// Indices from the best on; NaN counts as the worst.
std::vector<std::size_t> ranked(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::isfinite(scores[i]) ? scores[i] : worst_score(); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

double worst_score() { return -std::numeric_limits<double>::infinity(); }

std::vector<std::size_t> halved(const std::vector<double>& scores, Share keep) {
  const auto standing = static_cast<std::int64_t>(scores.size());
  const std::int64_t most = std::max<std::int64_t>(1, standing * keep.numerator / keep.denominator);
  std::vector<std::size_t> out;
  for (const std::size_t unit : ranked(scores)) {
    if (static_cast<std::int64_t>(out.size()) == most || !std::isfinite(scores[unit])) break;
    out.push_back(unit);
  }
  return out;
}

std::optional<std::size_t> promoted(const std::vector<Climber>& units, std::size_t top, std::int64_t eta) {
  for (std::size_t rung = top; rung-- > 0;) {
    std::vector<std::size_t> reached;
    std::vector<double> scores;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (units[i].scores.size() <= rung) continue;
      reached.push_back(i);
      scores.push_back(units[i].scores[rung]);
    }
    const std::vector<std::size_t> order = ranked(scores);
    const std::size_t within = reached.size() / static_cast<std::size_t>(eta);
    for (std::size_t place = 0; place < within; ++place) {
      const std::size_t unit = reached[order[place]];
      const bool stands = units[unit].rung == rung && units[unit].there;
      if (stands && std::isfinite(scores[order[place]])) return unit;
    }
  }
  return std::nullopt;
}

bool stops_at_rung(const std::vector<double>& recorded, std::int64_t eta) {
  const double newest = recorded.back();
  if (!std::isfinite(newest)) return true;
  const std::size_t most = std::max<std::size_t>(1, recorded.size() / static_cast<std::size_t>(eta));
  const auto better = std::count_if(recorded.begin(), recorded.end() - 1, [&](double each) { return each >= newest; });
  return static_cast<std::size_t>(better) >= most;
}

std::vector<std::int64_t> geometric_rungs(std::int64_t least, std::int64_t most, std::int64_t eta, std::int64_t skip) {
  std::vector<std::int64_t> out;
  std::int64_t rung = least;
  for (; skip > 0 && rung < most; --skip) rung *= eta;
  for (; rung < most; rung *= eta) out.push_back(rung);
  out.push_back(most);
  return out;
}

std::vector<Bracket> hyperband(std::int64_t most, std::int64_t eta, std::int64_t least) {
  std::int64_t last = 0;  // the largest s with least eta^s <= most; by integers: a quotient of logarithms misses it
  for (std::int64_t reach = least * eta; reach <= most; reach *= eta) ++last;
  std::vector<Bracket> out;
  for (std::int64_t s = last; s >= 0; --s) {
    std::int64_t power = 1;  // eta^s
    for (std::int64_t i = 0; i < s; ++i) power *= eta;
    std::int64_t units = ((last + 1) * power + s) / (s + 1);  // rounded up
    Bracket bracket;
    for (std::int64_t below = power; below >= 1; below /= eta, units /= eta) {
      bracket.units.push_back(units);
      bracket.rungs.push_back(most / below);
    }
    out.push_back(std::move(bracket));
  }
  return out;
}

}  // namespace locus
