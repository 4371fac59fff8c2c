// "Did you mean": the nearest known name by edit distance.
#include "core/base/nearest.h"

#include <algorithm>

namespace locus {
namespace {

// Insertions, deletions, substitutions and swaps of neighbors (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width), above(width), row(width);
  for (std::size_t j = 0; j < width; ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestCompared = 128;
  if (name.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = 0;
  for (const std::string& candidate : known) {
    // A likely slip changes at most a third of the name; a prefix of three letters or more is a slip of
    // impatience.
    std::size_t distance = edit_distance(name, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (name.size() >= 3 && candidate.starts_with(name)) distance = std::min(distance, allowed);
    if (distance > allowed) continue;
    if (!best || distance < least) best = candidate, least = distance;
  }
  return best;
}

}  // namespace locus
