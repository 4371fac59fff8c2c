// Successive halving.
#include "core/search/halving.h"

#include <limits>
#include <utility>

namespace locus {
double worst_score() { return -std::numeric_limits<double>::infinity(); }

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
